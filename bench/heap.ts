import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CrowdContender } from './contenders/crowd.ts';

/** Bytes of heap that each run of a crowd holds while all of them wait for the answer of one step. */
export async function measureHeap(contender: CrowdContender, runs: number, step: number): Promise<number> {
  const { gate } = contender;
  await contender.run(1); // what only the first crowd makes is not what a run holds
  const before = await heapInUse();
  gate.shut(step);
  const ended = contender.run(1);
  await gate.arrived(runs);
  const after = await heapInUse();
  gate.open();
  await ended;
  return (after - before) / runs;
}

/** The heap of this thread without what nobody holds any more. */
export async function heapInUse(): Promise<number> {
  // why: finalizers and promise reactions of one collection let go of more
  for (let round = 0; round < 3; round += 1) {
    collect();
    await new Promise(setImmediate);
  }
  return process.memoryUsage().heapUsed;
}

function collect(): void {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  if (typeof gc === 'function') gc();
}
