import { createPiCrowd } from '../contenders/crowd-pi.ts';
import { createVibeBusCrowd } from '../contenders/crowd-vibe-bus.ts';
import type { CrowdContender } from '../contenders/crowd.ts';
import { measure, type Series } from '../measure.ts';
import { loadPi } from '../peers.ts';
import { type Row, toRow } from '../report.ts';
import { measureHeap } from '../heap.ts';

const crowd = { runs: 1_000, steps: 10, calls: 5 };
const heapLimitBytes = 8 * 1024;

/** A thousand runs at once: what a step of one costs, and what all of them hold while they wait. */
export async function measureRuns(folder: string): Promise<readonly Row[]> {
  const ours = await createVibeBusCrowd(crowd);
  const pi = createPiCrowd(await loadPi(folder), crowd);
  const memory = await measureMemory(ours, pi);
  const [oursNs = [], piNs = []] = await measure([ours, pi], { rounds: 8, sampleMs: 400 });
  const rows = [
    toRow({ name: 'runs', unit: 'us', goal: 1, ours: oursNs, reference: { name: pi.name, series: piNs } }),
    ...memory,
  ];
  await ours.close();
  return rows;
}

/** What a run holds that waits for its first answer, and one that waits for its sixth. */
async function measureMemory(ours: CrowdContender, pi: CrowdContender): Promise<readonly Row[]> {
  const half = crowd.steps / 2;
  const waiting: number[] = [];
  const oursHalf: number[] = [];
  const piHalf: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    waiting.push(await measureHeap(ours, crowd.runs, 0));
    oursHalf.push(await measureHeap(ours, crowd.runs, half));
    piHalf.push(await measureHeap(pi, crowd.runs, half));
  }
  const limit: Series = waiting.map(() => heapLimitBytes);
  return [
    toRow({ name: 'runs.heap', unit: 'KiB', goal: 1, ours: waiting, reference: { name: 'the limit', series: limit } }),
    toRow({ name: 'runs.growth', unit: 'KiB', goal: 1, ours: oursHalf, reference: { name: pi.name, series: piHalf } }),
  ];
}
