import { executeInThread } from './run-thread.ts';
import type { RunThreadJob, RunThreadResult } from './run-port.ts';

/** Thread entry: one task is one run. */
export default async function runWorker(job: RunThreadJob): Promise<RunThreadResult> {
  return await executeInThread(job);
}
