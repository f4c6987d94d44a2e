import { describe, expect, test } from 'vitest';
import type { CompletionResponse, OnDelta, StreamDelta } from '../../src/protocol/model.ts';
import { readAnthropicResponse } from '../../src/providers/anthropic-response.ts';
import { createAnthropicAssembler } from '../../src/providers/anthropic-stream.ts';
import { readOpenaiResponse } from '../../src/providers/openai-response.ts';
import { createOpenaiAssembler } from '../../src/providers/openai-stream.ts';
import { createEventStreamReader } from '../../src/providers/sse.ts';
import type { StreamAssembler } from '../../src/providers/stream-events.ts';
import { startModelServer, streamOf } from './model-server.ts';
import { anthropicAnswer, anthropicStream, openaiAnswer, openaiStream } from './recorded.ts';
import { ask, open } from './support.ts';

interface Case {
  readonly kind: string;
  readonly recorded: string;
  readonly answer: CompletionResponse;
  readonly assembler: (onDelta: OnDelta) => StreamAssembler;
  readonly read: (data: unknown, model: string) => CompletionResponse;
}

const cases: readonly Case[] = [
  {
    kind: 'anthropic',
    recorded: anthropicStream,
    answer: anthropicAnswer,
    assembler: createAnthropicAssembler,
    read: readAnthropicResponse,
  },
  {
    kind: 'openai',
    recorded: openaiStream,
    answer: openaiAnswer,
    assembler: createOpenaiAssembler,
    read: readOpenaiResponse,
  },
];

/** Adjacent deltas of one kind as one text, so that only content and order count. */
function joined(deltas: readonly StreamDelta[]): readonly string[] {
  const texts: string[] = [];
  let kind = '';
  for (const delta of deltas) {
    if (delta.kind === kind) texts.push((texts.pop() ?? '') + delta.text);
    else texts.push(`${delta.kind}: ${delta.text}`);
    kind = delta.kind;
  }
  return texts;
}

const told = ['thinking: Zwei Orte — 両方 🌍.', 'text: Ich schaue nach: Größe 😀'];

describe.each(cases)('a recorded stream of kind $kind', ({ kind, recorded, answer, assembler, read }) => {
  // thousands of real requests: seconds on a quiet machine
  test(
    'from a server that sends it in two pieces: the same answer and deltas for a cut at every byte',
    {
      timeout: 180_000,
    },
    async () => {
      const bytes = new TextEncoder().encode(recorded);
      const cuts = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
      await using server = await startModelServer(
        ...cuts.map((cut) => streamOf(bytes.subarray(0, cut), bytes.subarray(cut))),
      );
      const provider = open({ kind, baseUrl: server.url });
      const wrong: number[] = [];

      for (const cut of cuts) {
        const deltas: StreamDelta[] = [];
        const response = await provider.completeStreaming(ask(`cut at ${cut}`), (delta) => deltas.push(delta));
        const isRight =
          JSON.stringify(response) === JSON.stringify(answer) &&
          JSON.stringify(joined(deltas)) === JSON.stringify(told);
        if (!isRight) wrong.push(cut);
      }

      expect(cuts.length).toBeGreaterThan(1000);
      expect(server.requests).toHaveLength(cuts.length);
      expect(wrong).toEqual([]);
      expect(server.problems).toEqual([]);
    },
  );

  test.each([
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])('with %s line ends: the same answer for a cut at every byte', (_name, lineEnd) => {
    const bytes = new TextEncoder().encode(recorded.replaceAll('\n', lineEnd));
    const wrong: number[] = [];

    for (let cut = 1; cut < bytes.length; cut += 1) {
      const deltas: StreamDelta[] = [];
      const stream = assembler((delta) => deltas.push(delta));
      const reader = createEventStreamReader((event) => void stream.take(event));
      reader.push(bytes.subarray(0, cut));
      reader.push(bytes.subarray(cut));
      reader.end();
      const response = read(stream.finish(), 'asked');
      const isRight =
        JSON.stringify(response) === JSON.stringify(answer) && JSON.stringify(joined(deltas)) === JSON.stringify(told);
      if (!isRight) wrong.push(cut);
    }

    expect(wrong).toEqual([]);
  });

  test('byte by byte: the same answer', () => {
    const stream = assembler(() => {});
    const reader = createEventStreamReader((event) => void stream.take(event));

    for (const byte of new TextEncoder().encode(`\ufeff${recorded}`)) reader.push(Uint8Array.of(byte));
    reader.end();

    expect(read(stream.finish(), 'asked')).toEqual(answer);
  });

  test('a stream that stops at any event but the last is a network error', () => {
    const list = recorded.split('\n\n').filter((event) => event !== '');
    const kinds = new Set<string>();

    for (let count = 0; count < list.length - (kind === 'openai' ? 3 : 1); count += 1) {
      const stream = assembler(() => {});
      const reader = createEventStreamReader((event) => void stream.take(event));
      reader.push(new TextEncoder().encode(`${list.slice(0, count).join('\n\n')}\n\n`));
      reader.end();
      try {
        stream.finish();
        kinds.add(`complete after ${count}`);
      } catch (error) {
        kinds.add((error as { kind: string }).kind);
      }
    }

    expect([...kinds]).toEqual(['network']);
  });
});
