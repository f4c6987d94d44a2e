import { describe, expect, test } from 'vitest';
import { isEngineError, toWireError } from '../../src/protocol/error.ts';
import type { Json } from '../../src/protocol/json.ts';
import type { StreamDelta } from '../../src/protocol/model.ts';
import { textOf } from '../../src/protocol/message.ts';
import { openProvider, providerKinds } from '../../src/providers/provider.ts';
import { type Answer, jsonOf, startModelServer, streamOf } from './model-server.ts';
import { anthropicStream, openaiStream } from './recorded.ts';
import { toRecordedRequest } from '../../src/providers/recording.ts';
import { ask, testDeps } from './support.ts';

/** What a kind needs to be tested: an answer in its dialect, or a script. A kind without an entry fails the suite. */
const worlds: ReadonlyMap<string, { readonly answer: Answer; readonly options?: { readonly [key: string]: Json } }> =
  new Map([
    ['anthropic', { answer: anyForm(anthropicStream, wholeAnthropic()) }],
    ['openai', { answer: anyForm(openaiStream, wholeOpenai()) }],
    ['ollama', { answer: anyForm(openaiStream, wholeOpenai()) }],
    [
      'mock',
      {
        answer: jsonOf({}),
        options: {
          script: Array.from({ length: 2 }, () => ({
            text: 'Two places here',
            tool_calls: [
              { id: 'a', name: 'look', input: {} },
              { id: 'b', name: 'ls', input: {} },
            ],
          })),
        },
      },
    ],
    ['replay', { answer: jsonOf({}), options: { recording: replayed() } }],
  ]);

/** The same two answers, as they would have been recorded. */
function replayed(): Json {
  const { request, sha256 } = toRecordedRequest(ask('go'));
  const content = [
    { type: 'text', text: 'Two places' },
    { type: 'tool_use', id: 'a', name: 'look', input: {} },
    { type: 'tool_use', id: 'b', name: 'ls', input: {} },
  ];
  const deltas = ['Two ', 'places'].map((text) => ({ kind: 'text', text }));
  return {
    info: { name: 'it', supports_tools: true, supports_thinking: true, default_model: 'm' },
    calls: [1, 2].map((call) => ({ call, sha256, request, answer: { content, deltas } })),
  };
}

function anyForm(stream: string, whole: object): Answer {
  return (request, response) => (request.body['stream'] === true ? streamOf(stream) : jsonOf(whole))(request, response);
}

function wholeAnthropic(): object {
  return {
    model: 'm',
    stop_reason: 'tool_use',
    content: [
      { type: 'text', text: 'Two places' },
      { type: 'tool_use', id: 'a', name: 'look', input: {} },
      { type: 'tool_use', id: 'b', name: 'ls', input: {} },
    ],
    usage: { input_tokens: 1, output_tokens: 2 },
  };
}

function wholeOpenai(): object {
  const toCall = (name: string): object => ({ id: `call_${name}`, function: { name, arguments: '{}' } });
  const message = { content: 'Two places', tool_calls: [toCall('look'), toCall('ls')] };
  return { model: 'm', choices: [{ finish_reason: 'tool_calls', message }], usage: { prompt_tokens: 1 } };
}

describe.each([...providerKinds.keys()])('a provider of kind %s', (kind) => {
  const world = worlds.get(kind);

  function open(url: string, wait = false): ReturnType<typeof openProvider> {
    const script = wait ? { script: [{ text: 'late', delay_ms: 3_600_000 }] } : {};
    const options =
      world?.options !== undefined
        ? { ...world.options, ...(kind === 'mock' ? script : {}) }
        : { base_url: url, api_key: 'sk-test-01234567' };
    return openProvider({ name: 'it', kind, options }, testDeps());
  }

  test('has a world in this suite, describes itself, and is made without I/O', () => {
    expect(world).toBeDefined();
    const info = open('http://127.0.0.1:1').info();
    expect(info).toMatchObject({ name: 'it', supports_tools: true });
    expect(info.default_model).not.toBe('');
  });

  test('answers whole and streaming; deltas are a preview of the answer', async () => {
    await using server = await startModelServer(world?.answer ?? jsonOf({}));
    const provider = open(server.url);
    const deltas: StreamDelta[] = [];

    const whole = await provider.complete(ask('go'));
    const streamed = await provider.completeStreaming(ask('go'), (delta) => deltas.push(delta));

    for (const { message, stop_reason: reason, usage, model } of [whole, streamed]) {
      const calls = message.content.filter((block) => block.type === 'tool_use');
      expect(message.role).toBe('assistant');
      expect(calls.map((call) => call.name)).toEqual(['look', 'ls']);
      expect(new Set(calls.map((call) => call.id)).size).toBe(2);
      expect(reason).toBe('tool_use');
      expect(Object.values(usage).every((count) => Number.isInteger(count) && count >= 0)).toBe(true);
      expect(model).not.toBe('');
    }
    const preview = deltas.filter((delta) => delta.kind === 'text').map((delta) => delta.text);
    expect(preview.length).toBeGreaterThan(1);
    expect(preview.join('')).toBe(textOf(streamed.message));
    expect(server.problems).toEqual([]);
  });

  test('a cancelled call rejects with kind `cancelled`, as plain data too', async () => {
    await using server = await startModelServer(() => {});
    const controller = new AbortController();
    const provider = open(server.url, true);

    const call = provider.completeStreaming(ask('go', { signal: controller.signal }), () => {});
    setImmediate(() => controller.abort());
    const error: unknown = await call.catch((reason: unknown) => reason);

    expect(isEngineError(error)).toBe(true);
    expect(structuredClone(toWireError(error))).toMatchObject({ kind: 'cancelled' });
  });

  test('the health check resolves when it can be used', async () => {
    await using server = await startModelServer(jsonOf({ data: [] }));

    await expect(open(server.url).healthCheck()).resolves.toBeUndefined();
  });
});

test.each([...providerKinds.keys()].filter((kind) => worlds.get(kind)?.options === undefined))(
  'the health check of kind %s takes a server without a list, and refuses a wrong key',
  async (kind) => {
    await using server = await startModelServer(jsonOf({}, 404), jsonOf({ error: { message: 'wrong key' } }, 401));
    const provider = openProvider(
      { name: 'it', kind, options: { base_url: server.url, api_key: 'sk-test-01234567' } },
      testDeps(),
    );

    await expect(provider.healthCheck()).resolves.toBeUndefined();
    await expect(provider.healthCheck()).rejects.toMatchObject({ kind: 'auth_failed', message: 'HTTP 401: wrong key' });
  },
);
