import { silentLogger } from '../../src/protocol/deps.ts';
import { createRandomIds } from '../../src/protocol/ids.ts';
import type { ToolTask, ToolTaskResult } from '../../src/protocol/thread.ts';
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
  const ids = createRandomIds();
  const task = (tool: string): ToolTask => ({
    module: toolUrl,
    tool,
    export: tool,
    input: { ms: size.callMs },
    context: { workspace_root: '/', permissions: defaultPermissions, agent: 'load', call: ids.call(), run: ids.run() },
  });
  try {
    await Promise.all(Array.from({ length: threads }, () => pool.run(task('busy'))));
    const counts = await runAll(pool, size, task);
    report.atMost('calls that did not settle', size.calls - counts.settled, 0);
    report.atMost('calls that failed though they harmed nobody', counts.wronged, 0);
    report.atMost('killers that were not told as crashed', counts.killers - counts.crashed, 0);
    report.note('threads started', pool.stats().started);
    report.atMost('added per call', counts.addedMs, 0.5, 'ms');
  } finally {
    await pool.close();
  }
}

interface Counts {
  settled: number;
  wronged: number;
  killers: number;
  crashed: number;
  /** How much longer all took than their work on all threads, over the number of calls. */
  addedMs: number;
}

async function runAll(pool: ToolPool, size: PoolLoadSize, task: (tool: string) => ToolTask): Promise<Counts> {
  const counts: Counts = { settled: 0, wronged: 0, killers: 0, crashed: 0, addedMs: 0 };
  let next = 0;
  let workedMs = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < size.calls) {
        next += 1;
        const isKiller = next % size.callsPerKill === 0;
        const result = await pool.run(task(isKiller ? 'dies' : 'busy'));
        counts.settled += 1;
        if (isKiller) {
          counts.killers += 1;
          if (hasCrashed(result)) counts.crashed += 1;
        } else if (result.ok) workedMs += Number(result.output);
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
