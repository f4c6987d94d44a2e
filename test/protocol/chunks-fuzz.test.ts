import { expect, test } from 'vitest';
import { fuzzChunks } from '../../scripts/fuzz/chunks-runs.ts';

test.each([1, 2])('messages and event streams do not depend on how they are cut (F2), seed %i', (seed) => {
  const report = fuzzChunks({ count: 1_500, seed });

  expect(report.violations).toEqual([]);
  expect(report.splits).toBeGreaterThan(5_000);
});
