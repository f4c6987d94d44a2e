import { expect, test } from 'vitest';
import { createPrintedReport } from '../../scripts/load/report.ts';
import { loadToolPool } from '../../scripts/load/tool-pool.ts';

test('of many short calls every one settles while threads are killed (L6)', { timeout: 120_000 }, async () => {
  const lines: string[] = [];
  const report = createPrintedReport('L6', (line) => lines.push(line));

  await loadToolPool(report, { calls: 400, callMs: 1, callsPerKill: 50 });

  // What a call costs is measured by `npm run load`, on a machine that does nothing else.
  expect(lines.filter((line) => line.endsWith('TOO MUCH') && !line.includes('added per call'))).toEqual([]);
  expect(lines).toContain('L6  calls that did not settle: 0 (at most 0) ok');
});
