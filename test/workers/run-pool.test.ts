import { BroadcastChannel } from 'node:worker_threads';
import { afterAll, expect, test } from 'vitest';
import type { EngineOptions } from '../../src/engine/options.ts';
import type { RunHandle } from '../../src/engine/run-handle.ts';
import type { AgentInput } from '../../src/protocol/agent.ts';
import { type Message, textOf } from '../../src/protocol/message.ts';
import { createRecorder } from '../../src/testing/recorder.ts';
import { defineTool } from '../../src/tools/define.ts';
import { createRunPool, type RunPool } from '../../src/workers/run-pool.ts';
import { createDrillEngine, createGate, echo, soldier, startDrill, toMessage } from '../engine/drill.ts';
import { createLogRecorder } from './pool-fixture.ts';
import { begun, openOn, openWith, stopOf } from './run-threads.ts';

/** One thread for the tests that leave it as it was: each takes its time to start. */
const sharedLog = createLogRecorder();
const sharedPool = createRunPool({ threads: 1, logger: sharedLog.logger });
afterAll(() => sharedPool.close());

async function openShared(more: EngineOptions = {}) {
  return await openOn({ ...sharedPool, close: () => Promise.resolve() }, sharedLog, more);
}

/** The types of a run's events, `agent_delta` left out. */
async function typesOf(run: RunHandle): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { event } of run.events({ from: 1 })) types.push(event.type);
  return types;
}

test('two runs execute in two threads', async () => {
  const gate = createGate();
  await using opened = await openWith({ threads: 2 }, { tools: [gate.tool] });
  const drill = { steps: 1, calls: [{ name: 'gate', input: {} }] };
  const runs = [startDrill(opened.engine, drill), startDrill(opened.engine, drill)];
  await gate.started();
  await gate.started();

  const { threads } = opened.pool.stats();

  expect(threads.map(({ runs: count }) => count)).toEqual([1, 1]);
  gate.open();
  await Promise.all(runs.map(stopOf));
});

test('a thread that ends takes exactly its own runs with it', async () => {
  const gate = createGate();
  await using opened = await openWith({ threads: 2 }, { tools: [gate.tool, echo] });
  const { engine } = opened;
  const waiting = { steps: 1, calls: [{ name: 'gate', input: {} }] };
  const [survivor, neighbour] = [startDrill(engine, waiting), startDrill(engine, waiting)];
  await gate.started();
  await gate.started();
  // the third goes to the thread of the first: both have one run, and the first is asked first
  const [first] = opened.pool.stats().threads;
  const killer = startDrill(engine, { end: 'exit' });

  const stop = await stopOf(killer);

  expect(stop).toMatchObject({ reason: 'error', kind: 'other', code: 'worker_exited' });
  expect(stop).toMatchObject({ message: expect.stringContaining('worker exited with code: 3') });
  const left = opened.pool.stats().threads.map(({ thread }) => thread);
  expect(left).not.toContain(first?.thread);
  gate.open();
  const stops = await Promise.all([survivor, neighbour].map(stopOf));
  expect(stops.map(({ reason }) => reason).sort()).toEqual(['completed', 'error']);
  expect(await typesOf(killer)).toEqual(['agent_started', 'agent_finished']);
  expect(await stopOf(startDrill(engine, {}))).toEqual({ reason: 'completed' });
});

test('WK5: the calls of a run whose thread ended are cancelled before its last event', async () => {
  const gate = createGate();
  await using opened = await openWith({ threads: 1 }, { tools: [gate.tool] });
  const { engine } = opened;
  const run = startDrill(engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
  await gate.started();

  startDrill(engine, { end: 'exit' });

  expect(await stopOf(run)).toMatchObject({ reason: 'error', code: 'worker_exited' });
  expect(await typesOf(run)).toEqual(['agent_started', 'tool_called', 'tool_returned', 'agent_finished']);
});

test('the outcome of a run whose thread ended keeps what was seen of it, and a follow-up goes on from there', async () => {
  await using opened = await openWith({ threads: 1 }, { tools: [echo] });
  const drill = {
    steps: 2,
    calls: [
      { name: 'echo', input: { text: 'one' } },
      { name: 'echo', input: { text: 'two' } },
    ],
  };
  const lost = startDrill(opened.engine, { ...drill, end: 'exit' });
  const whole = startDrill(opened.engine, { ...drill, end: 'fail' }, { placement: 'inline' });

  const outcome = await lost.outcome;

  const { messages, steps, usage, tool_calls: calls } = await whole.outcome;
  expect(outcome).toMatchObject({ stop: { code: 'worker_exited' }, steps, usage, tool_calls: calls });
  expect(withoutIds(outcome.messages.slice(1))).toEqual(withoutIds(messages.slice(1)));
  const next = await lost.followUp(toMessage({ text: 'back again' })).outcome;
  expect(next.messages.slice(0, 4)).toEqual(outcome.messages.slice(0, 4));
  expect(next).toMatchObject({ stop: { reason: 'completed' }, final_text: 'back again' });
});

/** A lost run's calls bear the ids of their events. */
function withoutIds(messages: readonly Message[]): unknown {
  return messages.map(({ role, content }) => ({ role, content: content.map((block) => ({ ...block, ...noIds })) }));
}
const noIds = { id: '', tool_use_id: '' };

test('a structured run whose thread ended fails as one', async () => {
  await using opened = await openWith({ threads: 1 });

  const failed = opened.engine.runStructured(soldier, toMessage({ end: 'exit' }), { type: 'object' });

  await expect(failed).rejects.toMatchObject({ code: 'worker_exited', outcome: { steps: 0 } });
});

test('a thread that runs out of heap ends its runs, and the next run gets another', async () => {
  await using opened = await openWith({ threads: 1, heapMb: 64 });

  const stop = await stopOf(startDrill(opened.engine, { end: 'exhaust' }));

  expect(stop).toMatchObject({ reason: 'error', code: 'worker_exited' });
  expect(await stopOf(startDrill(opened.engine, {}))).toEqual({ reason: 'completed' });
});

test.each(['throw', 'reject'] as const)(
  'an error that nobody waits for (%s) ends no run and is logged',
  async (leave) => {
    const gate = createGate();
    await using opened = await openShared({ tools: [gate.tool] });
    const neighbour = startDrill(opened.engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
    await gate.started();

    const stop = await stopOf(startDrill(opened.engine, { leave }));
    const line = await opened.log.next(leave === 'throw' ? 'nobody catches this' : 'nobody waits for this');

    expect(stop).toEqual({ reason: 'completed' });
    expect(line).toMatchObject({ level: 'error' });
    gate.open();
    expect(await stopOf(neighbour)).toEqual({ reason: 'completed' });
  },
);

test('a cancelled run whose thread no longer listens ends with the thread', async () => {
  await using opened = await openWith({ threads: 1, unresponsiveMs: 50 });
  const run = startDrill(opened.engine, { end: 'spin' });
  await begun(opened.engine);

  await run.cancel();

  expect(await stopOf(run)).toEqual({ reason: 'cancelled' });
  expect(await opened.log.next('did not answer to a cancel')).toMatchObject({ level: 'error' });
  expect(await stopOf(startDrill(opened.engine, {}))).toEqual({ reason: 'completed' });
});

test('a cancelled run whose calls take their time does not cost the thread', async () => {
  const stubborn = {
    name: 'stubborn',
    description: 'Does not listen.',
    input_schema: { type: 'object' },
    call: () => new Promise((resolve) => setTimeout(resolve, 300)),
  };
  await using opened = await openWith({ threads: 1, unresponsiveMs: 50 }, { tools: [stubborn] });
  const run = startDrill(opened.engine, { steps: 1, calls: [{ name: 'stubborn', input: {} }] });
  await new Promise((resolve) => opened.engine.bus.on('tool_called', resolve));
  const [before] = opened.pool.stats().threads;

  await run.cancel();

  expect(await stopOf(run)).toEqual({ reason: 'cancelled' });
  expect(opened.pool.stats().threads[0]?.thread).toBe(before?.thread);
});

test('what cannot be sent to a thread fails by that reason', async () => {
  await using opened = await openShared();
  const vars = { broken: (() => '') as unknown as string };

  const run = startDrill(opened.engine, {}, { vars });

  await expect(run.outcome).rejects.toMatchObject({ kind: 'invalid_request', code: 'uncloneable' });
});

test('a kind whose module does not hold it fails by that reason', async () => {
  await using opened = await openShared({ model: 'lost/x' });

  const run = startDrill(opened.engine, {});

  await expect(run.outcome).rejects.toMatchObject({
    kind: 'config',
    message: expect.stringContaining('exports no provider kind `nothing`'),
  });
});

test('a module that is the program itself does not start again in each thread', async () => {
  const program = new URL('../fixtures/runs/whole-program.ts', import.meta.url).href;
  const selfMade = defineTool(program, {
    name: 'self_made',
    description: '',
    input: { type: 'object' },
    execute: () => '',
  });
  const refusal = 'put it in a file of its own';
  await using opened = await openShared({ tools: [selfMade] });

  const run = startDrill(opened.engine, {}, { model: 'program/x' });
  const calling = startDrill(opened.engine, { steps: 1, calls: [{ name: 'self_made', input: {} }] });

  await expect(run.outcome).rejects.toMatchObject({ kind: 'config', message: expect.stringContaining(refusal) });
  expect((await calling.outcome).messages[2]?.content).toMatchObject([
    { content: expect.stringContaining(refusal), is_error: true },
  ]);
});

test('more runs than there is room for wait, tenants in turn', async () => {
  const gate = createGate();
  await using opened = await openWith({ threads: 1, runsPerThread: 1 }, { tools: [gate.tool] });
  const { engine, pool } = opened;
  using recorder = createRecorder(engine.bus);
  const first = startDrill(engine, { steps: 1, calls: [{ name: 'gate', input: {} }] }, { tenant: 'many' });
  await gate.started();
  const many = [1, 2, 3].map(() => startDrill(engine, {}, { tenant: 'many' }));
  const other = startDrill(engine, {}, { tenant: 'other' });
  await new Promise(setImmediate);
  expect(pool.stats()).toMatchObject({ running: 1, queued: 4 });

  gate.open();
  await Promise.all([first, ...many, other].map(stopOf));

  const order = recorder.envelopes.flatMap(({ event }) => (event.type === 'agent_started' ? [event.run] : []));
  expect(order.indexOf(other.id)).toBeLessThanOrEqual(2);
  expect(pool.stats()).toMatchObject({ running: 0, queued: 0 });
});

/** One thread with one run in it, which goes on when the gate opens, and another that waits for room. */
async function openFull() {
  const gate = createGate();
  const opened = await openWith({ threads: 1, runsPerThread: 1 }, { tools: [gate.tool] });
  startDrill(opened.engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
  await gate.started();
  const waiting = startDrill(opened.engine, {});
  await new Promise(setImmediate);
  return { gate, waiting, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

test('a run that waits for a thread can be cancelled', async () => {
  await using full = await openFull();
  const { gate, waiting } = full;

  await waiting.cancel();

  expect(await stopOf(waiting)).toEqual({ reason: 'cancelled' });
  expect(await typesOf(waiting)).toEqual(['agent_started', 'agent_finished']);
  gate.open();
});

test('a run that waits for a thread can be told to end after its step, and has made none', async () => {
  await using full = await openFull();
  const { gate, waiting } = full;

  await waiting.cancel({ mode: 'cooperative' });

  expect(await waiting.outcome).toMatchObject({ stop: { reason: 'cancelled' }, steps: 0 });
  gate.open();
});

test('a text for a run that waits for a thread joins its first turn', async () => {
  await using full = await openFull();
  const { gate, waiting } = full;

  waiting.steer('Mind the queue.');
  gate.open();

  const { messages } = await waiting.outcome;
  expect(messages.map((message) => textOf(message))).toEqual(['{}\nMind the queue.', 'done']);
});

test('the wait for a thread is no part of the time a budget counts', async () => {
  const gate = createGate();
  const log = createLogRecorder();
  const pool = createRunPool({ threads: 1, runsPerThread: 1, logger: log.logger });
  const restarted: string[] = [];
  const seen: RunPool = {
    ...pool,
    execute: (run) =>
      pool.execute({
        ...run,
        budget: {
          remaining: () => run.budget.remaining(),
          onExceeded: (listener) => run.budget.onExceeded(listener),
          restart: () => restarted.push(run.job.settings.run),
        },
      }),
  };
  await using opened = await openOn(seen, log, { tools: [gate.tool] });
  const first = startDrill(opened.engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
  await gate.started();
  const waiting = startDrill(opened.engine, {});
  await new Promise(setImmediate);
  expect(restarted).toEqual([]);

  gate.open();
  await Promise.all([first.outcome, waiting.outcome]);

  expect(restarted).toEqual([waiting.id]);
});

test('child runs find room in threads that their parents fill', async () => {
  const scout: AgentInput = { role: 'scout', system_prompt: 'Look.', tools: 'none' };
  await using opened = await openWith({ threads: 1, runsPerThread: 1 }, { agents: [scout] });
  const calls = [{ name: 'scout', input: { task: toMessage({ text: 'all quiet' }) } }];
  const lead: AgentInput = { ...soldier, role: 'lead', tools: 'none', delegates: ['scout'] };

  const { messages } = await opened.engine.run(lead, toMessage({ steps: 1, calls })).outcome;

  expect(messages[2]?.content).toMatchObject([{ content: 'all quiet', is_error: false }]);
});

test('a child run whose thread ended is an error of its call, and its parent goes on', async () => {
  const scout: AgentInput = { role: 'scout', system_prompt: 'Look.', tools: 'none' };
  await using opened = await openWith({ threads: 2 }, { agents: [scout] });
  const calls = [{ name: 'scout', input: { task: toMessage({ end: 'exit' }) } }];
  const lead: AgentInput = { ...soldier, role: 'lead', tools: 'none', delegates: ['scout'] };

  const run = opened.engine.run(lead, toMessage({ steps: 1, calls }));

  const { stop, messages } = await run.outcome;
  expect(stop).toEqual({ reason: 'completed' });
  expect(messages[2]?.content).toMatchObject([{ content: 'Agent `scout` stopped: error.', is_error: true }]);
  expect((await run.children()[0]?.outcome)?.stop).toMatchObject({ kind: 'other', code: 'worker_exited' });
});

test('closing the engine ends the runs in threads and the threads', async () => {
  const log = createLogRecorder();
  const engine = await createDrillEngine({ placement: 'thread', runThreads: 2, logger: log.logger });
  const runs = Array.from({ length: 6 }, () => startDrill(engine, { delay_ms: 60_000 }));
  await begun(engine);

  await engine.close();

  expect((await Promise.all(runs.map(stopOf))).every(({ reason }) => reason === 'cancelled')).toBe(true);
  expect(engine.stats().run_pool.threads).toEqual([]);
  expect(() => engine.run(soldier, toMessage({}))).toThrow('closed');
});

test('WK5: a call that waits while its thread collects garbage is answered', async () => {
  await using opened = await openWith({ threads: 1 });
  const { engine } = opened;
  using garbage = openGarbageWatch();
  engine.hooks.augmentPrompt('slow', async () => {
    await garbage.collected(20);
    return 'after twenty collections';
  });

  const run = startDrill(engine, {}, { model: 'collecting/x' });

  expect(await stopOf(run)).toEqual({ reason: 'completed' });
  expect(garbage.count()).toBeGreaterThanOrEqual(20);
});

test('WK5: ports and handles stay flat over ten thousand runs that each ask', { timeout: 120_000 }, async () => {
  await using opened = await openShared();
  const { engine } = opened;
  let calls = 0;
  engine.hooks.augmentPrompt('count', () => void (calls += 1));
  const round = () => Promise.all(Array.from({ length: 100 }, () => stopOf(startDrill(engine, {}))));
  await round();
  const before = await countOpen();

  for (let count = 0; count < 100; count += 1) await round();

  expect(calls).toBe(10_100);
  expectFlat(await countOpen(), before);
});

test('runs in a thread share one port: what waits there costs the others nothing', async () => {
  const gate = createGate();
  await using opened = await openShared({ tools: [gate.tool] });
  const start = (): RunHandle => startDrill(opened.engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
  const runs = [start()];
  await gate.started();
  const before = await countOpen();
  for (let count = 0; count < 50; count += 1) {
    runs.push(start());
    await gate.started();
  }

  const { ports } = await countOpen();

  expect(ports).toBe(before.ports);
  gate.open();
  expect((await Promise.all(runs.map(stopOf))).every(({ reason }) => reason === 'completed')).toBe(true);
});

interface OpenThings {
  readonly ports: number;
  readonly handles: number;
}

function expectFlat(after: OpenThings, before: OpenThings): void {
  expect(after.ports).toBeLessThanOrEqual(before.ports);
  expect(after.handles).toBeLessThanOrEqual(before.handles);
}

/** Open ports of this thread, and what else it holds open; timers and reads of the test runner come and go. */
async function countOpen(): Promise<OpenThings> {
  // A closed port leaves in the next turns.
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  const names = process.getActiveResourcesInfo();
  return {
    ports: names.filter((name) => name === 'MessagePort').length,
    handles: names.filter((name) => !/Timeout|Immediate|FSReq|MessagePort/.test(name)).length,
  };
}

/** Hears of each collection in a thread of the collecting kind. */
function openGarbageWatch() {
  const channel = new BroadcastChannel('garbage');
  let heard = 0;
  let tell: () => void = () => {};
  channel.onmessage = () => {
    heard += 1;
    tell();
  };
  return {
    count: () => heard,
    /** Resolves after so many more. */
    async collected(more: number): Promise<void> {
      const goal = heard + more;
      while (heard < goal) await new Promise<void>((resolve) => (tell = resolve));
    },
    [Symbol.dispose]: () => channel.close(),
  };
}
