import { Piscina } from 'piscina';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createRandomIds } from '../../src/protocol/ids.ts';
import type { ToolTaskResult } from '../../src/protocol/thread.ts';
import { defaultPermissions } from '../../src/protocol/tool.ts';
import { createToolPool, type ToolPool } from '../../src/workers/tool-pool.ts';
import type { LoadReport } from './report.ts';

export interface PoolLoadSize {
  readonly calls: number;
  /** Of one call on its thread, in milliseconds. */
  readonly callMs: number;
  /** One call in so many ends its thread. */
  readonly callsPerKill: number;
}

const toolUrl = new URL('./pool-tools.mjs', import.meta.url).href;
const threads = 2;
const atOnce = 16;
const fullSize: PoolLoadSize = { calls: 5_000, callMs: 1, callsPerKill: 100 };

/** L6: short calls through the pool while threads are killed; every call settles, none but the killers fails. */
export async function loadToolPool(report: LoadReport, size: PoolLoadSize = fullSize): Promise<void> {
  const pool = createToolPool({ logger: silentLogger, threads, minThreads: threads });
  try {
    const counts = await runAll(toOurs(pool, size), size);
    report.atMost('calls that did not settle', size.calls - counts.settled, 0);
    report.atMost('calls that failed though they harmed nobody', counts.wronged, 0);
    report.atMost('killers that were not told as crashed', counts.killers - counts.crashed, 0);
    report.note('threads started', pool.stats().started);
    report.atMost('added per call', counts.addedMs, 0.5, 'ms');
  } finally {
    await pool.close();
  }
  // for comparison: most of the figure is what threads cost Node to start, on a machine whose cores are busy with the calls
  const bare = new Piscina({ filename: toolUrl, minThreads: threads, maxThreads: threads, execArgv: [] });
  bare.on('error', () => {});
  try {
    report.note('added per call by a bare piscina pool', (await runAll(toBare(bare, size), size)).addedMs, 'ms');
  } finally {
    await bare.destroy();
  }
}

/** One call of a tool of `pool-tools.mjs`: how long it worked, in milliseconds, or how it failed. */
type Call = (tool: 'busy' | 'dies') => Promise<number | 'crashed' | 'failed'>;

function toOurs(pool: ToolPool, { callMs }: PoolLoadSize): Call {
  const ids = createRandomIds();
  return async (tool) => {
    const result = await pool.run({
      module: toolUrl,
      tool,
      export: tool,
      input: { ms: callMs },
      context: {
        workspace_root: '/',
        permissions: defaultPermissions,
        agent: 'load',
        call: ids.call(),
        run: ids.run(),
      },
    });
    if (result.ok) return Number(result.output);
    return hasCrashed(result) ? 'crashed' : 'failed';
  };
}

function toBare(pool: Piscina, { callMs }: PoolLoadSize): Call {
  return async (name) => {
    try {
      return Number(await pool.run({ ms: callMs }, { name }));
    } catch {
      return 'crashed';
    }
  };
}

interface Counts {
  settled: number;
  wronged: number;
  killers: number;
  crashed: number;
  /** How much longer all took than their work on all threads, over the number of calls. */
  addedMs: number;
}

async function runAll(call: Call, size: PoolLoadSize): Promise<Counts> {
  await Promise.all(Array.from({ length: threads }, () => call('busy')));
  const counts: Counts = { settled: 0, wronged: 0, killers: 0, crashed: 0, addedMs: 0 };
  let next = 0;
  let workedMs = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < size.calls) {
        next += 1;
        const isKiller = next % size.callsPerKill === 0;
        const outcome = await call(isKiller ? 'dies' : 'busy');
        counts.settled += 1;
        if (isKiller) {
          counts.killers += 1;
          if (outcome === 'crashed') counts.crashed += 1;
        } else if (typeof outcome === 'number') workedMs += outcome;
        else counts.wronged += 1;
      }
    }),
  );
  const tookMs = performance.now() - startedAt;
  counts.addedMs = Math.max(0, tookMs - workedMs / threads) / size.calls;
  return counts;
}

function hasCrashed(result: ToolTaskResult): boolean {
  return !result.ok && 'error' in result && result.error.code === 'worker_exited';
}
