import { afterAll, describe } from 'vitest';
import type { EngineOptions } from '../../src/engine/options.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createRunPool } from '../../src/workers/run-pool.ts';
import { openTestEngine } from './support.ts';

/** Where a run may execute; what it does must not depend on it. */
export const placements = ['inline', 'thread'] as const;

/** Puts the runs of an engine where the test has them. */
export type Placed = Required<Pick<EngineOptions, 'runPool'>> & { readonly placement: (typeof placements)[number] };

/** Describes what holds wherever a run executes: its tests run with engines of either placement, made by `open`. */
export function describePlacements(name: string, tests: (open: typeof openTestEngine, placed: Placed) => void): void {
  const runPool = createRunPool({ logger: silentLogger, threads: 2 });
  afterAll(() => runPool.close());
  describe.each(placements)(`${name} (%s)`, (placement) => {
    const placed: Placed = { placement, runPool };
    tests((script, options) => openTestEngine(script, { ...placed, ...options }), placed);
  });
}
