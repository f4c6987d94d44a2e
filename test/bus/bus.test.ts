import { describe, expect, test } from 'vitest';
import { createBus } from '../../src/bus/bus.ts';
import type { Envelope } from '../../src/bus/envelope.ts';
import { createEventSchemas, eventJsonSchema, events, isEventType } from '../../src/bus/events.ts';
import { compileCheck } from '../../src/bus/fast-check.ts';
import { isLagged } from '../../src/bus/stream.ts';
import { type LogFields, silentLogger } from '../../src/protocol/deps.ts';
import type { CallId, RunId } from '../../src/protocol/ids.ts';

const run = 'r1' as RunId;

function openBus(warn: (message: string, fields?: LogFields) => void = () => {}) {
  return createBus({ clock: { now: () => 0 }, logger: { ...silentLogger, warn } });
}

function text(value: string, of = run) {
  return { type: 'agent_text', run: of, role: 'coder', text: value } as const;
}

function delta(value: string) {
  return { type: 'agent_delta', run, role: 'coder', subtask: null, delta: { kind: 'text', text: value } } as const;
}

describe('publish', () => {
  test('numbers the events of each run from 1 without gaps and leaves ephemeral ones unnumbered', () => {
    const bus = openBus();
    const seen: Envelope[] = [];
    bus.on('*', (envelope) => void seen.push(envelope));

    bus.publish(text('a'));
    bus.publish(delta('x'));
    bus.publish(text('b', 'r2' as RunId));
    bus.publish(text('c'));

    expect(seen.map(({ seq }) => seq)).toEqual([1, undefined, 1, 2]);
  });

  test('refuses an event the catalogue does not know, naming type and field', () => {
    const bus = openBus();

    expect(() => bus.publish({ ...text('a'), extra: 1 } as never)).toThrow(/`agent_text` does not match.*extra/);
    expect(() => bus.publish({ type: 'agent_text', run, role: 7, text: '' } as never)).toThrow(/role/);
    expect(() => bus.publish({ type: 'constructor' } as never)).toThrow(/unknown type/);
    expect(bus.lastSequence(run)).toBe(0);
  });

  test('shows the same frozen envelope to all observers', () => {
    const bus = openBus();
    const input = { deep: { list: [1] } };
    const seen: Envelope[] = [];
    for (let count = 0; count < 3; count += 1) bus.on('tool_called', (envelope) => void seen.push(envelope));

    bus.publish({
      type: 'tool_called',
      run,
      role: 'r',
      tool: 't',
      input,
      call: '0123456789ab' as CallId,
      subtask: null,
    });

    expect(new Set(seen).size).toBe(1);
    expect(() => Object.assign(seen[0] ?? {}, { seq: 9 })).toThrow(TypeError);
    expect(() => input.deep.list.push(2)).toThrow(TypeError);
  });

  test('an observer that throws or rejects hurts neither the publisher nor the others and is reported', async () => {
    const reports: string[] = [];
    const bus = openBus((message) => void reports.push(message));
    const seen: string[] = [];
    bus.on('agent_text', () => {
      throw new Error('first');
    });
    bus.on('agent_text', async () => {
      await Promise.resolve();
      throw new Error('second');
    });
    bus.on('agent_text', ({ event }) => void seen.push(event.text));

    bus.publish(text('a'));
    await new Promise(setImmediate);

    expect(seen).toEqual(['a']);
    expect(reports).toEqual(['an event listener failed: first', 'an event listener failed: second']);
    expect(bus.stats().listenerErrors).toBe(2);
  });

  test('an event published from an observer is delivered after the current one, to all, without stack growth', () => {
    const bus = openBus();
    const first: string[] = [];
    const second: string[] = [];
    bus.on('agent_text', ({ event }) => {
      first.push(event.text);
      if (first.length < 20_000) bus.publish(text(String(first.length)));
    });
    bus.on('agent_text', ({ event }) => void second.push(event.text));

    bus.publish(text('0'));

    expect(second).toEqual(first);
    expect(second.length).toBe(20_000);
  });

  test('a run topic sees its run only; an observer that was taken off sees nothing', () => {
    const bus = openBus();
    const seen: string[] = [];
    const off = bus.on({ run }, ({ event }) => {
      if (event.type === 'agent_text') seen.push(event.text);
    });

    bus.publish(text('a'));
    bus.publish(text('b', 'r2' as RunId));
    off();
    bus.publish(text('c'));

    expect(seen).toEqual(['a']);
    expect(bus.stats().listeners).toBe(0);
  });
});

describe('stream', () => {
  test('a slow reader loses ephemeral events first, then the oldest, and is told how many', async () => {
    const bus = openBus();
    await using stream = bus.stream({ capacity: 3 });
    bus.publish(text('a'));
    bus.publish(delta('x'));
    bus.publish(text('b'));

    bus.publish(text('c'));
    bus.publish(text('d'));
    bus.publish(delta('y'));

    const items = [];
    for (let count = 0; count < 4; count += 1) items.push((await stream.next()).value);
    expect(items[0]).toEqual({ lagged: 3 });
    expect(items.slice(1).map((item) => (item === undefined || isLagged(item) ? '' : item.seq))).toEqual([2, 3, 4]);
    expect(bus.stats().lagged).toBe(3);
  });

  test('ends when its signal aborts, for a reader that waits too', async () => {
    const bus = openBus();
    const ended = new AbortController();
    const stream = bus.stream({ signal: ended.signal });
    const waiting = stream.next();

    ended.abort();

    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(bus.stats().listeners).toBe(0);
  });
});

describe('the event catalogue', () => {
  test('the fast check gives the verdict of the schema for every type and every damage to it', () => {
    const values: unknown[] = [
      null,
      undefined,
      '',
      'x',
      0,
      -1,
      1.5,
      Number.NaN,
      true,
      [],
      {},
      ['x'],
      '0123456789ab',
      'info',
    ];
    let judged = 0;
    for (const [type, schema] of createEventSchemas()) {
      const check = compileCheck(schema);
      const fields = isEventType(type) ? Object.keys(events[type].shape) : [];
      for (const value of values) {
        const event: Record<string, unknown> = { type };
        for (const field of fields) event[field] = value;
        for (const candidate of [event, { ...event, unknown: 1 }, { ...event, type: 'other' }, value]) {
          expect(check(candidate), `${type} ${JSON.stringify(candidate)}`).toBe(schema.safeParse(candidate).success);
          judged += 1;
        }
      }
    }
    expect(judged).toBeGreaterThan(1_000);
  });

  test('the fast check does not depend on the order of the keys nor on where they come from', () => {
    const valid = {
      type: 'agent_started',
      run,
      role: 'coder',
      subtask: null,
      model: 'm',
      parent: { run, call: '0123456789ab' },
    };
    const { parent, ...childless } = valid;
    const reversed = Object.fromEntries(Object.entries(valid).toReversed());
    const schema = createEventSchemas().get('agent_started');
    if (schema === undefined) throw new Error('no schema');
    const check = compileCheck(schema);

    const accepted = [valid, childless, reversed, { ...childless, parent: undefined }, Object.create(valid) as unknown];
    const refused = [
      { ...childless, unknown: 1 },
      { unknown: 1, ...valid },
      { ...reversed, role: 1 },
      { ...valid, parent: { ...parent, call: '0123456789AB' } },
      { ...valid, parent: { ...parent, call: '0123456789a' } },
      Object.create({ ...valid, unknown: 1 }) as unknown,
    ];

    for (const event of [...accepted, ...refused]) expect(check(event)).toBe(schema.safeParse(event).success);
    expect(accepted.map(check)).toEqual(accepted.map(() => true));
    expect(refused.map(check)).toEqual(refused.map(() => false));
  });

  test('every type has a JSON Schema that names it', () => {
    const types = Object.keys(events).filter(isEventType);
    expect(types.length).toBeGreaterThan(30);
    for (const type of types) expect(eventJsonSchema(type)['properties']).toMatchObject({ type: { const: type } });
  });
});
