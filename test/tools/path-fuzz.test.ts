import { expect, test } from 'vitest';
import { fuzzPaths } from '../../scripts/fuzz/paths-runs.ts';

// F4 of reliability section 14 in its bounded form; `npm run fuzz -- paths` runs the full size.
test.skipIf(process.platform === 'win32')(
  'PC1, PC3: no path string leads a tool out of a workspace whose directories are swapped for links',
  { timeout: 120_000 },
  async () => {
    const report = await fuzzPaths({ count: 250, seed: 5 });

    expect(report.violations).toEqual([]);
    expect(report.served).toBeGreaterThan(30);
    expect(report.swaps).toBeGreaterThan(10);
  },
);
