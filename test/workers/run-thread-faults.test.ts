import { execFile } from 'node:child_process';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/protocol/deps.ts';
import { echo, startDrill } from '../engine/drill.ts';
import { begun, openWith, stopOf } from './run-threads.ts';

/** Keeps this thread from reading messages. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
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

test('a cancel does not count as heard because of what the run said before', async () => {
  await using opened = await openWith({ threads: 1, unresponsiveMs: 50 });
  const { engine } = opened;
  await stopOf(startDrill(engine, {})); // the thread is there
  const caller = new AbortController();
  const run = startDrill(engine, { end: 'spin' }, { signal: caller.signal });
  await turn();
  block(300); // it has begun and spins, and nothing it said is read yet

  caller.abort();

  expect(await stopOf(run)).toEqual({ reason: 'cancelled' });
});

test('a cancelled run that its thread never began ends with the thread', async () => {
  await using opened = await openWith({ threads: 1, unresponsiveMs: 50 });
  const { engine } = opened;
  const spinning = startDrill(engine, { end: 'spin' });
  await begun(engine);
  const waiting = startDrill(engine, {});
  await turn();

  await waiting.cancel();

  expect(await stopOf(waiting)).toEqual({ reason: 'cancelled' });
  expect(await stopOf(spinning)).toMatchObject({ code: 'worker_exited' });
});

test('a text for a run whose thread ends before it begins is answered where the run begins', async () => {
  await using opened = await openWith({ threads: 1, unresponsiveMs: 50 });
  const { engine } = opened;
  const spinning = startDrill(engine, { end: 'spin' });
  await begun(engine);
  const run = startDrill(engine, {});
  await turn();
  run.steer('and this');

  await spinning.cancel();

  const { messages, stop } = await run.outcome;
  expect(stop).toEqual({ reason: 'completed' });
  expect(JSON.stringify(messages)).toContain('and this');
});

test('a process does not end before it was told what its only run came to', { timeout: 30_000 }, async () => {
  const program = path.join(import.meta.dirname, '../fixtures/runs/lost-provider.ts');

  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program]);

  expect(stdout).toContain('exports no provider kind');
});
