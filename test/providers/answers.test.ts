import { describe, expect, test } from 'vitest';
import type { StreamDelta } from '../../src/protocol/model.ts';
import { readAnthropicResponse } from '../../src/providers/anthropic-response.ts';
import { createAnthropicAssembler } from '../../src/providers/anthropic-stream.ts';
import { readOpenaiResponse } from '../../src/providers/openai-response.ts';
import { createOpenaiAssembler } from '../../src/providers/openai-stream.ts';
import { createEventStreamReader, type ServerSentEvent } from '../../src/providers/sse.ts';
import type { StreamAssembler } from '../../src/providers/stream-events.ts';

function feed(assembler: StreamAssembler, events: readonly object[]): StreamAssembler {
  for (const event of events) assembler.take({ data: JSON.stringify(event) });
  return assembler;
}

function anthropic(stop: string, ...events: readonly object[]) {
  const assembler = feed(
    createAnthropicAssembler(() => {}),
    [...events, { type: 'message_delta', delta: { stop_reason: stop } }, { type: 'message_stop' }],
  );
  return readAnthropicResponse(assembler.finish(), 'm').message.content;
}

function openai(...chunks: readonly object[]) {
  const choices = chunks.map((delta) => ({ choices: [{ delta }] }));
  const assembler = feed(
    createOpenaiAssembler(() => {}),
    [...choices, { choices: [{ finish_reason: 'stop' }] }],
  );
  return readOpenaiResponse(assembler.finish(), 'm').message.content;
}

const toolStart = {
  type: 'content_block_start',
  index: 0,
  content_block: { type: 'tool_use', id: 'a', name: 'w', input: {} },
};
const json = (text: string): object => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'input_json_delta', partial_json: text },
});
const stop = { type: 'content_block_stop', index: 0 };

describe('a tool call of a streamed answer', () => {
  test.each([
    ['closed, without arguments', 'tool_use', [toolStart, stop], {}],
    ['closed, with arguments', 'tool_use', [toolStart, json('{"a"'), json(':1}'), stop], { a: 1 }],
    ['closed, cut JSON', 'max_tokens', [toolStart, json('{"a":"tru'), stop], { _raw: '{"a":"tru' }],
    ['never closed, though its JSON is whole', 'max_tokens', [toolStart, json('{"a":1}')], { _raw: '{"a":1}' }],
    ['cut before its first argument', 'max_tokens', [toolStart, stop], { _raw: '' }],
    ['arguments that are no object', 'tool_use', [toolStart, json('[1]'), stop], { _raw: '[1]' }],
  ])('%s', (_name, reason, events, input) => {
    expect(anthropic(reason, ...events)).toEqual([{ type: 'tool_use', id: 'a', name: 'w', input }]);
  });

  test('too deep arguments stay text', () => {
    const deep = `{"a":${'['.repeat(300)}${']'.repeat(300)}}`;

    expect(anthropic('tool_use', toolStart, json(deep), stop)).toMatchObject([{ input: { _raw: deep } }]);
  });

  test('lone surrogates in arguments, names and texts are replaced', () => {
    const content = [
      { type: 'text', text: 'a\ud800' },
      { type: 'tool_use', id: 'i\udc00', name: 'n', input: { 'k\ud800': ['\udfff😀'] } },
    ];

    expect(readAnthropicResponse({ content }, 'm').message.content).toEqual([
      { type: 'text', text: 'a\ufffd' },
      { type: 'tool_use', id: 'i\ufffd', name: 'n', input: { 'k\ufffd': ['\ufffd😀'] } },
    ]);
    expect(anthropic('tool_use', toolStart, json('{"a":"\\ud800","b":"\\ud83d\\ude00"}'), stop)).toMatchObject([
      { input: { a: '\ufffd', b: '😀' } },
    ]);
  });

  test('names such as `__proto__` are data', () => {
    const [call] = anthropic('tool_use', toolStart, json('{"__proto__":{"x":1},"constructor":2}'), stop);
    const input = call?.type === 'tool_use' ? call.input : {};

    expect(Object.keys(input)).toEqual(['__proto__', 'constructor']);
    expect('x' in input).toBe(false);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  const piece = (fields: object): object => ({ tool_calls: [fields] });
  const named = (name: string, args: string): object => ({ name, arguments: args });

  test.each([
    [
      'all with index 0, told apart by their ids',
      [
        piece({ index: 0, id: 'a', function: named('f', '{"n":1}') }),
        piece({ index: 0, id: 'b', function: named('g', '{"n":2}') }),
      ],
      [
        { id: 'a', name: 'f', input: { n: 1 } },
        { id: 'b', name: 'g', input: { n: 2 } },
      ],
    ],
    [
      'without index',
      [piece({ id: 'a', function: named('f', '{"n"') }), piece({ function: { arguments: ':1}' } })],
      [{ id: 'a', name: 'f', input: { n: 1 } }],
    ],
    [
      'the id repeated in each piece',
      [
        piece({ index: 0, id: 'a', function: named('f', '{"n"') }),
        piece({ index: 0, id: 'a', function: named('f', ':1}') }),
      ],
      [{ id: 'a', name: 'f', input: { n: 1 } }],
    ],
    [
      'without ids',
      [piece({ index: 0, function: named('f', '') }), piece({ index: 1, function: named('g', '') })],
      [
        { id: 'call_0', name: 'f', input: {} },
        { id: 'call_1', name: 'g', input: {} },
      ],
    ],
    [
      'arguments as an object',
      [piece({ index: 0, id: 'a', function: { name: 'f', arguments: { n: 1 } } })],
      [{ id: 'a', name: 'f', input: { n: 1 } }],
    ],
  ])('of a Chat Completions server: %s', (_name, chunks, calls) => {
    expect(openai(...chunks)).toMatchObject(calls);
  });
});

test('text under the names that servers use: parts, refusal, reasoning', () => {
  expect(
    openai({ reasoning: 'r' }, { content: [{ type: 'text', text: 'a' }, { type: 'image' }] }, { content: 'b' }),
  ).toEqual([
    { type: 'thinking', text: 'r' },
    { type: 'text', text: 'ab' },
  ]);
  expect(openai({ refusal: 'no' })).toEqual([{ type: 'text', text: 'no' }]);
});

test('counts that are no counts are 0', () => {
  const usage = {
    input_tokens: -1,
    output_tokens: '9',
    cache_read_input_tokens: null,
    cache_creation_input_tokens: 2.4,
  };

  expect(readAnthropicResponse({ content: [], usage }, 'm').usage).toEqual({
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 2,
  });
});

test('deltas never split a character, even when the provider does', () => {
  const deltas: StreamDelta[] = [];
  const text = (words: string): object => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: words },
  });

  feed(
    createAnthropicAssembler((delta) => deltas.push(delta)),
    [text('a\ud83d'), text(''), text('\ude00b'), text('\ud83d')],
  );

  expect(deltas.map((delta) => delta.text)).toEqual(['a', '😀b']);
});

describe('the event stream reader', () => {
  function read(text: string | Uint8Array, maxLength?: number): readonly ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    const reader = createEventStreamReader(({ event, data }) => events.push({ event, data }), maxLength);
    reader.push(typeof text === 'string' ? new TextEncoder().encode(text) : text);
    reader.end();
    return events;
  }

  test.each([
    ['a byte order mark', '\ufeffdata: a\n\n', [{ data: 'a' }]],
    ['data without a space', 'data:a\n\n', [{ data: 'a' }]],
    ['several data lines', 'data: a\ndata:\ndata: b\n\n', [{ data: 'a\n\nb' }]],
    ['comments and unknown fields', ': hi\nfoo: bar\nid: 1\nretry: x\ndata: a\n\n', [{ data: 'a' }]],
    ['an event without data', 'event: x\n\ndata: a\n\n', [{ data: 'a' }]],
    ['names', 'event: x\ndata: a\n\ndata: b\n\n', [{ event: 'x', data: 'a' }, { data: 'b' }]],
    ['mixed line ends', 'data: a\r\n\r\ndata: b\r\rdata: c\n\n', [{ data: 'a' }, { data: 'b' }, { data: 'c' }]],
    ['a last event that was not closed', 'data: a\n\ndata: b\n', [{ data: 'a' }]],
    ['a last line that was not ended', 'data: a\n\ndata: b', [{ data: 'a' }]],
  ])('reads %s', (_name, text, events) => {
    expect(read(text)).toEqual(events.map((event) => ({ event: undefined, ...event })));
  });

  test('invalid bytes become U+FFFD', () => {
    expect(read(Uint8Array.of(100, 97, 116, 97, 58, 0xff, 0xc3, 10, 10))).toEqual([{ data: '\ufffd\ufffd' }]);
  });

  test('an event over the limit is refused, many small ones are not', () => {
    expect(read('data: 123456789\n\n'.repeat(100), 20)).toHaveLength(100);
    expect(() => read(`data: ${'x'.repeat(30)}`, 20)).toThrow('an event of the stream is longer than 20 characters');
    expect(() => read('data: 123456789\n'.repeat(3), 20)).toThrow('longer than 20 characters');
  });
});
