import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canonicalHash } from '../../src/protocol/canonical.ts';
import { EngineError } from '../../src/protocol/error.ts';
import type { CompletionResponse, Provider, StreamDelta } from '../../src/protocol/model.ts';
import { openProvider } from '../../src/providers/provider.ts';
import { recordProvider } from '../../src/providers/record.ts';
import { parseRecording } from '../../src/providers/recording.ts';
import { createProviders } from '../../src/providers/registry.ts';
import { createReplayProvider } from '../../src/providers/replay.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { ask, testDeps } from './support.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vibe-replay-'));
  file = join(folder, 'run.jsonl');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const script = [
  {
    content: [
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'Looking \ud83d\ude00 \ud800' },
      { type: 'tool_use', id: 'a', name: 'look', input: { deep: [{ __proto__: null, n: 1.5 }], text: 'é' } },
    ],
    usage: { input_tokens: 3, output_tokens: 4, cache_read_tokens: 5, cache_write_tokens: 6 },
    deltas: [
      { kind: 'thinking', text: 'h' },
      { kind: 'thinking', text: 'm' },
      { kind: 'text', text: 'Looking' },
    ],
  },
  { error: { kind: 'rate_limited', message: 'slow down', retry_after_ms: 1500 } },
  { text: 'cut', stop_reason: 'max_tokens' },
];

const questions = ['one', 'two', 'three'];

async function talk(provider: Provider): Promise<{ answers: unknown[]; deltas: StreamDelta[] }> {
  const answers: unknown[] = [];
  const deltas: StreamDelta[] = [];
  for (const question of questions) {
    const request = ask(question, { signal: new AbortController().signal, temperature: 0.5 });
    const call =
      question === 'three'
        ? provider.complete(request)
        : provider.completeStreaming(request, (delta) => deltas.push(delta));
    answers.push(
      await call.catch((error: EngineError) => ({
        kind: error.kind,
        message: error.message,
        after: error.retryAfterMs,
      })),
    );
  }
  return { answers, deltas };
}

async function record(): Promise<{ answers: unknown[]; deltas: StreamDelta[] }> {
  return await talk(recordProvider(createScriptedProvider({ script, name: 'demo', default_model: 'm-1' }), file));
}

const joined = (deltas: readonly StreamDelta[], kind: string): string =>
  deltas
    .filter((delta) => delta.kind === kind)
    .map((delta) => delta.text)
    .join('');

describe('a recording', () => {
  test('holds every call with its request and hash, readable by its owner only', async () => {
    await record();

    const lines = (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { [key: string]: unknown });
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatchObject({ recording: 1, provider: { name: 'demo', default_model: 'm-1' } });
    for (const [index, line] of lines.slice(1).entries()) {
      expect(line).toMatchObject({ call: index + 1, sha256: canonicalHash(line['request']) });
      expect(line['request']).toMatchObject({
        messages: [{ content: [{ text: questions[index] }] }],
        temperature: 0.5,
      });
      expect(line['request']).not.toHaveProperty('signal');
    }
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('answers as the provider did, errors and deltas included, whichever way it is opened', async () => {
    const recorded = await record();
    const replays = [
      createReplayProvider(file),
      createReplayProvider(parseRecording(await readFile(file, 'utf8'))),
      openProvider({ name: 'again', kind: 'replay', options: { extra: { recording: file } } }, testDeps()),
    ];

    for (const provider of replays) {
      const replayed = await talk(provider);
      expect(replayed.answers).toEqual(recorded.answers);
      expect(joined(replayed.deltas, 'text')).toBe(joined(recorded.deltas, 'text'));
      expect(joined(replayed.deltas, 'thinking')).toBe('hm');
      expect(provider.info()).toMatchObject({ default_model: 'm-1' });
    }
    expect(replays.map((provider) => provider.info().name)).toEqual(['demo', 'demo', 'again']);
  });

  test('goes on in another thread where this one stopped', async () => {
    const recorded = await record();
    const providers = createProviders({ again: { kind: 'replay', extra: { recording: file } } }, testDeps());
    const here = providers.resolve('again/').provider;
    await here.completeStreaming(ask('one', { temperature: 0.5 }), () => {});

    const ref = structuredClone(providers.resolve('again/').ref);
    if (ref === undefined) throw new Error('a recording can cross');
    const there = openProvider(ref, testDeps());

    await expect(there.complete(ask('two', { temperature: 0.5 }))).rejects.toMatchObject({ kind: 'rate_limited' });
    expect(await there.complete(ask('three', { temperature: 0.5 }))).toEqual(recorded.answers[2]);
  });

  test('numbers calls in the order in which they began, also when they end in another', async () => {
    const provider = createScriptedProvider({ script: [{ text: 'slow', delay_ms: 30 }, { text: 'fast' }] });
    const recorder = recordProvider(provider, file);

    await Promise.all([recorder.complete(ask('one')), recorder.complete(ask('two'))]);

    const { calls } = parseRecording(await readFile(file, 'utf8'));
    expect(calls.map(({ call }) => call)).toEqual([2, 1]);
    const replay = createReplayProvider(file);
    expect(await replay.complete(ask('one'))).toMatchObject({ message: { content: [{ text: 'slow' }] } });
    expect(await replay.complete(ask('two'))).toMatchObject({ message: { content: [{ text: 'fast' }] } });
  });

  test('that cannot be written fails the call instead of leaving a hole, and follows no link', async () => {
    const recorder = recordProvider(createScriptedProvider({ script }), join(folder, 'missing', 'run.jsonl'));
    await expect(recorder.complete(ask('one'))).rejects.toMatchObject({ kind: 'storage' });
    await expect(recorder.complete(ask('two'))).rejects.toMatchObject({ kind: 'storage' });

    await writeFile(join(folder, 'mine'), 'keep');
    await symlink('mine', file);
    await expect(record().then(({ answers }) => answers[0])).resolves.toMatchObject({ kind: 'storage' });
    expect(await readFile(join(folder, 'mine'), 'utf8')).toBe('keep');
  });
});

describe('a replay', () => {
  test('that is asked something else says at which call, and where the requests differ', async () => {
    await record();
    const replay = createReplayProvider(file);
    await replay.complete(ask('one', { temperature: 0.5 }));

    const error: unknown = await replay.complete(ask('zwei', { temperature: 0.5 })).catch((reason: unknown) => reason);

    expect(error).toMatchObject({
      kind: 'invalid_request',
      message: 'replay mismatch at call 2',
      data: { call: 2, differs_at: 'messages.0.content.0.text' },
    });
  });

  test('that is asked more than was recorded is a mismatch too', async () => {
    await record();
    const replay = createReplayProvider(file, { skip: 3 });

    await expect(replay.complete(ask('four'))).rejects.toMatchObject({
      message: 'replay mismatch at call 4',
      data: { differs_at: 'the recording has no such call' },
    });
  });

  test('keeps the finer reason of an error', async () => {
    const failing: Provider = {
      ...createScriptedProvider({ script: [] }),
      complete: (): Promise<CompletionResponse> =>
        Promise.reject(new EngineError('network', 'gone', { code: 'timeout' })),
    };
    await recordProvider(failing, file)
      .complete(ask('one'))
      .catch(() => {});

    await expect(createReplayProvider(file).complete(ask('one'))).rejects.toMatchObject({
      kind: 'network',
      code: 'timeout',
    });
  });

  test('of a recording whose last line was cut off uses the rest', async () => {
    const recorded = await record();
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.slice(0, -20));

    const replay = createReplayProvider(file);

    expect(await replay.completeStreaming(ask('one', { temperature: 0.5 }), () => {})).toEqual(recorded.answers[0]);
    expect(parseRecording(await readFile(file, 'utf8')).calls).toHaveLength(2);
  });

  test.each([
    ['', 'is not a recording of version 1'],
    ['{"recording":2,"provider":{"name":"x","default_model":"m"}}\n', 'is not a recording of version 1'],
    ['{"recording":1,"provider":{"name":"x","default_model":"m"}}\n{"call":0}\n', 'line 2: not a recorded call'],
    ['{"recording":1,"provider":{"name":"x","default_model":"m"}}\nnonsense\n', 'line 2: not a JSON object'],
  ])('of %j says what is wrong at the first call, not before', async (text, message) => {
    await writeFile(file, text);
    const replay = createReplayProvider(file, { name: 'x' });

    expect(replay.info()).toMatchObject({ name: 'x', default_model: expect.any(String) as string });
    await expect(replay.complete(ask('one'))).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining(message) as string,
    });
    await expect(replay.healthCheck()).rejects.toMatchObject({ kind: 'config' });
  });

  test('of a missing file names it', async () => {
    await expect(createReplayProvider(file).healthCheck()).rejects.toThrow(`cannot read the recording ${file}`);
    expect(() => openProvider({ name: 'x', kind: 'replay', options: {} }, testDeps())).toThrow(
      '`recording` must name a file',
    );
  });
});
