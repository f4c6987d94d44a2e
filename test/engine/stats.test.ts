import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { ActorRef } from '../../src/actors/behavior.ts';
import { createSupervisor } from '../../src/actors/supervisor.ts';
import { createBus } from '../../src/bus/bus.ts';
import { createAdmission } from '../../src/engine/admission.ts';
import { createLoopDelayMonitor } from '../../src/engine/loop-delay.ts';
import { createPlacements } from '../../src/engine/placement.ts';
import { createStats } from '../../src/engine/stats.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createRecorder } from '../../src/testing/recorder.ts';
import { createRunPool } from '../../src/workers/run-pool.ts';
import { spins } from '../fixtures/tools/hostile.ts';
import { createDrillEngine, createGate, echo, startDrill } from './drill.ts';
import { deferred } from './support.ts';

test('figures tell of runs, actors, pools, events and the process', async () => {
  const gate = createGate();
  await using engine = await createDrillEngine({ admission: { maxActiveRuns: 1 }, tools: [gate.tool] });
  const first = startDrill(engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
  await gate.started();
  const second = startDrill(engine, {});
  const reader = engine.bus.stream({ capacity: 2 });
  for (let count = 0; count < 5; count += 1) {
    engine.bus.publish({ type: 'log', run: null, level: 'info', message: `line ${count}` });
  }

  const stats = engine.stats();

  expect(stats.runs).toEqual({ active: 1, queued: 1, inline: 1, started: 2 });
  expect(stats.actors).toEqual({ living: 2, waiting_commands: 0, deepest_mailbox: 0, dead_letters: 0 });
  expect(stats.run_pool).toEqual({ running: 0, queued: 0, threads: [] });
  expect(stats.tool_pool).toBeNull();
  expect(stats.events).toMatchObject({ lagged: 3, backlog: 2, listener_errors: 0 });
  expect(stats.events.published).toBeGreaterThanOrEqual(10);
  expect(stats.events.per_second).toBeGreaterThan(0);
  expect(stats.memory.rss_bytes).toBeGreaterThan(stats.memory.heap_used_bytes);
  reader.close();
  gate.open();
  await Promise.all([first.outcome, second.outcome]);
  expect(engine.stats().runs).toEqual({ active: 0, queued: 0, inline: 0, started: 2 });
  expect(engine.stats().events.per_second).toBeLessThan(1_000_000);
});

test('threads tell how busy they are', async () => {
  const gate = createGate();
  await using engine = await createDrillEngine({ placement: 'thread', runThreads: 1, tools: [gate.tool, echo] });
  const run = startDrill(engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
  await gate.started();

  const { running, threads } = engine.stats().run_pool;

  expect({ running, runs: threads.map(({ runs }) => runs) }).toEqual({ running: 1, runs: [1] });
  expect(threads[0]?.utilization).toBeGreaterThan(0);
  expect(threads[0]?.utilization).toBeLessThanOrEqual(1);
  gate.open();
  await run.outcome;
});

test('tool threads tell how busy they are, what waits and what they lost', async () => {
  await using engine = await createDrillEngine({ tools: [spins], toolThreads: 1 });
  const stop = new AbortController();
  const calls = [1, 2, 3].map(() => ({ name: spins.name, input: {} }));
  const run = startDrill(engine, { steps: 1, calls }, { signal: stop.signal, cancelGraceMs: 0 });
  while (engine.stats().tool_pool?.busy !== 1) await new Promise(setImmediate);

  const stats = engine.stats().tool_pool;

  expect(stats).toMatchObject({ threads: 1, busy: 1, queued: 2, completed: 0, lost: 0 });
  stop.abort();
  await run.outcome;
  expect(engine.stats().tool_pool).toMatchObject({ busy: 0, queued: 0, lost: 1 });
});

test('commands that wait are counted, and those of the fullest mailbox', async () => {
  const { stats, supervisor } = createBareStats();
  const start = (name: string): ActorRef<string> =>
    supervisor
      .start({
        restart: 'temporary',
        behavior: () => ({ name, kind: 'test', init: () => ready.promise, receive: () => undefined }),
      })
      .ref();
  const ready = deferred();
  const [busy, idle] = [start('busy'), start('idle')];

  for (const command of ['one', 'two', 'three']) busy.send(command);
  idle.send('one');

  expect(stats.read().actors).toEqual({ living: 2, waiting_commands: 4, deepest_mailbox: 3, dead_letters: 0 });
  ready.resolve();
  await supervisor.stop();
  busy.send('too late');
  expect(stats.read().actors).toEqual({ living: 0, waiting_commands: 0, deepest_mailbox: 0, dead_letters: 1 });
});

test('events of a second are those since the figures were last taken', () => {
  const { stats, clock, bus } = createBareStats();
  const publish = (times: number): void => {
    for (let count = 0; count < times; count += 1) bus.publish({ type: 'log', run: null, level: 'info', message: '' });
  };
  publish(30);
  clock.advance(2_000);
  expect(stats.read().events).toMatchObject({ published: 30, per_second: 15 });
  publish(5);
  clock.advance(500);

  const { published, per_second: perSecond } = stats.read().events;

  expect({ published, perSecond }).toEqual({ published: 35, perSecond: 10 });
});

test('an engine that was left open with a period does not keep its process', async () => {
  const program = `
    import { createEngine } from ${JSON.stringify(new URL('../../src/engine.ts', import.meta.url).href)};
    const engine = await createEngine({ bare: true, statsIntervalMs: 10, placement: 'auto' });
    engine.bus.on('engine_stats', ({ event }) => void (engine.seen ??= event));
    setTimeout(() => console.log(engine.seen.runs.started), 500);`;

  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', program],
    { timeout: 30_000 },
  );

  expect(stdout).toBe('0\n');
});

test('figures are published in a period, without numbers, and stop with the engine', async () => {
  const engine = await createDrillEngine({ statsIntervalMs: 10 });
  using recorder = createRecorder(engine.bus);

  const [first, second] = [await recorder.next('engine_stats'), await recorder.next('engine_stats')];
  await engine.close();
  const seen = recorder.envelopes.length;
  await new Promise((resolve) => setTimeout(resolve, 30));

  expect(first.seq).toBeUndefined();
  expect(second.event.runs).toEqual({ active: 0, queued: 0, inline: 0, started: 0 });
  expect(recorder.envelopes).toHaveLength(seen);
});

test('a period that is no whole number is refused', async () => {
  await expect(createDrillEngine({ statsIntervalMs: 0.5 })).rejects.toThrow('statsIntervalMs');
});

test('the delay of the loop is what it is late by', async () => {
  const monitor = createLoopDelayMonitor();
  monitor.start();
  expect(monitor.recentP99()).toBe(0);
  monitor.read();
  await new Promise((resolve) => setTimeout(resolve, 30));

  const until = performance.now() + 150;
  while (performance.now() < until);
  await new Promise((resolve) => setTimeout(resolve, 30));
  const { max } = monitor.read();

  expect(max).toBeGreaterThan(100);
  monitor.close();
});

/** The figures of an engine that has no more than these parts. */
function createBareStats() {
  const clock = createManualClock();
  const bus = createBus({ clock, logger: silentLogger });
  const supervisor = createSupervisor({ clock });
  const delay = createLoopDelayMonitor();
  onTestFinished(() => delay.close());
  const stats = createStats({
    bus,
    runs: { active: () => [], started: () => 0 },
    admission: createAdmission({}, { clock }),
    placements: createPlacements({ usual: undefined, ownFunctions: [], delay, logger: silentLogger }),
    supervisor,
    runPool: createRunPool({ logger: silentLogger }),
    toolPool: () => undefined,
    delay,
    clock,
    intervalMs: undefined,
  });
  return { stats, bus, clock, supervisor };
}
