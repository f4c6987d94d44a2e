import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { silentLogger } from '../../src/protocol/deps.ts';
import type { CallId } from '../../src/protocol/ids.ts';
import { defaultPermissions } from '../../src/protocol/tool.ts';
import { createToolPool } from '../../src/workers/tool-pool.ts';
import { type Contender, measure } from '../measure.ts';
import { type Row, toRow } from '../report.ts';

const callsAtOnce = 64;
const callMs = 5;

/** 64 calls at once, each busy for about 5 ms: two threads against one. */
export async function measurePool(folder: string): Promise<readonly Row[]> {
  const module = pathToFileURL(path.join(folder, 'fixtures', 'spin-tool.mjs')).href;
  const pools = [2, 1].map((threads) => createToolPool({ logger: silentLogger, threads, minThreads: threads }));
  let steps = 1;
  const contenders = pools.map((pool): Contender => {
    const call = async (): Promise<void> => {
      const result = await pool.run({
        module,
        tool: 'spin',
        export: 'spin',
        input: { steps },
        context: {
          workspace_root: folder,
          permissions: defaultPermissions,
          agent: 'bench',
          call: '0123456789ab' as CallId,
        },
      });
      if (!result.ok) throw new Error('a call failed');
    };
    return {
      name: `the same on ${pool.maxThreads} thread`,
      operations: callsAtOnce,
      async run(count) {
        for (let index = 0; index < count; index += 1) await Promise.all(Array.from({ length: callsAtOnce }, call));
      },
    };
  });
  const [two, one] = contenders;
  if (two === undefined || one === undefined) throw new Error('a pool is missing');
  await one.run(3);
  const startedAt = performance.now();
  await one.run(1);
  steps = Math.max(1, Math.round((callMs * callsAtOnce) / (performance.now() - startedAt)));
  const [ours = [], reference = []] = await measure([two, one], {
    clock: 'wall',
    rounds: 24,
    sampleMs: 1,
    kept: 1 / 4,
  });
  for (const pool of pools) await pool.close();
  return [
    toRow({ name: 'pool.2-threads', unit: 'ms', goal: 0.556, ours, reference: { name: one.name, series: reference } }),
  ];
}
