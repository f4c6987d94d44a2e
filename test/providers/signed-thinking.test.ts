import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/protocol/json.ts';
import type { Message } from '../../src/protocol/message.ts';
import type { CompletionRequest, Provider } from '../../src/protocol/model.ts';
import { userText } from '../../src/protocol/message.ts';
import { type ModelServer, startModelServer, streamOf } from './model-server.ts';
import { anthropicAnswer, anthropicSigned, anthropicStream } from './recorded.ts';
import { ask, open } from './support.ts';

const results: Message = {
  role: 'user',
  content: [
    { type: 'tool_result', tool_use_id: 'toolu_01', content: 'big', is_error: false },
    { type: 'tool_result', tool_use_id: 'toolu_02', content: 'x', is_error: false },
  ],
};

function next(changes: Partial<CompletionRequest> = {}): CompletionRequest {
  return ask('', {
    messages: [userText('go'), anthropicAnswer.message, results],
    thinking_budget: 4096,
    ...changes,
  });
}

async function send(provider: Provider, server: ModelServer, request: CompletionRequest): Promise<JsonObject> {
  await provider.completeStreaming(request, () => {});
  return server.requests.at(-1)?.body ?? {};
}

function secondTurn(body: JsonObject): unknown {
  return (JSON.parse(JSON.stringify(body['messages'])) as { content: unknown }[])[1]?.content;
}

describe('signed thinking', () => {
  test('of the latest tool turn goes back byte for byte, in order', async () => {
    await using server = await startModelServer(streamOf(anthropicStream));
    const provider = open({ kind: 'anthropic', baseUrl: server.url });
    await provider.completeStreaming(ask('go', { thinking_budget: 4096 }), () => {});

    const body = await send(provider, server, next());

    expect(secondTurn(body)).toEqual([
      ...anthropicSigned,
      { type: 'text', text: 'Ich schaue nach: Größe 😀' },
      { type: 'tool_use', id: 'toolu_01', name: 'look', input: { path: 'Größe.txt' } },
      { type: 'tool_use', id: 'toolu_02', name: 'ls', input: {} },
    ]);
    expect(body['thinking']).toEqual({ type: 'adaptive' });
    expect(server.problems).toEqual([]);
  });

  test('given out as plain JSON and given back, it survives a new provider', async () => {
    await using server = await startModelServer(streamOf(anthropicStream));
    const first = open({ kind: 'anthropic', baseUrl: server.url });
    await first.completeStreaming(ask('go', { thinking_budget: 4096 }), () => {});
    const stored = JSON.stringify(first.signedThinking?.get('toolu_01'));

    const second = open({ kind: 'anthropic', baseUrl: server.url });
    second.signedThinking?.set('toolu_01', JSON.parse(stored) as { blocks: JsonObject[] });

    expect(secondTurn(await send(second, server, next()))).toMatchObject([...anthropicSigned, {}, {}, {}]);
  });

  test.each([
    ['is unknown', undefined, {}],
    ['was written by another model', { model: 'claude-opus-5' }, {}],
    ['belongs to another turn with the same call id', { blocks: [{ ...anthropicSigned[0], thinking: 'other' }] }, {}],
    ['is of no use because thinking is off', {}, { thinking_budget: 0 }],
  ])('goes, and thinking with it, when it %s', async (_name, changes, request) => {
    await using server = await startModelServer(streamOf(anthropicStream));
    const provider = open({ kind: 'anthropic', baseUrl: server.url });
    const known = { model: 'claude-sonnet-5', blocks: anthropicSigned };
    if (changes !== undefined) provider.signedThinking?.set('toolu_01', { ...known, ...changes });

    const body = await send(provider, server, next(request));

    expect(secondTurn(body)).toMatchObject([{ type: 'text' }, { type: 'tool_use' }, { type: 'tool_use' }]);
    expect(body['thinking']).toBeUndefined();
    expect(body['output_config']).toBeUndefined();
  });

  test('an answer without it does not leave older thinking under its call id', async () => {
    const unsigned = anthropicStream.replace('EqQBCgIYAhIM+/=', '');
    await using server = await startModelServer(streamOf(anthropicStream), streamOf(unsigned));
    const provider = open({ kind: 'anthropic', baseUrl: server.url });
    const request = ask('go', { thinking_budget: 4096 });

    await provider.completeStreaming(request, () => {});
    const first = provider.signedThinking?.get('toolu_01');
    await provider.completeStreaming(request, () => {});

    expect(first).toMatchObject({ model: 'claude-sonnet-5', before: [0, 0] });
    expect(provider.signedThinking?.get('toolu_01')).toBeUndefined();
  });

  test('thoughts between other blocks go back to their places', async () => {
    await using server = await startModelServer(streamOf(anthropicStream));
    const provider = open({ kind: 'anthropic', baseUrl: server.url });
    provider.signedThinking?.set('toolu_01', { blocks: anthropicSigned, before: [0, 1] });

    const body = await send(provider, server, next());

    expect(secondTurn(body)).toMatchObject([
      { type: 'thinking' },
      { type: 'text' },
      { type: 'redacted_thinking' },
      { type: 'tool_use' },
      { type: 'tool_use' },
    ]);
  });

  test('of the last 512 turns is kept', () => {
    const store = open({ kind: 'anthropic' }).signedThinking;

    for (let turn = 0; turn < 513; turn += 1) store?.set(`call_${turn}`, { blocks: anthropicSigned });

    expect(store?.get('call_0')).toBeUndefined();
    expect(store?.get('call_1')).toBeDefined();
    expect(store?.get('call_512')).toBeDefined();
  });
});
