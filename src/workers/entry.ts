import { isMainThread, Worker, workerData, type WorkerOptions } from 'node:worker_threads';

export interface WorkerEntry {
  /** File URL of the worker file. */
  readonly filename: string;
  /** Options for the thread's Node; absent when the file runs as it is. */
  readonly execArgv?: string[];
}

/**
 * Where a worker file beside this one lies and how it starts: as built JavaScript, or as TypeScript with a loader when this
 * file itself runs from source.
 */
export function workerEntry(name: string): WorkerEntry {
  const here = import.meta.url;
  const isSource = here.endsWith('.ts');
  const filename = new URL(`./${name}.${isSource ? 'ts' : 'js'}`, here).href;
  return isSource ? { filename, execArgv: preload() } : { filename };
}

/** Part of the data that each thread of an engine starts with. */
export const threadMark = { isEngineThread: true } as const;

/** Whether this is a thread that an engine started. */
export function isEngineThread(): boolean {
  return !isMainThread && typeof workerData === 'object' && workerData !== null && 'isEngineThread' in workerData;
}

export function startWorker(entry: WorkerEntry, options: WorkerOptions = {}): Worker {
  const { filename, execArgv } = entry;
  return new Worker(new URL(filename), { ...(execArgv === undefined ? {} : { execArgv }), ...options });
}

// why: `--import tsx` does not reach threads on Node 20; V8 flags of the process must not be passed on (Node refuses them)
function preload(): string[] {
  const code = `import { register } from ${JSON.stringify(import.meta.resolve('tsx/esm/api'))}; register();`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}
