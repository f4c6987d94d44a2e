import { Worker } from 'node:worker_threads';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Two threads that do the work of the busy kind and nothing else: what the machine gives. */
export interface RawThreads {
  /** The work, so many times on each of the first `threads`. */
  work(threads: number, times: number): Promise<void>;
  close(): Promise<void>;
}

/** @param folder the source folder of the benchmark */
export async function openRawThreads(folder: string, records: number): Promise<RawThreads> {
  const kinds = pathToFileURL(path.join(folder, 'fixtures', 'thread-kinds.mjs')).href;
  const workers = [1, 2].map(() => new Worker(bareWorker, { eval: true, workerData: { kinds, records } }));
  await Promise.all(workers.map(answerOf));
  return {
    async work(threads, times) {
      await Promise.all(
        workers.slice(0, threads).map((worker) => {
          const done = answerOf(worker);
          worker.postMessage(times);
          return done;
        }),
      );
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

function answerOf(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', () => {
      worker.off('error', reject);
      resolve();
    });
  });
}

const bareWorker = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.kinds).then(({ toRecords, work }) => {
    const text = toRecords(workerData.records);
    parentPort.on('message', (times) => {
      for (let index = 0; index < times; index += 1) work(text);
      parentPort.postMessage('done');
    });
    parentPort.postMessage('ready');
  });
`;
