import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cancellation, type CancelSource } from '../../src/protocol/cancellation.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createRandomIds, type RunId } from '../../src/protocol/ids.ts';
import type { ToolTaskResult } from '../../src/protocol/thread.ts';
import { createToolPool, type ToolPool, type ToolPoolOptions } from '../../src/workers/tool-pool.ts';
import { taskOf } from './pool-fixture.ts';

const ids = createRandomIds();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'vibe-admission-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A pool whose calls wait until they are told to end, and the order in which they began. */
function openGated(options: Partial<ToolPoolOptions>): {
  pool: ToolPool;
  began: string[];
  start(name: string, run: RunId, options?: { maxAtOnce?: number; cancel?: CancelSource }): Promise<ToolTaskResult>;
  end(name: string): void;
} & AsyncDisposable {
  const pool = createToolPool({ logger: silentLogger, threads: 2, minThreads: 2, ...options });
  const began: string[] = [];
  const gate = mkdtempSync(join(folder, 'gate-'));
  return {
    pool,
    began,
    start: (name, run, { maxAtOnce, cancel } = {}) =>
      pool.run(
        {
          ...taskOf('hostile.ts', maxAtOnce === undefined ? 'waits' : 'waits_alone', { until: join(gate, name) }, run),
          export: 'waitsForFile',
        },
        { maxAtOnce, cancel, onStarted: () => began.push(name) },
      ),
    end: (name) => writeFileSync(join(gate, name), ''),
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

test('a tool has no more calls on threads than it may, and its waiting calls hold up no others', async () => {
  await using gated = openGated({});
  const run = ids.run();
  const alone = { maxAtOnce: 1 };

  const first = gated.start('first', run, alone);
  const second = gated.start('second', run, alone);
  const other = gated.start('other', run);
  gated.end('other');
  await other;
  expect(gated.began).toEqual(['first', 'other']);
  expect(gated.pool.stats()).toMatchObject({ busy: 1, queued: 1 });

  gated.end('first');
  gated.end('second');
  await Promise.all([first, second]);
  expect(gated.began).toEqual(['first', 'other', 'second']);
});

test('the limit of a tool is that of all runs together, which take turns at it', async () => {
  await using gated = openGated({});
  const [busy, quiet] = [ids.run(), ids.run()];
  const alone = { maxAtOnce: 1 };
  const names = ['a1', 'a2', 'a3', 'b1'];

  const calls = names.map((name) => gated.start(name, name.startsWith('a') ? busy : quiet, alone));
  for (const name of names) gated.end(name);
  await Promise.all(calls);

  expect(gated.began).toEqual(['a1', 'b1', 'a2', 'a3']);
});

test('a call that crashed or was cancelled while it waited for its tool leaves its place', async () => {
  await using gated = openGated({});
  const run = ids.run();
  const cancel = new Cancellation();
  const crash = gated.pool.run(taskOf('hostile.ts', 'exits', {}, run), { maxAtOnce: 1 });
  const afterCrash = gated.pool.run(taskOf('hostile.ts', 'exits', {}, run), { maxAtOnce: 1 });
  expect([await crash, await afterCrash]).toMatchObject([{ ok: false }, { ok: false }]);

  const first = gated.start('first', run, { maxAtOnce: 1 });
  const cancelled = gated.start('cancelled', run, { maxAtOnce: 1, cancel });
  const third = gated.start('third', run, { maxAtOnce: 1 });
  cancel.cancel(new Error('enough'));
  await expect(cancelled).rejects.toThrow('enough');
  gated.end('first');
  gated.end('third');
  await Promise.all([first, third]);

  expect(gated.began).toEqual(['first', 'third']);
  expect(gated.pool.stats()).toMatchObject({ busy: 0, queued: 0 });
});

test('a run has no more calls on threads than it may, also when a thread is idle', async () => {
  await using gated = openGated({ callsPerRun: 1 });
  const [busy, quiet] = [ids.run(), ids.run()];

  const first = gated.start('first', busy);
  const second = gated.start('second', busy);
  const other = gated.start('other', quiet);
  gated.end('other');
  await other;
  expect(gated.began).toEqual(['first', 'other']);

  gated.end('first');
  gated.end('second');
  await Promise.all([first, second]);
  expect(gated.began).toEqual(['first', 'other', 'second']);
});

test('a run fills its share of the queue only: calls of others still find room', async () => {
  await using gated = openGated({ threads: 1, minThreads: 1, maxQueue: 4 });
  const [busy, quiet] = [ids.run(), ids.run()];
  const overloaded = (reason: string): object => ({
    ok: false,
    error: { code: 'overloaded', message: `the tool pool is overloaded: ${reason}` },
  });

  const running = gated.start('first', busy);
  const waiting = ['a', 'b'].map((name) => gated.start(name, busy));
  // The thread is still starting, so the first call waits too.
  expect(await waiting[1]).toMatchObject(overloaded('2 calls of this run are waiting'));
  const others = ['c', 'd'].map((name) => gated.start(name, quiet));
  expect(await gated.start('e', ids.run())).toMatchObject(overloaded('4 calls are waiting'));

  for (const name of ['first', 'a', 'c', 'd']) gated.end(name);
  const results = await Promise.all([running, waiting[0], ...others]);
  expect(results.map((result) => result?.ok)).toEqual([true, true, true, true]);
});
