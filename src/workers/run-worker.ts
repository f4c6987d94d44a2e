import { parentPort } from 'node:worker_threads';
import { describeError } from '../protocol/error.ts';
import { executeInThread } from './run-thread.ts';
import type { LateError, RunThreadJob } from './run-port.ts';
import { openThreadSide } from './thread-side.ts';

// opened at load: reports wait in the port until the main thread has its end
const side = openThreadSide((hello) => parentPort?.postMessage(hello, [hello.port]));

/** Thread entry: one task is one run. */
export default async function runWorker(job: RunThreadJob): Promise<void> {
  await executeInThread(job, side); // what it came to travels on the port, behind all that happened before
}

if (parentPort !== null) {
  const port = parentPort;
  const report = (error: unknown): void => port.postMessage({ lateError: describeError(error) } satisfies LateError);
  // why: by default an error nobody waits for would end the thread, and with it all runs that have nothing to do with it
  process.on('uncaughtException', report);
  process.on('unhandledRejection', report);
}
