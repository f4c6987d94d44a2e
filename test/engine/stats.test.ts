import { expect, test } from 'vitest';
import { createLoopDelayMonitor } from '../../src/engine/loop-delay.ts';
import { createRecorder } from '../../src/testing/recorder.ts';
import { createDrillEngine, createGate, echo, startDrill } from './drill.ts';

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
