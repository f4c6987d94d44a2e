import { execFile } from 'node:child_process';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/protocol/deps.ts';
import { echo, startDrill } from '../engine/drill.ts';
import { createRunPool } from '../../src/workers/run-pool.ts';
import { createLogRecorder } from './pool-fixture.ts';
import { begun, openOn, openWith, stopOf } from './run-threads.ts';

/** Keeps this thread from reading messages. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** One thread that a run holds for good, and another run that was sent there. */
async function openStuck() {
  const opened = await openWith({ threads: 1, unresponsiveMs: 50 });
  const spinning = startDrill(opened.engine, { end: 'spin' });
  await begun(opened.engine);
  const waiting = startDrill(opened.engine, {});
  await turn();
  return { spinning, waiting, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

test('a logger that throws ends its run and no other, and the run gives its place back', async () => {
  const refuse = (): void => {
    throw new Error('the disk is full');
  };
  const logger: Logger = { ...silentLogger, warn: refuse };
  await using opened = await openWith({ threads: 1 }, { logger });
  const { engine, pool } = opened;

  const run = startDrill(engine, { log: { level: 'warn', message: 'careful' } });

  await expect(run.outcome).rejects.toThrow('the disk is full');
  expect(pool.stats().running).toBe(0);
  expect(await stopOf(startDrill(engine, {}))).toEqual({ reason: 'completed' });
});

test('a logger that throws does not end the process for an error that nobody waited for', async () => {
  const logger: Logger = {
    ...silentLogger,
    error() {
      throw new Error('the disk is full');
    },
  };
  const pool = createRunPool({ threads: 1, logger });
  await using opened = await openOn(pool, createLogRecorder(), { logger });

  expect(await stopOf(startDrill(opened.engine, { leave: 'throw' }))).toEqual({ reason: 'completed' });

  expect(await stopOf(startDrill(opened.engine, {}))).toEqual({ reason: 'completed' });
});

test('what code in a thread posts to whoever started it harms nobody', async () => {
  await using opened = await openWith({ threads: 1 });

  expect(await stopOf(startDrill(opened.engine, { leave: 'post' }))).toEqual({ reason: 'completed' });

  expect(await stopOf(startDrill(opened.engine, {}))).toEqual({ reason: 'completed' });
});

test('a run that says what no message can carry ends with that, its neighbour goes on', async () => {
  await using opened = await openWith({ threads: 1 }, { tools: [echo] });
  const neighbour = startDrill(opened.engine, { steps: 5, delay_ms: 20 });

  const run = startDrill(opened.engine, { end: 'odd-call' });

  await expect(run.outcome).rejects.toMatchObject({ code: 'uncloneable' });
  expect(opened.pool.stats().running).toBe(1);
  expect(await stopOf(neighbour)).toEqual({ reason: 'completed' });
});

test('what happened is shown when what a run came to cannot be carried', async () => {
  await using opened = await openWith({ threads: 1 }, { tools: [echo], model: 'remembering/x' });
  const run = startDrill(opened.engine, { steps: 1, leave: 'memory' });

  await expect(run.outcome).rejects.toMatchObject({ code: 'uncloneable' });

  const types: string[] = [];
  for await (const { event } of run.events({ from: 1 })) types.push(event.type);
  const ofCall = ['agent_text', 'tool_called', 'tool_returned'];
  expect(types).toEqual(['agent_started', ...ofCall, 'agent_text', 'agent_finished']);
});

test('a cancelled run that its thread never began ends with the thread', async () => {
  await using stuck = await openStuck();
  const { spinning, waiting } = stuck;

  await waiting.cancel();

  expect(await stopOf(waiting)).toEqual({ reason: 'cancelled' });
  expect(await stopOf(spinning)).toMatchObject({ code: 'worker_exited' });
});

test('a cancelled run that waited for a thread ends with the thread it came to', { timeout: 20_000 }, async () => {
  await using opened = await openWith({ threads: 2, unresponsiveMs: 50 });
  const { engine } = opened;
  const spinning = startDrill(engine, { end: 'spin' });
  await begun(engine);
  // The second thread starts for the first of these; the last of them comes to the one that spins.
  const others = [startDrill(engine, {}), startDrill(engine, {}), startDrill(engine, {})];

  await Promise.all(others.map((run) => run.cancel()));

  for (const run of others) expect(['cancelled', 'completed']).toContain((await stopOf(run)).reason);
  expect(await stopOf(spinning)).toMatchObject({ code: 'worker_exited' });
});

test('a thread that works is not ended because this thread was busy', async () => {
  await using opened = await openWith({ threads: 1, unresponsiveMs: 50 });
  const { engine, pool } = opened;
  const neighbour = startDrill(engine, { delay_ms: 1_000 });
  await begun(engine);
  const [before] = pool.stats().threads;
  const caller = new AbortController();
  const run = startDrill(engine, { delay_ms: 1_000 }, { signal: caller.signal });
  await turn();
  caller.abort();
  block(300);

  expect(await stopOf(run)).toEqual({ reason: 'cancelled' });
  expect(await stopOf(neighbour)).toEqual({ reason: 'completed' });
  expect(pool.stats().threads[0]?.thread).toBe(before?.thread);
});

test('a thread that still starts is not ended for a cancel it cannot have heard', async () => {
  await using opened = await openWith({ threads: 1, unresponsiveMs: 50 });
  const [run, neighbour] = [startDrill(opened.engine, {}), startDrill(opened.engine, {})];
  await turn();

  await run.cancel();

  expect(await stopOf(run)).toEqual({ reason: 'cancelled' });
  expect(await stopOf(neighbour)).toEqual({ reason: 'completed' });
  expect(opened.log.lines.some(({ message }) => message.includes('did not answer'))).toBe(false);
});

test('a text for a run whose thread ends before it begins is answered where the run begins', async () => {
  await using stuck = await openStuck();
  const { spinning, waiting } = stuck;
  waiting.steer('and this');

  await spinning.cancel();

  const { messages, stop } = await waiting.outcome;
  expect(stop).toEqual({ reason: 'completed' });
  expect(JSON.stringify(messages)).toContain('and this');
});

test('a process does not end before it was told what its only run came to', { timeout: 30_000 }, async () => {
  const program = path.join(import.meta.dirname, '../fixtures/runs/lost-provider.ts');

  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program]);

  expect(stdout).toContain('exports no provider kind');
});
