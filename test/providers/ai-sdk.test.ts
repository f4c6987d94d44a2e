import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/protocol/message.ts';
import { userText } from '../../src/protocol/message.ts';
import type { StreamDelta } from '../../src/protocol/model.ts';
import { type AiSdkModel, fromAiSdk } from '../../src/providers/ai-sdk.ts';
import { ask } from './support.ts';

type Part = { readonly type: string; readonly [key: string]: unknown };

/** A model of the AI SDK's shape that streams the given parts and keeps the options it was called with. */
function model(specificationVersion: string, ...answers: readonly (readonly Part[] | Error)[]) {
  const calls: Record<string, unknown>[] = [];
  const shape: AiSdkModel = {
    specificationVersion,
    provider: 'acme.chat',
    modelId: 'acme-1',
    doStream: (options) => {
      calls.push({ ...options });
      const answer = answers[Math.min(calls.length, answers.length) - 1] ?? [];
      if (answer instanceof Error) return Promise.reject(answer);
      const stream = new ReadableStream<Part>({
        start: (controller) => {
          for (const part of answer) controller.enqueue(part);
          controller.close();
        },
      });
      return Promise.resolve({ stream });
    },
  };
  return { shape, calls };
}

const usage = {
  inputTokens: { total: 12, noCache: 9, cacheRead: 3, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};
const signature = { acme: { signature: 'sig' } };
const toolAnswer: readonly Part[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'response-metadata', modelId: 'acme-1-2026' },
  { type: 'reasoning-start', id: '0' },
  { type: 'reasoning-delta', id: '0', delta: 'hm' },
  { type: 'reasoning-end', id: '0', providerMetadata: signature },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Look' },
  { type: 'text-delta', id: '1', delta: 'ing' },
  { type: 'text-end', id: '1' },
  { type: 'tool-input-start', id: 'c1', toolName: 'ls' },
  { type: 'tool-call', toolCallId: 'c1', toolName: 'ls', input: '{"p":1}', providerMetadata: { acme: { note: 'n' } } },
  { type: 'tool-call', toolCallId: 's', toolName: 'web', input: '{}', providerExecuted: true },
  { type: 'something-new', value: 1 },
  { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_use' }, usage },
];
const textAnswer: readonly Part[] = [
  { type: 'text-delta', id: '1', delta: 'done' },
  { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
];

function failure(name: string, fields: object): Error {
  return Object.assign(new Error(`${name} failed`), { name, ...fields });
}

describe.each(['v3', 'v4'])('an AI SDK model of specification %s', (version) => {
  test('answers like any provider', async () => {
    const { shape } = model(version, toolAnswer);
    const provider = fromAiSdk(shape);
    const deltas: StreamDelta[] = [];

    const answer = await provider.completeStreaming(ask('go'), (delta) => deltas.push(delta));

    expect(provider.info()).toMatchObject({ name: 'acme.chat', default_model: 'acme-1' });
    expect(answer).toEqual({
      message: {
        role: 'assistant',
        content: [
          { type: 'thinking', text: 'hm' },
          { type: 'text', text: 'Looking' },
          { type: 'tool_use', id: 'c1', name: 'ls', input: { p: 1 } },
        ],
      },
      stop_reason: 'tool_use',
      usage: { input_tokens: 9, output_tokens: 5, cache_read_tokens: 3, cache_write_tokens: 0 },
      model: 'acme-1-2026',
    });
    expect(deltas.map((delta) => delta.text)).toEqual(['hm', 'Look', 'ing']);
  });

  test('gets the conversation in its own form, with what it signed', async () => {
    const { shape, calls } = model(version, toolAnswer, textAnswer);
    const provider = fromAiSdk(shape, { supportsJsonSchema: true });
    const first = await provider.complete(ask('go'));
    const results: Message = {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'gone', is_error: true },
        { type: 'text', text: 'hurry' },
      ],
    };

    await provider.complete({
      ...ask('', { messages: [userText('go'), first.message, results], system: 'Be brief.', thinking_budget: 32_768 }),
      tools: [{ name: 'ls', description: 'List', input_schema: { type: 'object' } }],
      response_schema: { type: 'object' },
      stop_sequences: ['END'],
    });

    expect(calls[1]).toMatchObject({
      prompt: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'go' }] },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'hm', providerOptions: signature },
            { type: 'text', text: 'Looking' },
            {
              type: 'tool-call',
              toolCallId: 'c1',
              toolName: 'ls',
              input: { p: 1 },
              providerOptions: { acme: { note: 'n' } },
            },
          ],
        },
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: 'c1', toolName: 'ls', output: { type: 'error-text', value: 'gone' } },
          ],
        },
        { role: 'user', content: [{ type: 'text', text: 'hurry' }] },
      ],
      tools: [{ type: 'function', name: 'ls', description: 'List', inputSchema: { type: 'object' } }],
      toolChoice: { type: 'auto' },
      maxOutputTokens: 1024,
      stopSequences: ['END'],
      responseFormat: { type: 'json', schema: { type: 'object' } },
    });
    expect(calls[1]?.['reasoning']).toBe(version === 'v4' ? 'xhigh' : undefined);
  });

  test('its failures are judged like HTTP failures', async () => {
    const busy = failure('AI_APICallError', { statusCode: 529, responseBody: 'overloaded', responseHeaders: {} });
    const refused = failure('AI_APICallError', { statusCode: 401, responseBody: '{"error":{"message":"bad key"}}' });
    const { shape, calls } = model(version, busy, [{ type: 'error', error: busy }], textAnswer);
    const limits = { retryBaseMs: 0 };

    expect((await fromAiSdk(shape, { limits }).complete(ask('go'))).stop_reason).toBe('end_turn');
    expect(calls).toHaveLength(3);
    await expect(fromAiSdk(model(version, refused).shape).complete(ask('go'))).rejects.toMatchObject({
      kind: 'auth_failed',
      message: 'HTTP 401: bad key',
    });
    await expect(
      fromAiSdk(model(version, failure('AI_LoadAPIKeyError', {})).shape).complete(ask('go')),
    ).rejects.toMatchObject({ kind: 'auth_failed' });
  });

  test('a stream that breaks after output, or ends early, is told as such', async () => {
    const half = [{ type: 'text-delta', id: '1', delta: 'Hel' }];
    const { shape, calls } = model(version, half);
    const limits = { retryBaseMs: 0 };

    await expect(fromAiSdk(shape, { limits }).completeStreaming(ask('go'), () => {})).rejects.toMatchObject({
      kind: 'other',
      message: 'the stream broke after output started: the stream ended before the answer was complete',
    });
    expect(calls).toHaveLength(1);
    await expect(fromAiSdk(shape, { limits }).complete(ask('go'))).rejects.toMatchObject({ kind: 'network' });
    expect(calls).toHaveLength(5);
  });

  test('silence and cancel end the call', async () => {
    const silent: AiSdkModel = {
      ...model(version).shape,
      doStream: () => Promise.resolve({ stream: new ReadableStream() }),
    };
    const controller = new AbortController();

    const call = fromAiSdk(silent).complete(ask('go', { signal: controller.signal }));
    setImmediate(() => controller.abort());

    await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
    const limits = { silenceMs: 20, attempts: 1 };
    await expect(fromAiSdk(silent, { limits }).complete(ask('go'))).rejects.toMatchObject({
      kind: 'network',
      message: 'the stream stayed silent for 0.02 seconds',
    });
  });
});

test('another specification, and another model id, are refused', async () => {
  expect(() => fromAiSdk(model('v2').shape)).toThrow('an AI SDK model of specification v3 or v4 is needed, not v2');
  await expect(fromAiSdk(model('v3').shape).complete(ask('go', { model: 'gpt' }))).rejects.toMatchObject({
    kind: 'invalid_request',
    message: 'provider `acme.chat` answers for model `acme-1` only, not `gpt`',
  });
});
