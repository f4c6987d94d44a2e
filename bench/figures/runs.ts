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
  // why: a collection may be due to what the contender before has left, so a sample is several crowds
  const [oursNs = [], piNs = []] = await measure([ours, pi], { rounds: 6, sampleMs: 2_000 });
  const rows = [
    toRow({ name: 'runs', unit: 'us', goal: 1, ours: oursNs, reference: { name: pi.name, series: piNs } }),
    ...memory,
  ];
  await ours.close();
  return rows;
}

/** What a run holds that waits for its first answer, what five steps add to it, and what it holds then. */
async function measureMemory(ours: CrowdContender, pi: CrowdContender): Promise<readonly Row[]> {
  const half = crowd.steps / 2;
  const oursHeld: Held[] = [];
  const piHeld: Held[] = [];
  for (let round = 0; round < 3; round += 1) {
    oursHeld.push(await measureHeld(ours, half));
    piHeld.push(await measureHeld(pi, half));
  }
  const first = ({ atFirst }: Held): number => atFirst;
  const added = ({ atFirst, atHalf }: Held): number => atHalf - atFirst;
  const held = ({ atHalf }: Held): number => atHalf;
  const row = (name: string, goal: number | null, of: (held: Held) => number): Row =>
    toRow({
      name,
      unit: 'KiB',
      goal,
      ours: oursHeld.map(of),
      reference: { name: pi.name, series: piHeld.map(of) },
    });
  const limit: Series = oursHeld.map(() => heapLimitBytes);
  return [
    toRow({
      name: 'runs.heap',
      unit: 'KiB',
      goal: 1,
      ours: oursHeld.map(first),
      reference: { name: 'the limit', series: limit },
    }),
    row('runs.growth', 1, added),
    row('runs.held', null, held),
  ];
}

interface Held {
  readonly atFirst: number;
  readonly atHalf: number;
}

async function measureHeld(contender: CrowdContender, half: number): Promise<Held> {
  return {
    atFirst: await measureHeap(contender, crowd.runs, 0),
    atHalf: await measureHeap(contender, crowd.runs, half),
  };
}
