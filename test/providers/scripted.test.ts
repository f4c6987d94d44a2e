import { describe, expect, test } from 'vitest';
import type { CompletionRequest, StreamDelta } from '../../src/protocol/model.ts';
import { userText } from '../../src/protocol/message.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';

function ask(text: string, extra: Partial<CompletionRequest> = {}): CompletionRequest {
  return { model: '', system: '', messages: [userText(text)], tools: [], max_tokens: 100, ...extra };
}

describe('scripted provider', () => {
  test('plays its entries in order, errors too, and then says that the script is exhausted', async () => {
    const provider = createScriptedProvider({
      default_model: 'tiny',
      script: [
        {
          thinking: 'hm',
          text: 'one',
          tool_calls: [{ id: 'c', name: 'ls', arguments: '{"a":1}' }],
          usage: { input_tokens: 3 },
        },
        { error: { kind: 'rate_limited', message: 'slow down', retry_after_ms: 5 } },
      ],
    });

    const first = await provider.complete(ask('go'));

    expect(first).toEqual({
      message: {
        role: 'assistant',
        content: [
          { type: 'thinking', text: 'hm' },
          { type: 'text', text: 'one' },
          { type: 'tool_use', id: 'c', name: 'ls', input: { a: 1 } },
        ],
      },
      stop_reason: 'tool_use',
      usage: { input_tokens: 3, output_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0 },
      model: 'tiny',
    });
    expect(provider.remaining()).toBe(1);
    await expect(provider.complete(ask('go'))).rejects.toMatchObject({ kind: 'rate_limited', retryAfterMs: 5 });
    await expect(provider.complete(ask('go'))).rejects.toMatchObject({
      kind: 'other',
      message: 'scripted provider: script exhausted',
    });
  });

  test('a delay ends at once with `cancelled` when the signal aborts', async () => {
    const controller = new AbortController();
    const provider = createScriptedProvider(
      { script: [{ text: 'late', delay_ms: 3_600_000 }] },
      { onRequest: () => queueMicrotask(() => controller.abort()) },
    );

    const call = provider.complete(ask('go', { signal: controller.signal }));

    await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
    expect(provider.remaining()).toBe(0);
  });

  test('the observer gets a snapshot before the answer', async () => {
    const seen: CompletionRequest[] = [];
    const messages = [userText('a')];
    const provider = createScriptedProvider({ script: [{ text: 'x' }] }, { onRequest: (copy) => void seen.push(copy) });

    await provider.complete({ ...ask(''), messages });
    messages.push(userText('b'));

    expect(seen[0]?.messages).toEqual([userText('a')]);
  });

  test('only the streaming form sends deltas; without any written down the mock streams word by word', async () => {
    const script = [
      { text: 'a', deltas: [{ kind: 'text', text: 'x' }] },
      { thinking: 'hm so', text: ' one  two\n' },
    ];
    const provider = createScriptedProvider({ script: [script[0], ...script] }, { streamWords: true });
    const deltas: StreamDelta[] = [];

    await provider.complete(ask('go'));
    await provider.completeStreaming(ask('go'), (delta) => deltas.push(delta));
    await provider.completeStreaming(ask('go'), (delta) => deltas.push(delta));

    expect(deltas.map((delta) => `${delta.kind}:${delta.text}`)).toEqual([
      'text:x',
      'thinking:hm',
      'thinking: so',
      'text: one',
      'text:  two',
      'text:\n',
    ]);
  });

  test.each([
    [{ tex: 'a' }, 'script entry 1: unknown key `tex`'],
    [{ stop_reason: 'bored' }, 'script entry 1: unknown `stop_reason` "bored"'],
    [{ error: { kind: 'nope' } }, 'script entry 1: unknown error kind "nope"'],
    [{ usage: { tokens: 1 } }, 'script entry 1: unknown usage field `tokens`'],
    ['text', 'script entry 1: not an object'],
  ])('refuses %j', (entry, message) => {
    expect(() => createScriptedProvider({ script: [entry] })).toThrow(message);
  });

  test('as data it knows how far it is: another thread goes on where it stands', async () => {
    const provider = createScriptedProvider({ script: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] });
    await provider.complete(ask('go'));
    await provider.onRequest?.(ask('answered elsewhere'));

    expect(provider.ref?.().options).toMatchObject({ script: [{ text: 'three' }] });
    expect(provider.remaining()).toBe(1);
  });
});
