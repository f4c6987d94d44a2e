import { expect, test } from 'vitest';
import { fuzzFrames } from '../../scripts/fuzz/frames-runs.ts';

test.each([1, 2, 3])('damaged frames between valid ones cost no call its answer (F1), seed %i', async (seed) => {
  const report = await fuzzFrames({ count: 2_000, seed });

  expect(report.violations).toEqual([]);
  expect(report.calls).toBeGreaterThan(500);
  expect(report.frames).toBe(2_000);
});
