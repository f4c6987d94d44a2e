import { expect, test } from 'vitest';
import type { Envelope } from '../../src/bus/envelope.ts';
import type { BusEvent } from '../../src/bus/events.ts';
import { createRunView } from '../../src/cli/render.ts';
import { createStyle } from '../../src/cli/style.ts';
import type { CallId, RunId } from '../../src/protocol/ids.ts';

const run = '6f0d0a4e-0000-4000-8000-000000000000' as RunId;
const call = (digit: number): CallId => String(digit).repeat(12) as CallId;

/** Shows events and gives back what was written. */
function show(events: readonly (BusEvent | { readonly tokens: number })[], isLive = false): string {
  let text = '';
  let tokens = 0;
  const view = createRunView({
    write: (piece) => (text += piece),
    style: createStyle(false),
    isLive,
    columns: 100,
    where: () => 'worker thread 1',
    tokensUsed: () => tokens,
  });
  for (const event of events) {
    if ('type' in event) view.show({ schema: 2, at: '', event } as Envelope);
    else tokens = event.tokens;
  }
  return text;
}

const called = (digit: number, tool: string, input: Record<string, string>): BusEvent => {
  return { type: 'tool_called', run, role: 'coder', tool, input, call: call(digit), subtask: null };
};

const returned = (digit: number, tool: string, preview: string, isError = false): BusEvent => ({
  type: 'tool_returned',
  run,
  role: 'coder',
  tool,
  is_error: isError,
  duration_ms: 3,
  preview,
  call: call(digit),
  subtask: null,
  exit_code: null,
  timed_out: false,
  output_chars: preview.length,
  output_file: null,
});

const text = (content: string): BusEvent => ({ type: 'agent_text', run, role: 'coder', text: content });
const delta = (content: string, kind: 'text' | 'thinking' = 'text'): BusEvent => {
  return { type: 'agent_delta', run, role: 'coder', subtask: null, delta: { kind, text: content } };
};

test('steps, calls with duration and place, and refusals are shown line by line', () => {
  const shown = show([
    { type: 'agent_started', run, role: 'coder', subtask: null, model: 'm' },
    { tokens: 10 },
    text('Looking.\nAround.'),
    called(1, 'read_file', { path: 'a.js' }),
    called(2, 'bash', { command: 'rm -rf /' }),
    returned(1, 'read_file', 'content'),
    returned(2, 'bash', 'The call was blocked.\nmore', true),
    { tokens: 20 },
    called(3, 'grep', { pattern: 'x' }),
    returned(3, 'grep', ''),
  ]);

  expect(shown).toBe(`coder · m · run ${run}
step 1
  Looking.
  Around.
  → read_file a.js
  → bash rm -rf /
  ✓ read_file a.js · 3 ms · worker thread 1
  ✗ bash rm -rf / · 3 ms · worker thread 1
    The call was blocked.
step 2
  → grep x
  ✓ grep x · 3 ms · worker thread 1
`);
});

test('two mutating calls of one answer stay in one step', () => {
  const shown = show([
    { tokens: 10 },
    called(1, 'write_file', { path: 'a' }),
    returned(1, 'write_file', ''),
    called(2, 'write_file', { path: 'b' }),
    returned(2, 'write_file', ''),
  ]);

  expect(shown.match(/^step/gm)).toHaveLength(1);
});

test('on a terminal text streams once and is not repeated when it is whole', () => {
  const shown = show(
    [delta('hm', 'thinking'), delta('Hel'), delta('lo\nyou'), { tokens: 10 }, text('Hello\nyou'), called(1, 'x', {})],
    true,
  );

  expect(shown).toBe('step 1\n  (thinking)\n  Hello\n  you\n  → x\n');
});

test('without a terminal nothing streams and the whole text is shown', () => {
  expect(show([delta('Hel'), delta('lo'), { tokens: 10 }, text('Hello')])).toBe('step 1\n  Hello\n');
});

test('a failed attempt does not count as a step', () => {
  const shown = show(
    [
      delta('Hel'),
      { type: 'retrying', run, what: 'model call', attempt: 1, delay_ms: 1500 },
      delta('Hello'),
      { tokens: 10 },
      text('Hello'),
    ],
    true,
  );

  expect(shown).toBe('step 1\n  Hel\n  retrying model call (attempt 1, in 1.5 s)\nstep 1\n  Hello\n');
});

const hostile = 'a\u001b[2J\u202eb\u0007\r\nforged';

test.each([
  ['text', text(hostile)],
  ['a delta', delta(hostile)],
  ['a call', called(1, `t${hostile}`, { path: hostile })],
  ['an output', returned(1, 'x', hostile, true)],
  ['a log line', { type: 'log', run, level: 'warn', message: hostile } as BusEvent],
  ['a plugin name', { type: 'plugin_exited', plugin: hostile, code: 1, signal: null, stderr_tail: [] } as BusEvent],
  ['a role', { type: 'agent_started', run, role: hostile, subtask: null, model: hostile } as BusEvent],
])('%s from outside cannot drive the terminal (PD9)', (_name, event) => {
  const shown = show([event], true);

  expect(shown).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u);
  expect(shown).toContain('\\x1b[2J');
});

test('only text keeps its lines; a call, an output or a log line stays on one line', () => {
  for (const event of [
    called(1, 'x', { path: hostile }),
    { type: 'log', run, level: 'warn', message: hostile } as BusEvent,
  ]) {
    expect(
      show([event])
        .split('\n')
        .filter((line) => line.startsWith('forged')),
    ).toEqual([]);
  }
});
