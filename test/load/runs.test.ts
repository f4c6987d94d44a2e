import { expect, test } from 'vitest';
import { loadClose } from '../../scripts/load/close.ts';
import { loadCancel } from '../../scripts/load/crowd-cancel.ts';
import { loadRuns } from '../../scripts/load/crowd-runs.ts';
import type { LoadReport } from '../../scripts/load/report.ts';

/** Figures that depend on how busy the machine is have no limit here; `npm run load` judges them. */
const timed = /delay|time|memory|until/;

/** The figures that are over their limit whatever the machine does. */
async function broken(load: (report: LoadReport) => Promise<void>): Promise<readonly string[]> {
  const found: string[] = [];
  let judged = 0;
  await load({
    note: () => {},
    atMost(name, value, limit) {
      if (timed.test(name)) return;
      judged += 1;
      if (!(value <= limit)) found.push(`${name}: ${value}`);
    },
  });
  expect(judged).toBeGreaterThanOrEqual(6);
  return found;
}

test('a crowd of runs completes, its events whole and in order, in both placements (L1)', async () => {
  expect(await broken((report) => loadRuns(report, 100))).toEqual([]);
}, 120_000);

test('a crowd of runs cancelled at once ends, and their processes with them, in both placements (L7)', async () => {
  expect(await broken((report) => loadCancel(report, 100))).toEqual([]);
}, 120_000);

test('an engine closed while runs and peers are busy leaves nothing, in both placements (L10)', async () => {
  expect(await broken((report) => loadClose(report, { runs: 20, peers: 2 }))).toEqual([]);
}, 120_000);
