import { availableParallelism } from 'node:os';
import type { Logger } from '../protocol/deps.ts';
import { EngineError, messageOf, toWireError } from '../protocol/error.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import type { ToolTask, ToolTaskResult, ToolThreadReport } from '../protocol/thread.ts';
import { workerEntry, type WorkerEntry } from './entry.ts';
import { createFairQueue } from './fair-queue.ts';
import { ToolJob, type ToolRunOptions } from './tool-job.ts';
import { startToolThread, type ToolThreadHost } from './tool-thread-host.ts';

export interface ToolPoolOptions {
  readonly logger: Logger;
  /** Threads at most. Default `max(2, available cores - 1)` (agent-runtime 18.4). */
  readonly threads?: number | undefined;
  /** Threads kept also when idle, started with the pool. Default 1. */
  readonly minThreads?: number | undefined;
  /** An idle thread beyond those ends after this, in milliseconds. Default 30 000. */
  readonly idleMs?: number | undefined;
  /** Default 1 000 (agent-runtime 18.1). */
  readonly graceMs?: number | undefined;
  /** Calls that may wait; more are refused with code `overloaded`. Default 10 000. */
  readonly maxQueue?: number | undefined;
  /** Heap of one thread in MiB. Default 256. */
  readonly heapMb?: number | undefined;
  /** A thread is replaced after this many calls. Default 100 000. */
  readonly callsPerThread?: number | undefined;
  /** The worker file. Default: this package's. */
  readonly entry?: WorkerEntry | undefined;
}

export interface ToolPoolStats {
  readonly threads: number;
  /** Of each thread: share of the time its event loop was busy since these figures were last asked for, 0 to 1. */
  readonly utilization: readonly number[];
  readonly busy: number;
  readonly queued: number;
  readonly completed: number;
  /** Calls that took their thread with them, by crash or by force. */
  readonly lost: number;
  /** Threads started so far. */
  readonly started: number;
}

/**
 * Runs tool calls on worker threads, one call per thread.
 *
 * Threads are started directly and not through piscina: a call that crashes, hangs or leaves an error behind must cost
 * itself only, and for that the pool needs what piscina does not give — a message to one thread (cancel), the exit code as
 * data, whether a lost call was ever begun, the end of one chosen thread, and a queue that survives a worker file that
 * fails to load. It also keeps a lone call below the cost of a bare piscina task.
 */
export interface ToolPool {
  readonly maxThreads: number;
  /** Rejects only with the signal's reason; everything else is a result. */
  run(task: ToolTask, options?: ToolRunOptions): Promise<ToolTaskResult>;
  stats(): ToolPoolStats;
  /** Ends all threads; waiting and running calls end with code `engine_closed`. A second call joins the first. */
  close(): Promise<void>;
}

/** Starts of a thread in a row that may fail before the waiting calls fail with the cause (reliability WK4). */
const maxStartAttempts = 3;
const startBackoffMs = 100;

interface Thread {
  readonly host: ToolThreadHost;
  state: 'starting' | 'idle' | 'busy' | 'ending';
  job: ToolJob | undefined;
  calls: number;
  /** End it when its call is over. */
  isWorn: boolean;
  idleTimer: NodeJS.Timeout | undefined;
}

export function createToolPool(options: ToolPoolOptions): ToolPool {
  const { logger } = options;
  const maxThreads = Math.max(1, options.threads ?? Math.max(2, availableParallelism() - 1));
  const minThreads = Math.min(maxThreads, options.minThreads ?? 1);
  const heapMb = options.heapMb ?? 256;
  const threadOptions = {
    entry: options.entry ?? workerEntry('tool-worker'),
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
    logger,
  };
  const queue = createFairQueue<ToolJob>();
  const threads = new Map<ToolThreadHost, Thread>();
  /** Last one idle is taken first, so that surplus threads get old enough to end. */
  const idle: Thread[] = [];
  const deps = { graceMs: options.graceMs ?? 1_000, onSettled };
  let lastId = 0;
  let busy = 0;
  let completed = 0;
  let lost = 0;
  let started = 0;
  let failedStarts = 0;
  let retryTimer: NodeJS.Timeout | undefined;
  // why: open calls keep the process running; a timer can be told so at a fraction of what a thread costs to tell
  const keepAlive = setInterval(() => {}, maxTimerMs);
  keepAlive.unref();
  let open = 0;
  let closing: Promise<void> | undefined;
  let onAllEnded: (() => void) | undefined;

  function pump(): void {
    while (queue.size > 0) {
      const thread = idle.pop();
      if (thread === undefined) break;
      const job = queue.shift();
      if (job !== undefined) assign(thread, job);
    }
    grow();
  }

  function grow(): void {
    if (closing !== undefined || retryTimer !== undefined) return;
    let coming = 0;
    let living = 0;
    for (const { state } of threads.values()) {
      if (state === 'starting') coming += 1;
      if (state !== 'ending') living += 1;
    }
    const wanted = Math.max(queue.size - coming, minThreads - living);
    for (let more = Math.min(wanted, maxThreads - living); more > 0; more -= 1) startThread();
  }

  function startThread(): void {
    const listener = {
      onReport: (report: ToolThreadReport) => onReport(thread, report),
      onExit: (code: number, reason: string | undefined) => onExit(thread, code, reason),
    };
    const host = startToolThread(threadOptions, listener);
    const thread: Thread = { host, state: 'starting', job: undefined, calls: 0, isWorn: false, idleTimer: undefined };
    started += 1;
    threads.set(host, thread);
  }

  function assign(thread: Thread, job: ToolJob): void {
    clearTimeout(thread.idleTimer);
    try {
      thread.host.run(job.id, job.task);
    } catch (cause) {
      idle.push(thread);
      const message = `the input of tool \`${job.task.tool}\` cannot be sent to a thread: ${messageOf(cause)}`;
      job.settle(failure(new EngineError('tool', message, { code: 'uncloneable', cause })));
      return;
    }
    thread.state = 'busy';
    thread.job = job;
    thread.calls += 1;
    busy += 1;
    job.start(thread.host);
  }

  function release(thread: Thread): void {
    thread.job = undefined;
    if (thread.isWorn || thread.calls >= (options.callsPerThread ?? 100_000)) {
      end(thread);
      return;
    }
    thread.state = 'idle';
    idle.push(thread);
    if (threads.size > minThreads) {
      thread.idleTimer = setTimeout(() => retire(thread), options.idleMs ?? 30_000);
      thread.idleTimer.unref();
    }
  }

  function retire(thread: Thread): void {
    if (thread.state === 'idle' && threads.size > minThreads) end(thread);
  }

  function end(thread: Thread): void {
    clearTimeout(thread.idleTimer);
    const at = idle.indexOf(thread);
    if (at >= 0) idle.splice(at, 1);
    thread.state = 'ending';
    thread.host.terminate();
  }

  function onReport(thread: Thread, report: ToolThreadReport): void {
    switch (report.type) {
      case 'ready':
        failedStarts = 0;
        if (thread.state === 'starting') release(thread);
        break;
      case 'done':
        if (thread.job?.id === report.id) thread.job.settle(report.result);
        return;
      case 'progress':
        if (thread.job?.id === report.id) thread.job.options.onProgress?.(report.progress);
        return;
      case 'output':
        logger.debug(`tool output: ${report.text.trimEnd()}`, { ...target, call: report.call });
        return;
      case 'crashed':
        // As if the error had ended the thread, which is what Node does with one that nobody catches.
        if (thread.job?.id === report.id) lose(thread, thread.job, 1, report.reason);
        end(thread);
        break;
      case 'late_error': {
        const { call, tool, error } = report;
        logger.warn(`tool \`${tool ?? 'unknown'}\` left an error behind: ${error.message}`, { ...target, call, tool });
        thread.isWorn = true;
        if (thread.state === 'idle') end(thread);
        break;
      }
    }
    pump();
  }

  function onExit(thread: Thread, code: number, reason: string | undefined): void {
    const wasStarting = thread.state === 'starting';
    if (thread.state === 'idle') end(thread);
    threads.delete(thread.host);
    const { job } = thread;
    if (job !== undefined) {
      if (thread.host.hasBegun(job.id)) lose(thread, job, code, reason);
      else repeat(thread, job, code, reason);
    }
    if (wasStarting && closing === undefined) onStartFailed(code, reason);
    if (threads.size === 0) onAllEnded?.();
    pump();
  }

  function lose(thread: Thread, job: ToolJob, code: number, reason: string | undefined): void {
    thread.job = undefined;
    const detail = reason === undefined ? '' : `: ${reason}`;
    job.settle(failure(new EngineError('tool', `worker exited with code ${code}${detail}`, { code: 'worker_exited' })));
  }

  /** A thread ended between two calls: the one on its way there never began. */
  function repeat(thread: Thread, job: ToolJob, code: number, reason: string | undefined): void {
    job.attempts += 1;
    if (job.attempts >= maxStartAttempts || closing !== undefined) {
      lose(thread, job, code, reason);
      return;
    }
    busy -= 1;
    thread.job = undefined;
    if (job.returnToQueue()) queue.unshift(job);
  }

  function onStartFailed(code: number, reason: string | undefined): void {
    failedStarts += 1;
    const cause = reason ?? `it exited with code ${code}`;
    logger.error(`a tool thread did not start: ${cause}`, { ...target, attempt: failedStarts });
    if (failedStarts >= maxStartAttempts) {
      failedStarts = 0;
      const error = new EngineError('tool', `no tool thread could be started: ${cause}`, { code: 'worker_exited' });
      for (const job of queue.drain()) job.settle(failure(error));
      // A pool nobody waits for does not try again by itself.
      return;
    }
    retryTimer = setTimeout(
      () => {
        retryTimer = undefined;
        pump();
      },
      startBackoffMs * 2 ** (failedStarts - 1),
    );
    retryTimer.unref();
  }

  function onSettled(job: ToolJob, kill: boolean): void {
    completed += 1;
    open -= 1;
    if (open === 0) keepAlive.unref();
    if (job.thread === undefined) {
      queue.remove(ownerOf(job.task), job);
      return;
    }
    busy -= 1;
    const thread = threads.get(job.thread);
    if (kill || thread?.job === undefined) lost += 1;
    if (thread !== undefined) freeFrom(job, thread, kill);
    pump();
  }

  function freeFrom(job: ToolJob, thread: Thread, kill: boolean): void {
    if (kill) {
      thread.job = undefined;
      end(thread);
    } else if (thread.job === job) release(thread);
  }

  function run(task: ToolTask, runOptions: ToolRunOptions = {}): Promise<ToolTaskResult> {
    if (runOptions.signal?.aborted === true) return Promise.reject(runOptions.signal.reason as Error);
    if (closing !== undefined) return Promise.resolve(failure(closed()));
    const maxQueue = options.maxQueue ?? 10_000;
    if (queue.size >= maxQueue) {
      const message = `the tool pool is overloaded: ${maxQueue} calls are waiting`;
      return Promise.resolve(failure(new EngineError('tool', message, { code: 'overloaded' })));
    }
    lastId = (lastId % 0x7fff_ffff) + 1;
    open += 1;
    keepAlive.ref();
    const job = new ToolJob(lastId, task, runOptions, deps);
    // why: past the queue when nobody waits, which is the common case
    const thread = queue.size === 0 ? idle.pop() : undefined;
    if (thread === undefined) {
      queue.push(ownerOf(task), job);
      grow();
    } else assign(thread, job);
    return job.outcome;
  }

  async function close(): Promise<void> {
    clearTimeout(retryTimer);
    for (const job of queue.drain()) job.settle(failure(closed()));
    const ended = new Promise<void>((resolve) => (onAllEnded = resolve));
    for (const thread of threads.values()) {
      const { job } = thread;
      thread.job = undefined;
      end(thread);
      job?.settle(failure(closed()));
    }
    keepAlive.ref();
    if (threads.size > 0) await ended;
    clearInterval(keepAlive);
  }

  grow();
  return {
    maxThreads,
    run,
    stats: () => ({
      threads: threads.size,
      utilization: [...threads.keys()].map((host) => Number(host.utilization().toFixed(3))),
      busy,
      queued: queue.size,
      completed,
      lost,
      started,
    }),
    close: () => (closing ??= close()),
  };
}

const target = { target: 'vibe::workers' };

/** Calls of one run take turns with those of other runs (reliability WK11). */
function ownerOf(task: ToolTask): string {
  return task.context.run ?? '';
}

function closed(): EngineError {
  return new EngineError('tool', 'the tool pool is closed', { code: 'engine_closed' });
}

function failure(error: EngineError): ToolTaskResult {
  return { ok: false, error: toWireError(error) };
}
