import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { calling, toolNamed, worker } from './support.ts';

const runs = 80;
const warmUp = 40;
/** Code that was compiled and tables of the engine take about 6 KiB a run; one run with its calls is more than 100. */
const limitKiB = 25;

const steps: readonly JsonObject[] = [
  ...Array.from({ length: 9 }, () => calling(['soon'], ['soon'], ['soon'], ['soon'], ['soon'])),
  { text: 'done' },
];

// What a young collection frees costs next to nothing; what it must keep, it copies twice and leaves for a full one.
test('nothing of a finished run and its calls outlives the young generation', async () => {
  const script = Array.from({ length: runs + warmUp }, () => steps).flat();
  const tools = [toolNamed('soon', () => Promise.resolve('fine'))];
  await using engine = await createEngine({ bare: true, provider: createScriptedProvider({ script }), tools });
  const collectYoung = toYoungCollector();

  const runOne = async (): Promise<void> => {
    await engine.run({ ...worker, tools: 'all' }, 'go').outcome;
    await sleep(1); // what follows the end of a run has its turn
    // twice, since what survives once is only moved within the young generation
    collectYoung();
    collectYoung();
  };
  for (let run = 0; run < warmUp; run += 1) await runOne();
  const before = oldKiB();
  for (let run = 0; run < runs; run += 1) await runOne();

  expect((oldKiB() - before) / runs).toBeLessThan(limitKiB);
});

function toYoungCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void;
  return () => gc({ type: 'minor' });
}

function oldKiB(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return (old?.space_used_size ?? 0) / 1024;
}
