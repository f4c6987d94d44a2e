import { expect, test } from 'vitest';
import { fuzzShell } from '../../scripts/fuzz/shell-runs.ts';

// F3 of reliability section 14 in its bounded form; `npm run fuzz -- shell` runs the full size.
test.skipIf(process.platform === 'win32')(
  'real shells start no program that the policy did not list, and create no file outside',
  { timeout: 300_000 },
  async () => {
    const report = await fuzzShell({ count: 300, seed: 20_250_101 });

    expect(report.violations).toEqual([]);
    expect(report.allowed).toBeGreaterThan(50);
    expect(report.started).toBeGreaterThan(50);
  },
);
