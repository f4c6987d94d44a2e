import { describe, expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import type { EngineOptions, RunOptions } from '../../src/engine/options.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createRunPool } from '../../src/workers/run-pool.ts';
import { createDrillEngine, soldier, startDrill } from './drill.ts';

/** What a program without types may give, and what it is told. */
type Row = readonly [options: object, message: string];

const budgets: readonly Row[] = [
  [{ budget: { maxTokens: Number.NaN } }, 'option `budget.maxTokens` must be a number from 0 on, not NaN'],
  [{ budget: { maxCost: -1 } }, 'option `budget.maxCost` must be a number from 0 on, not -1'],
  [{ budget: { maxDurationMs: '5' } }, 'option `budget.maxDurationMs` must be a number from 0 on, not 5'],
];

describe('a value that would mean something else than it says is refused by name', () => {
  test.each<Row>([
    ...budgets,
    [{ placement: 'threads' }, 'option `placement` must be one of `inline`, `thread`, `auto`, not "threads"'],
    [{ whenBusy: 'drop' }, 'option `whenBusy` must be one of `queue`, `reject`, not "drop"'],
    [{ priority: Number.NaN }, 'option `priority` must be a number'],
    [{ runId: '' }, 'option `runId` must not be empty'],
    [{ maxParallelTools: 0 }, 'option `maxParallelTools` must be a whole number from 1 to 2147483647, not 0'],
  ])('of a run: %j', async (options, message) => {
    await using engine = await createDrillEngine();

    expect(() => startDrill(engine, {}, options as RunOptions)).toThrow(message);
    expect(engine.runs()).toEqual([]);
    await expect(engine.map(soldier, ['Go.'], options as RunOptions)).rejects.toThrow(message);
  });

  test.each<Row>([
    ...budgets,
    [{ placement: 'threads' }, 'option `placement` must be one of `inline`, `thread`, `auto`, not "threads"'],
    [{ runThreads: 0 }, 'option `runThreads` must be a whole number from 1 on, not 0'],
    [{ runsPerThread: 1.5 }, 'option `runsPerThread` must be a whole number from 1 on, not 1.5'],
    [{ toolThreads: -1 }, 'option `toolThreads` must be a whole number from 1 on, not -1'],
    [{ toolThreadsPerRun: 0 }, 'option `toolThreadsPerRun` must be a whole number from 1 on, not 0'],
    [{ closeGraceMs: Number.NaN }, 'option `closeGraceMs` must be a number from 0 on, not NaN'],
  ])('of an engine: %j', async (options, message) => {
    await expect(createEngine({ bare: true, ...(options as EngineOptions) })).rejects.toThrow(message);
  });

  test.each([{ threads: 0 }, { threads: Number.NaN }, { runsPerThread: 0.5 }])(
    'of a pool of threads: %j',
    (options) => {
      expect(() => createRunPool({ logger: silentLogger, ...options })).toThrow('must be a whole number from 1 on');
    },
  );
});

test('a budget may be without end, or nothing', async () => {
  await using engine = await createDrillEngine();

  const endless = startDrill(engine, {}, { budget: { maxTokens: Number.POSITIVE_INFINITY } });
  const nothing = startDrill(engine, {}, { budget: { maxTokens: 0 } });

  expect((await endless.outcome).stop).toEqual({ reason: 'completed' });
  expect((await nothing.outcome).stop).toEqual({ reason: 'cancelled', cause: 'budget_tokens' });
});
