import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContentBlock, Message, ToolUseBlock } from '../../src/protocol/message.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { anthropicBody } from '../../src/providers/anthropic-body.ts';
import { thoughtOf } from '../../src/providers/anthropic-response.ts';
import { encodeBody } from '../../src/providers/json-body.ts';
import { openaiBody } from '../../src/providers/openai-body.ts';
import { createSignedThinkingCache } from '../../src/providers/signed-thinking.ts';
import {
  findTranscriptProblem,
  turnsOfAnthropicBody,
  turnsOfOpenaiBody,
} from '../../src/providers/transcript-check.ts';
import { ask } from './support.ts';

const text = (words: string): ContentBlock => ({ type: 'text', text: words });
const user = (...content: readonly ContentBlock[]): Message => ({ role: 'user', content });
const assistant = (...content: readonly ContentBlock[]): Message => ({ role: 'assistant', content });
const call = (id: string, name = 'ls'): ToolUseBlock => ({ type: 'tool_use', id, name, input: {} });
const result = (id: string, content = 'done', isError = false): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  is_error: isError,
});

function toAnthropic(messages: readonly Message[], changes = {}): JsonObject {
  return anthropicBody(ask('', { messages, ...changes }), { signedThinking: createSignedThinkingCache(thoughtOf) });
}

function toOpenai(messages: readonly Message[], baseUrl?: string): JsonObject {
  return openaiBody(ask('', { messages }), baseUrl === undefined ? {} : { baseUrl });
}

/** Random transcripts as runs leave them: any text, any ids, every call answered in its place. */
const anyText = fc.oneof(
  fc.constantFrom('', ' \n', 'hello', '\ud800', '{{x}} $& \ud83d'),
  fc.string({ unit: 'binary' }),
);
const anyId = fc.oneof(
  fc.constantFrom('', 'call_0', 'toolu_01', 'a b', 'é', 'x'.repeat(200), 'call00002'),
  fc.string(),
);
const anyBlock = fc.oneof(
  anyText.map(text),
  anyText.map((words): ContentBlock => ({ type: 'thinking', text: words })),
  fc
    .record({ id: anyId, key: anyText, value: anyText })
    .map(({ id, key, value }): ContentBlock => ({ type: 'tool_use', id, name: 'look', input: { [key]: value } })),
);
const anyTranscript = fc
  .array(
    fc.record({ answer: fc.array(anyBlock, { maxLength: 5 }), output: anyText, more: fc.array(anyText.map(text)) }),
    {
      maxLength: 6,
    },
  )
  .chain((steps) => fc.tuple(fc.constant(steps), anyText))
  .map(([steps, first]) => {
    const messages: Message[] = [user(text(first))];
    for (const { answer, output, more } of steps) {
      const calls = answer.filter((block) => block.type === 'tool_use');
      messages.push(assistant(...answer), user(...calls.map((block) => result(block.id, output)), ...more));
    }
    return messages;
  });

describe('any transcript', () => {
  test('becomes a body that passes the transcript check, in both dialects, and stays as it was', () => {
    const accepted = /^[A-Za-z0-9_-]{1,64}$/;
    fc.assert(
      fc.property(anyTranscript, (messages) => {
        const before = JSON.stringify(messages);
        const anthropic: unknown = JSON.parse(encodeBody(toAnthropic(messages, { cache_turns: true })));
        const openai: unknown = JSON.parse(encodeBody(toOpenai(messages)));

        const turns = turnsOfAnthropicBody(anthropic);
        expect(findTranscriptProblem(turns)).toBeUndefined();
        expect(findTranscriptProblem(turnsOfOpenaiBody(openai))).toBeUndefined();
        expect(turns.flatMap((turn) => turn.calls).every((id) => accepted.test(id))).toBe(true);
        expect(JSON.stringify(anthropic).isWellFormed() && !JSON.stringify(anthropic).includes('\\ud')).toBe(true);
        expect(JSON.stringify(messages)).toBe(before);
      }),
      { numRuns: 1_000, seed: 4 },
    );
  });
});

describe('the clean-up', () => {
  test('an answer that said nothing disappears, and the user turns around it become one', () => {
    const body = toAnthropic([
      user(text('go')),
      assistant({ type: 'thinking', text: 'hm' }, text('  ')),
      user(text('well?')),
    ]);

    expect(body['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'go' },
          { type: 'text', text: 'well?' },
        ],
      },
    ]);
  });

  test('results come first in their turn, and one without text says so', () => {
    const messages = [user(text('go')), assistant(call('a')), user(text('and hurry'), result('a', ''))];

    expect(toAnthropic(messages)['messages']).toMatchObject([
      {},
      {},
      {
        content: [
          { type: 'tool_result', content: '(no output)' },
          { type: 'text', text: 'and hurry' },
        ],
      },
    ]);
    expect(toOpenai(messages)['messages']).toMatchObject([
      {},
      {},
      { role: 'tool', content: '(no output)' },
      { role: 'user', content: 'and hurry' },
    ]);
  });

  test('a blank message at either end is replaced, since a request starts and ends with the user', () => {
    const body = toAnthropic([user(text('')), assistant(text('yes')), user(text('\n'))]);

    expect(body['messages']).toMatchObject([
      { role: 'user', content: [{ text: '(no text)' }] },
      { role: 'assistant' },
      { role: 'user', content: [{ text: '(no text)' }] },
    ]);
  });

  test('doubled, empty and odd call ids are replaced on the wire, and results stay with their calls', () => {
    const messages = [
      user(text('go')),
      assistant(call('x'), call('x'), call('')),
      user(result('x', 'one'), result('x', 'two'), result('', 'three')),
      assistant(call('x'), call('functions.ls:0')),
      user(result('x', 'four'), result('functions.ls:0', 'five')),
    ];
    const contentOf = (body: JsonObject): unknown => JSON.parse(JSON.stringify(body['messages']));

    expect(contentOf(toAnthropic(messages))).toMatchObject([
      {},
      { content: [{ id: 'x' }, { id: 'call00002' }, { id: 'call00003' }] },
      {
        content: [
          { tool_use_id: 'x', content: 'one' },
          { tool_use_id: 'call00002', content: 'two' },
          { tool_use_id: 'call00003', content: 'three' },
        ],
      },
      { content: [{ id: 'call00004' }, { id: 'call00005' }] },
      {
        content: [
          { tool_use_id: 'call00004', content: 'four' },
          { tool_use_id: 'call00005', content: 'five' },
        ],
      },
    ]);
    expect(contentOf(toOpenai(messages, 'http://localhost/v1'))).toMatchObject([
      {},
      {},
      {},
      {},
      {},
      { tool_calls: [{ id: 'call00004' }, { id: 'functions.ls:0' }] },
      {},
      {},
    ]);
  });

  test('a lone surrogate is replaced wherever it stands, and an escaped backslash in front of `ud800` is left alone', () => {
    const body = { text: 'a\ud800b', 'k\udc00': [{ deep: '😀\ud83d' }], code: '\\ud800 "\\\\ud800"' };

    expect(JSON.parse(encodeBody(body))).toEqual({
      text: 'a\ufffdb',
      'k\ufffd': [{ deep: '😀\ufffd' }],
      code: '\\ud800 "\\\\ud800"',
    });
  });

  test('the prompt cache is marked at the system prompt, and at the last two user turns of a run', () => {
    const messages = [user(text('1')), assistant(call('a')), user(result('a')), assistant(text('2')), user(text('3'))];
    const marks = (body: JsonObject): number => JSON.stringify(body).split('cache_control').length - 1;

    expect(marks(toAnthropic(messages, { system: 'be brief' }))).toBe(1);
    const body = toAnthropic(messages, { system: 'be brief', cache_turns: true });
    expect(marks(body)).toBe(3);
    expect(body['messages']).toMatchObject([
      {},
      {},
      { content: [{ type: 'tool_result', cache_control: { type: 'ephemeral' } }] },
      {},
      { content: [{ type: 'text', cache_control: { type: 'ephemeral' } }] },
    ]);
  });
});

describe('the transcript check', () => {
  test.each([
    ['a call without a result', [user(text('go')), assistant(call('a'))], 'the call `a` has no result'],
    [
      'a call answered too late',
      [user(text('go')), assistant(call('a')), user(text('hm')), assistant(text('so')), user(result('a'))],
      'turn 3 does not answer the call `a` of the turn before',
    ],
    [
      'a missing second result',
      [user(text('go')), assistant(call('a'), call('b')), user(result('a'))],
      'turn 3 does not answer the call `b` of the turn before',
    ],
    [
      'results in another order',
      [user(text('go')), assistant(call('a'), call('b')), user(result('b'), result('a'))],
      'turn 3 answers `b` where the result of the call `a` belongs',
    ],
    [
      'a result nobody asked for',
      [user(text('go')), assistant(text('ok')), user(result('a'))],
      'turn 3 has a result for `a`, which no call of the turn before asked for',
    ],
  ])('%s is named, and nothing is sent', (_name, messages, problem) => {
    const refusal = { kind: 'invalid_request', message: `the request was not sent: ${problem}` };

    expect(() => toAnthropic(messages)).toThrow(expect.objectContaining(refusal));
    expect(() => toOpenai(messages)).toThrow(expect.objectContaining(refusal));
  });

  test.each([
    [[], 'it has no messages'],
    [[{ role: 'assistant', content: 'hi' }], 'it does not start with a user turn'],
    [
      [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
      'turn 2 is a second user turn in a row',
    ],
    [[{ role: 'user', content: ' ' }], 'turn 1 has an empty text'],
    [[{ role: 'user', content: '\ud800' }], 'turn 1 has text that is not well-formed Unicode'],
    [
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [{ id: 'x' }, { id: 'x' }] },
        { role: 'tool', tool_call_id: 'x', content: '1' },
        { role: 'tool', tool_call_id: 'x', content: '1' },
      ],
      'turn 2 repeats the call id `x`',
    ],
    [
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null },
      ],
      'turn 2 is empty',
    ],
  ])('sees what is wrong with the body %j', (messages, problem) => {
    expect(findTranscriptProblem(turnsOfOpenaiBody({ messages }))).toBe(problem);
  });
});
