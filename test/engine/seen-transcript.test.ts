import { expect, test } from 'vitest';
import type { BusEvent } from '../../src/bus/events.ts';
import { toSeenTranscript } from '../../src/engine/seen-transcript.ts';
import type { CallId, RunId } from '../../src/protocol/ids.ts';
import { type Message, userText } from '../../src/protocol/message.ts';

const run = 'run' as RunId;
const common = { run, role: 'worker', subtask: null };
const started: BusEvent = { type: 'agent_started', ...common, model: 'm' };
const said = (text: string): BusEvent => ({ type: 'agent_text', run, role: 'worker', text });
const called = (call: string): BusEvent => ({
  type: 'tool_called',
  ...common,
  tool: 'look',
  input: { at: call },
  call: call as CallId,
});
const returned = (call: string, preview: string, more: Partial<BusEvent<'tool_returned'>> = {}): BusEvent => ({
  type: 'tool_returned',
  ...common,
  tool: 'look',
  is_error: false,
  duration_ms: 1,
  preview,
  call: call as CallId,
  exit_code: null,
  timed_out: false,
  output_chars: preview.length,
  output_file: null,
  ...more,
});
const use = (call: string) => ({ type: 'tool_use', id: call, name: 'look', input: { at: call } }) as const;
const result = (call: string, content: string) =>
  ({ type: 'tool_result', tool_use_id: call, content, is_error: false }) as const;
const text = (value: string) => ({ type: 'text', text: value }) as const;

const seen = (...events: readonly BusEvent[]): readonly Message[] => toSeenTranscript([], 'go', events);

test('calls that run side by side are one turn, their results in the order of the calls', () => {
  const events = [started, said('I look.'), called('a'), called('b'), returned('b', 'B'), returned('a', 'A')];

  expect(seen(...events)).toEqual([
    userText('go'),
    { role: 'assistant', content: [text('I look.'), use('a'), use('b')] },
    { role: 'user', content: [result('a', 'A'), result('b', 'B')] },
  ]);
});

test('a call that comes when all are back begins the next turn, and so does a text', () => {
  const turn = (call: string) => [called(call), returned(call, call)];

  const messages = seen(started, ...turn('a'), ...turn('b'), said('done'));

  expect(messages.map(({ role, content }) => [role, content.length])).toEqual([
    ['user', 1],
    ['assistant', 1],
    ['user', 1],
    ['assistant', 1],
    ['user', 1],
    ['assistant', 1],
  ]);
});

test('a text that joined stands behind the results of its turn', () => {
  const steered: BusEvent = { type: 'run_steered', run, text: 'Hurry.' };

  const messages = seen(started, called('a'), steered, returned('a', 'A'), said('done'));

  expect(messages[2]).toEqual({ role: 'user', content: [result('a', 'A'), text('Hurry.')] });
});

test('two answers in a row are one', () => {
  expect(seen(started, said('cut'), said(' off'))).toEqual([
    userText('go'),
    { role: 'assistant', content: [text('cut'), text(' off')] },
  ]);
});

test('a result that is longer than what its event shows says so, and where it is', () => {
  const output_file = '.vibe/tool-output/a.txt';
  const messages = seen(started, called('a'), returned('a', 'A…', { output_chars: 5_000, output_file }));

  expect(messages[2]?.content).toEqual([
    result(
      'a',
      `A…\n[the first characters of 5000: the rest was lost with the thread of the run; all of it is in ${output_file}]`,
    ),
  ]);
});

test('after a follow-up only its own events count: what came before is the opening', () => {
  const opening: readonly Message[] = [userText('first'), { role: 'assistant', content: [text('one')] }];
  const followed: BusEvent = { type: 'run_followed_up', run, text: 'second' };

  const messages = toSeenTranscript(opening, 'second', [started, said('one'), followed, started, said('two')]);

  expect(messages).toEqual([...opening, userText('second'), { role: 'assistant', content: [text('two')] }]);
});

test('a run that never started has its opening and its message', () => {
  const opening: readonly Message[] = [userText('first'), { role: 'assistant', content: [use('a')] }];

  expect(toSeenTranscript(opening, 'second', []).at(-1)?.content).toMatchObject([
    { tool_use_id: 'a', is_error: true },
    text('second'),
  ]);
});
