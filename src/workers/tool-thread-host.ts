import type { EventLoopUtilization } from 'node:perf_hooks';
import type { ResourceLimits } from 'node:worker_threads';
import type { Logger } from '../protocol/deps.ts';
import { messageOf } from '../protocol/error.ts';
import { type ToolTask, toolThreadFlagCount, toolThreadFlags, type ToolThreadReport } from '../protocol/thread.ts';
import { startWorker, threadMark, type WorkerEntry } from './entry.ts';

/** What the pool hears of a thread. */
export interface ToolThreadListener {
  onReport(report: ToolThreadReport): void;
  /** Once; nothing follows. `reason` is the error that ended it, absent when it ended by itself. */
  onExit(code: number, reason: string | undefined): void;
}

/** The pool's side of one thread. */
export interface ToolThreadHost {
  /** The number Node gives the thread. */
  readonly id: number;
  /** @throws DataCloneError when the input cannot be cloned; the thread has then seen nothing */
  run(id: number, task: ToolTask): void;
  /** Tells the running call to end, also when it is too busy to hear messages. */
  cancel(id: number, reason: string): void;
  /** Whether the thread has begun this call. */
  hasBegun(id: number): boolean;
  /** Grows while the running call shows signs of life. */
  beats(): number;
  /** Share of the time its event loop was busy since it was last asked, 0 to 1. */
  utilization(): number;
  terminate(): void;
}

export interface ToolThreadOptions {
  readonly entry: WorkerEntry;
  readonly resourceLimits: ResourceLimits;
  readonly logger: Logger;
}

/** Starts a tool thread; it reports `ready` when it can take calls. */
export function startToolThread(options: ToolThreadOptions, listener: ToolThreadListener): ToolThreadHost {
  const flags = new Int32Array(new SharedArrayBuffer(toolThreadFlagCount * Int32Array.BYTES_PER_ELEMENT));
  const worker = startWorker(options.entry, {
    workerData: { ...threadMark, flags },
    resourceLimits: options.resourceLimits,
  });
  let reason: string | undefined;
  let loop: EventLoopUtilization | undefined;
  // why: open calls keep the process running, not threads (see the pool); a thread that comes up holds it once more
  worker.unref();
  worker.once('online', () => worker.unref());
  worker.on('message', (report: ToolThreadReport) => listener.onReport(report));
  worker.on('messageerror', (error) => options.logger.error(`tool thread: ${messageOf(error)}`, target));
  worker.on('error', (error) => (reason ??= messageOf(error)));
  worker.once('exit', (code) => listener.onExit(code, reason));
  return {
    id: worker.threadId,
    run(id, task) {
      worker.postMessage({ type: 'run', id, task });
      Atomics.add(flags, toolThreadFlags.posted, 1);
      Atomics.notify(flags, toolThreadFlags.posted);
    },
    cancel(id, text) {
      Atomics.store(flags, toolThreadFlags.cancelled, id);
      worker.postMessage({ type: 'cancel', id, reason: text });
    },
    hasBegun: (id) => Atomics.load(flags, toolThreadFlags.begun) === id,
    beats: () => Atomics.load(flags, toolThreadFlags.beats),
    utilization() {
      const before = loop;
      loop = worker.performance.eventLoopUtilization();
      return before === undefined
        ? loop.utilization
        : worker.performance.eventLoopUtilization(loop, before).utilization;
    },
    // A thread that cannot be ended reports no exit either; there is nobody left to tell.
    terminate: () => void worker.terminate().catch(() => {}),
  };
}

const target = { target: 'vibe::workers' };
