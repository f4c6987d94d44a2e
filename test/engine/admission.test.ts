import { describe, expect, test } from 'vitest';
import type { EngineOptions } from '../../src/engine/options.ts';
import { type Admission, createAdmission, type Ticket } from '../../src/engine/admission.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createRecorder } from '../../src/testing/recorder.ts';
import { createDrillEngine, createGate, startDrill, toMessage } from './drill.ts';
import { describePlacements } from './placements.ts';

const clock = createManualClock();

/** Notes in `order` when a run gets its turn. */
function enter(admission: Admission, tenant: string, order: string[], name = tenant, priority = 0): Ticket {
  const ticket = admission.enter({ tenant, priority, mayWait: true });
  if (ticket.turn === undefined) order.push(name);
  else void ticket.turn.then(() => order.push(name));
  return ticket;
}

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('who is next', () => {
  test('without limits nobody waits', () => {
    const admission = createAdmission({}, { clock });

    const tickets = Array.from({ length: 1_000 }, () => admission.enter({ tenant: '', priority: 0, mayWait: false }));

    expect(tickets.every(({ turn, position }) => turn === undefined && position === 0)).toBe(true);
    expect(admission.stats()).toEqual({ active: 1_000, queued: 0 });
  });

  test('the first run of a tenant is next, however much another has waiting', async () => {
    const admission = createAdmission({ maxActiveRuns: 2 }, { clock });
    const order: string[] = [];
    const active = [enter(admission, 'many', order), enter(admission, 'many', order)];
    for (let count = 0; count < 500; count += 1) enter(admission, 'many', order);
    enter(admission, 'few', order);

    active[0]?.leave();
    await settle();

    expect(order).toEqual(['many', 'many', 'few']);
  });

  test('tenants share the places evenly', async () => {
    const admission = createAdmission({ maxActiveRuns: 4 }, { clock });
    const order: string[] = [];
    const active = Array.from({ length: 4 }, () => enter(admission, 'a', order));
    for (let count = 0; count < 4; count += 1) {
      enter(admission, 'a', order);
      enter(admission, 'b', order);
    }

    for (const ticket of active) ticket.leave();
    await settle();

    expect(order.slice(4).sort()).toEqual(['a', 'a', 'b', 'b']);
  });

  test('the tenant with the fewest active runs is next, though it had a turn later', async () => {
    const admission = createAdmission({ maxActiveRuns: 4 }, { clock });
    const order: string[] = [];
    const active = ['a', 'a', 'a', 'b'].map((tenant) => enter(admission, tenant, order));
    enter(admission, 'a', order, 'fourth of a');
    enter(admission, 'b', order, 'second of b');

    active[0]?.leave();
    await settle();

    expect(order.slice(4)).toEqual(['second of b']);
  });

  test('runs of one tenant go by priority, then in order of arrival', async () => {
    const admission = createAdmission({ maxActiveRuns: 1 }, { clock });
    const order: string[] = [];
    const first = enter(admission, '', order, 'first');
    const tickets = [
      enter(admission, '', order, 'low', -1),
      enter(admission, '', order, 'usual'),
      enter(admission, '', order, 'high', 5),
      enter(admission, '', order, 'usual too'),
    ];

    first.leave();
    await settle();
    for (const index of [2, 1, 3]) {
      tickets[index]?.leave();
      await settle();
    }

    expect(order).toEqual(['first', 'high', 'usual', 'usual too', 'low']);
    expect(tickets.map(({ position }) => position)).toEqual([1, 1, 1, 3]);
  });

  test('a tenant at its own limit waits while another has room', async () => {
    const admission = createAdmission({ maxActiveRuns: 3, maxActivePerTenant: 1 }, { clock });
    const order: string[] = [];

    const first = enter(admission, 'a', order, 'a1');
    enter(admission, 'a', order, 'a2');
    enter(admission, 'b', order, 'b1');

    expect(order).toEqual(['a1', 'b1']);
    first.leave();
    await settle();
    expect(order).toEqual(['a1', 'b1', 'a2']);
  });

  test('leaving twice frees one place, and leaving while waiting gives up the turn', async () => {
    const admission = createAdmission({ maxActiveRuns: 1 }, { clock });
    const order: string[] = [];
    const first = enter(admission, '', order, 'first');
    const second = enter(admission, '', order, 'second');
    enter(admission, '', order, 'third');

    second.leave();
    second.leave();
    first.leave();
    first.leave();
    await settle();

    expect(order).toEqual(['first', 'third']);
    expect(admission.stats()).toEqual({ active: 1, queued: 0 });
  });

  test('what is full is refused with a time to try again by', () => {
    const own = createManualClock();
    const admission = createAdmission({ maxActiveRuns: 1, maxQueued: 1 }, { clock: own });
    const entry = { tenant: '', priority: 0, mayWait: true };
    for (let count = 0; count < 40; count += 1) {
      const ticket = admission.enter(entry);
      own.advance(400);
      ticket.leave();
    }
    admission.enter(entry);
    admission.enter(entry);

    const refused = (() => {
      try {
        admission.enter(entry);
      } catch (error) {
        return error;
      }
      return undefined;
    })();

    expect(refused).toMatchObject({
      kind: 'other',
      code: 'overloaded',
      message: 'the engine is overloaded: 1 runs are active and 1 are waiting',
      data: { active: 1, queued: 1, retry_after_ms: expect.any(Number) },
    });
    const { retryAfterMs } = refused as { readonly retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(790); // two rounds of 400 ms
    expect(retryAfterMs).toBeLessThan(900);
  });

  test.each([{ maxActiveRuns: 0 }, { maxActivePerTenant: 1.5 }, { maxQueued: -1 }])('%o is refused', (options) => {
    expect(() => createAdmission(options, { clock })).toThrow(`admission.${Object.keys(options)[0]}`);
  });
});

const waiting = { steps: 1, calls: [{ name: 'gate', input: {} }] };

test('waiting is no part of the time a budget counts', async () => {
  const gate = createGate();
  const hand = createManualClock();
  await using engine = await createDrillEngine({ admission: { maxActiveRuns: 1 }, tools: [gate.tool], clock: hand });
  startDrill(engine, waiting);
  await gate.started();
  const second = startDrill(engine, { steps: 0 }, { budget: { maxDurationMs: 1_000 } });

  hand.advance(60_000);
  gate.open();

  expect((await second.outcome).stop).toEqual({ reason: 'completed' });
});

describePlacements('in an engine', (_open, placed) => {
  const open = (options: EngineOptions) => createDrillEngine({ ...placed, ...options });
  test('a run that has to wait says so, shows its state and starts in its turn', async () => {
    const gate = createGate();
    await using engine = await open({ admission: { maxActiveRuns: 1 }, tools: [gate.tool] });
    const first = startDrill(engine, waiting);
    await gate.started();

    const second = startDrill(engine, {}, { tenant: 'acme', priority: 2 });

    expect([first.state(), second.state()]).toEqual(['running', 'queued']);
    expect(engine.stats().runs).toMatchObject({ active: 1, queued: 1 });
    gate.open();
    await second.outcome;
    const events = [];
    for await (const { seq, event } of second.events({ from: 1 })) events.push({ seq, event });
    expect(events[0]).toEqual({
      seq: 1,
      event: {
        type: 'run_queued',
        run: second.id,
        role: 'soldier',
        tenant: 'acme',
        priority: 2,
        position: 1,
        queued: 1,
      },
    });
    expect(events[1]).toMatchObject({ seq: 2, event: { type: 'agent_started' } });
  });

  test.each(['hard', 'cooperative', 'by its signal'] as const)(
    'a waiting run can be cancelled (%s) and gives up its place',
    async (how) => {
      const gate = createGate();
      await using engine = await open({ admission: { maxActiveRuns: 1 }, tools: [gate.tool] });
      const first = startDrill(engine, waiting);
      await gate.started();
      const stop = new AbortController();
      const second = startDrill(engine, {}, { signal: stop.signal });
      const third = startDrill(engine, {});

      if (how === 'by its signal') stop.abort();
      else await second.cancel({ mode: how });

      expect(await second.outcome).toMatchObject({ stop: { reason: 'cancelled' }, steps: 0 });
      expect(first.state()).toBe('running');
      expect(engine.stats().runs).toMatchObject({ active: 1, queued: 1 });
      gate.open();
      expect((await third.outcome).stop).toEqual({ reason: 'completed' });
    },
  );

  test('a text for a waiting run joins its first turn', async () => {
    const gate = createGate();
    await using engine = await open({ admission: { maxActiveRuns: 1 }, tools: [gate.tool] });
    startDrill(engine, waiting);
    await gate.started();
    const second = startDrill(engine, {});

    second.steer('And hurry.');
    gate.open();

    const { messages } = await second.outcome;
    expect(messages[0]?.content).toMatchObject([{ text: '{}' }, { text: 'And hurry.' }]);
  });

  test('a run that must not wait, or finds the queue full, is refused at once', async () => {
    const gate = createGate();
    await using engine = await open({
      admission: { maxActiveRuns: 1, maxQueued: 1 },
      tools: [gate.tool],
    });
    startDrill(engine, waiting);
    await gate.started();

    expect(() => startDrill(engine, {}, { whenBusy: 'reject' })).toThrow('overloaded');
    startDrill(engine, {});
    expect(() => startDrill(engine, {})).toThrow('the engine is overloaded: 1 runs are active and 1 are waiting');
    expect(engine.runs()).toHaveLength(2);
    gate.open();
  });

  test('a tenant with 500 waiting runs delays the first of another by less than two of its runs', async () => {
    await using engine = await open({ admission: { maxActiveRuns: 4 } });
    using recorder = createRecorder(engine.bus);
    const flood = Array.from({ length: 504 }, () => startDrill(engine, { delay_ms: 5 }, { tenant: 'flood' }));

    const late = startDrill(engine, {}, { tenant: 'late' });
    await late.outcome;

    const endedBefore = recorder.envelopes.filter(({ event }) => event.type === 'agent_finished').length - 1;
    expect(endedBefore).toBeLessThanOrEqual(8); // two rounds of four places
    await Promise.all(flood.map((run) => run.outcome));
  });

  test('a follow-up waits for its turn like any run', async () => {
    const gate = createGate();
    await using engine = await open({ admission: { maxActiveRuns: 1 }, tools: [gate.tool] });
    const first = startDrill(engine, {});
    await first.outcome;
    startDrill(engine, waiting);
    await gate.started();

    const next = first.followUp(toMessage({ text: 'again' }));

    expect(next.state()).toBe('queued');
    gate.open();
    expect((await next.outcome).final_text).toBe('again');
    const types = [];
    for await (const { event } of next.events({ from: 4 })) types.push(event.type);
    expect(types).toEqual(['run_followed_up', 'run_queued', 'agent_started', 'agent_text', 'agent_finished']);
  });

  test('closing ends what waits', async () => {
    const gate = createGate();
    const engine = await open({ admission: { maxActiveRuns: 1 }, tools: [gate.tool] });
    startDrill(engine, waiting);
    await gate.started();
    const runs = Array.from({ length: 20 }, () => startDrill(engine, {}));

    await engine.close();

    for (const run of runs) expect((await run.outcome).stop).toEqual({ reason: 'cancelled' });
  });
});
