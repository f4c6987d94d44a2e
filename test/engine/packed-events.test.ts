import { expect, test } from 'vitest';
import type { Envelope } from '../../src/bus/envelope.ts';
import type { BusEvent } from '../../src/bus/events.ts';
import { PackedEvents } from '../../src/engine/packed-events.ts';
import type { CallId, RunId } from '../../src/protocol/ids.ts';

const run = 'r' as RunId;
const usage = { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0 };

function envelopes(...events: readonly BusEvent[]): readonly Envelope[] {
  return events.map((event, index) => {
    return {
      schema: 2,
      seq: index + 1,
      at: `2026-11-30T00:00:0${Math.floor(index / 2)}Z`,
      event: Object.freeze(event),
    };
  });
}

function returned(unusual: Partial<BusEvent<'tool_returned'>>): BusEvent {
  return {
    type: 'tool_returned',
    run,
    role: 'coder',
    tool: 'grep',
    is_error: false,
    duration_ms: 3,
    preview: 'x',
    call: 'b'.repeat(12) as CallId,
    subtask: null,
    exit_code: null,
    timed_out: false,
    output_chars: 1,
    output_file: null,
    ...unusual,
  };
}

const happened = envelopes(
  {
    type: 'agent_started',
    run,
    role: 'coder',
    subtask: null,
    model: 'm',
    parent: { run, call: 'a'.repeat(12) as CallId },
  },
  {
    type: 'tool_called',
    run,
    role: 'coder',
    tool: 'grep',
    input: { pattern: 'x' },
    call: 'b'.repeat(12) as CallId,
    subtask: null,
  },
  // of a child that shares the log's run by mistake, and with another subtask: kept as it is
  { type: 'agent_started', run, role: 'scout', subtask: 'look', model: 'm' },
  { type: 'phase_started', run, phase: 'build' },
  { type: 'log', run, level: 'warn', message: 'careful' },
  returned({}),
  returned({ is_error: true, timed_out: true }),
  returned({ exit_code: 0 }),
  returned({ output_file: 'a/b' }),
  { type: 'agent_finished', run, role: 'coder', steps: 1, usage, stop: '{"reason":"completed"}' },
);

test('what was packed reads as it was published', () => {
  const packed = new PackedEvents();
  for (const envelope of happened) packed.push(envelope);

  expect([...packed.from(1)]).toEqual(happened);
  expect([...packed.from(1)].every((envelope) => Object.isFrozen(envelope) && Object.isFrozen(envelope.event))).toBe(
    true,
  );
  expect(packed.last()).toBe(happened.length);
});

test('reading begins at any number, also when the first is not 1', () => {
  const packed = new PackedEvents();
  for (const envelope of happened) packed.push({ ...envelope, seq: (envelope.seq ?? 0) + 40 });

  expect([...packed.from(44)].map(({ seq, event }) => [seq, event])).toEqual(
    happened.slice(3).map(({ event }, index) => [44 + index, event]),
  );
});

test('a long run is kept whole, and what comes while it is read is read', () => {
  const packed = new PackedEvents();
  const whole = envelopes(...Array.from({ length: 200 }, (_, index) => returned({ duration_ms: index })));
  for (const envelope of whole.slice(0, 150)) packed.push(envelope);
  const read: Envelope[] = [];

  for (const envelope of packed.from(1)) {
    read.push(envelope);
    if (read.length === 10) for (const late of whole.slice(150)) packed.push(late);
  }

  expect(read).toEqual(whole);
});
