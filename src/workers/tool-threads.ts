import type { Logger } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import type { ToolThreadReport } from '../protocol/thread.ts';
import { workerEntry, type WorkerEntry } from './entry.ts';
import type { ToolJob } from './tool-job.ts';
import { startToolThread, type ToolThreadHost } from './tool-thread-host.ts';

export interface ToolThreadsOptions {
  readonly logger: Logger;
  /** Calls at once at most, one a thread. */
  readonly maxThreads: number;
  /** Threads kept also when idle, started at once. Default 1. */
  readonly minThreads?: number | undefined;
  /** An idle thread beyond those ends after this, in milliseconds. Default 30 000. */
  readonly idleMs?: number | undefined;
  /**
   * For this long after a call took its thread with it, in milliseconds, one thread more than are busy is kept ready, so that
   * the next such call holds up nobody: a start takes as long as many calls. Default 30 000; 0 = never.
   */
  readonly spareMs?: number | undefined;
  /** Heap of one thread in MiB. Default 256. */
  readonly heapMb?: number | undefined;
  /** A thread is replaced after this many calls. Default 100 000. */
  readonly callsPerThread?: number | undefined;
  /** The worker file. Default: this package's. */
  readonly entry?: WorkerEntry | undefined;
}

/** A thread of the pool. */
export interface PoolThread {
  readonly host: ToolThreadHost;
  state: 'starting' | 'idle' | 'busy' | 'ending';
  /** The call it runs; only a busy one has it. */
  job: ToolJob | undefined;
  calls: number;
  /** End it when its call is over. */
  isWorn: boolean;
  idleTimer: NodeJS.Timeout | undefined;
}

export interface ToolThreadsListener {
  /** What a thread says about its call. */
  onReport(thread: PoolThread, report: CallReport): void;
  /** The thread of this call is gone; `reason` is the error that ended it. */
  onLost(job: ToolJob, thread: PoolThread, code: number, reason: string | undefined): void;
  /** Another call may begin, or another thread may be started. */
  onFree(): void;
  /** No thread starts any more, for whoever waits for one. */
  onStartsFailed(error: EngineError): void;
}

/**
 * The threads of the tool pool: started when they are wanted, one call at a time, ended when idle, worn or harmed.
 *
 * Threads are started directly and not through piscina: a call that crashes, hangs or leaves an error behind must cost
 * itself only, and for that the pool needs what piscina does not give — a message to one thread (cancel), the exit code as
 * data, whether a lost call was ever begun, the end of one chosen thread, and a queue that survives a worker file that
 * fails to load. It also keeps a lone call below the cost of a bare piscina task.
 */
export interface ToolThreads {
  /** The idle thread that is to take the next call; absent when no further call may begin. */
  readonly free: PoolThread | undefined;
  /** A free thread was given this call. */
  occupy(thread: PoolThread, job: ToolJob): void;
  busyWith(job: ToolJob): PoolThread | undefined;
  /** Its call is over and left no harm. */
  release(thread: PoolThread): void;
  /** Ends a thread that is still busy with a call that is over, or harmed by one. */
  kill(thread: PoolThread): void;
  /** Starts threads so that this many calls can begin, as far as the limits allow. */
  want(calls: number): void;
  /** The calls that run now. */
  jobs(): readonly ToolJob[];
  stats(): ToolThreadsStats;
  /** Ends all threads, whatever they do. */
  close(): Promise<void>;
}

export interface ToolThreadsStats {
  readonly threads: number;
  /** Of each thread: share of the time its event loop was busy since these figures were last asked for, 0 to 1. */
  readonly utilization: readonly number[];
  readonly busy: number;
  /** Threads started so far. */
  readonly started: number;
}

/** What the owner of the threads has to judge; the rest is between them and their threads. */
export type CallReport = Exclude<ToolThreadReport, { readonly type: 'ready' | 'late_error' }>;

/** Starts of a thread in a row that may fail before the waiting calls fail with the cause (reliability WK4). */
export const maxStartAttempts = 3;
const startBackoffMs = 100;

export function createToolThreads(options: ToolThreadsOptions, listener: ToolThreadsListener): ToolThreads {
  const { logger, maxThreads } = options;
  const minThreads = Math.min(maxThreads, options.minThreads ?? 1);
  const threadOptions = {
    entry: options.entry ?? workerEntry('tool-worker'),
    resourceLimits: { maxOldGenerationSizeMb: options.heapMb ?? 256 },
    logger,
  };
  const all = new Map<ToolThreadHost, PoolThread>();
  /** Last one idle is taken first, so that surplus threads get old enough to end. */
  const idle: PoolThread[] = [];
  let busy = 0;
  let started = 0;
  let failedStarts = 0;
  /** No thread starts, so only a call that waits is worth another try. */
  let hasGivenUp = false;
  let retryTimer: NodeJS.Timeout | undefined;
  /** Until then the loss of another thread is likely, on the clock of `performance.now()`. */
  let spareUntil = 0;
  let isClosing = false;
  let onAllEnded: (() => void) | undefined;

  function want(calls: number): void {
    if (isClosing || retryTimer !== undefined || (hasGivenUp && calls === 0)) return;
    const spare = performance.now() < spareUntil ? 1 : 0;
    let coming = 0;
    let living = 0;
    for (const { state } of all.values()) {
      if (state === 'starting') coming += 1;
      if (state !== 'ending') living += 1;
    }
    const wanted = Math.max(calls + spare - idle.length - coming, minThreads - living);
    // After a failed start one alone shows whether the next does better.
    const allowed = failedStarts === 0 ? maxThreads + spare - living : 1 - coming;
    for (let more = Math.min(wanted, allowed); more > 0; more -= 1) start();
  }

  function start(): void {
    const host = startToolThread(threadOptions, {
      onReport: (report) => onReport(thread, report),
      onExit: (code, reason) => onExit(thread, code, reason),
    });
    const thread: PoolThread = {
      host,
      state: 'starting',
      job: undefined,
      calls: 0,
      isWorn: false,
      idleTimer: undefined,
    };
    started += 1;
    all.set(host, thread);
  }

  function occupy(thread: PoolThread, job: ToolJob): void {
    leave(thread, 'busy');
    thread.job = job;
    thread.calls += 1;
  }

  function release(thread: PoolThread): void {
    if (thread.isWorn) {
      kill(thread);
      return;
    }
    if (thread.calls >= (options.callsPerThread ?? 100_000)) {
      end(thread);
      return;
    }
    leave(thread, 'idle');
    idle.push(thread);
    if (all.size > minThreads) {
      thread.idleTimer = setTimeout(() => retire(thread), options.idleMs ?? 30_000);
      thread.idleTimer.unref();
    }
  }

  function retire(thread: PoolThread): void {
    if (thread.state === 'idle' && all.size > minThreads) end(thread);
  }

  function kill(thread: PoolThread): void {
    expectLoss();
    end(thread);
  }

  function expectLoss(): void {
    spareUntil = performance.now() + (options.spareMs ?? 30_000);
  }

  function end(thread: PoolThread): void {
    leave(thread, 'ending');
    thread.host.terminate();
  }

  function leave(thread: PoolThread, state: 'idle' | 'busy' | 'ending'): void {
    if (thread.state === 'busy') busy -= 1;
    if (thread.state === 'idle') {
      clearTimeout(thread.idleTimer);
      idle.splice(idle.lastIndexOf(thread), 1);
    }
    if (state === 'busy') busy += 1;
    thread.job = undefined;
    thread.state = state;
  }

  function onReport(thread: PoolThread, report: ToolThreadReport): void {
    switch (report.type) {
      case 'ready':
        failedStarts = 0;
        hasGivenUp = false;
        if (thread.state !== 'starting') return;
        release(thread);
        listener.onFree();
        return;
      case 'late_error': {
        const { call, tool, error } = report;
        logger.warn(`tool \`${tool ?? 'unknown'}\` left an error behind: ${error.message}`, { ...target, call, tool });
        thread.isWorn = true;
        if (thread.state !== 'idle') return;
        kill(thread);
        listener.onFree();
        return;
      }
      case 'done':
      case 'progress':
      case 'output':
      case 'crashed':
        listener.onReport(thread, report);
    }
  }

  function onExit(thread: PoolThread, code: number, reason: string | undefined): void {
    const { state, job } = thread;
    if (state === 'busy' || state === 'idle') expectLoss();
    leave(thread, 'ending');
    all.delete(thread.host);
    if (job !== undefined) listener.onLost(job, thread, code, reason);
    if (state === 'starting' && !isClosing) onStartFailed(code, reason);
    if (all.size === 0) onAllEnded?.();
    listener.onFree();
  }

  function onStartFailed(code: number, reason: string | undefined): void {
    failedStarts += 1;
    const cause = reason ?? `it exited with code ${code}`;
    logger.error(`a tool thread did not start: ${cause}`, { ...target, attempt: failedStarts });
    if (failedStarts >= maxStartAttempts) {
      failedStarts = 0;
      hasGivenUp = true;
      listener.onStartsFailed(
        new EngineError('tool', `no tool thread could be started: ${cause}`, { code: 'worker_exited' }),
      );
      return;
    }
    clearTimeout(retryTimer);
    retryTimer = setTimeout(
      () => {
        retryTimer = undefined;
        listener.onFree();
      },
      startBackoffMs * 2 ** (failedStarts - 1),
    );
    retryTimer.unref();
  }

  async function close(): Promise<void> {
    isClosing = true;
    clearTimeout(retryTimer);
    const ended = new Promise<void>((resolve) => (onAllEnded = resolve));
    for (const thread of all.values()) end(thread);
    if (all.size > 0) await ended;
  }

  return {
    get free() {
      return busy < maxThreads ? idle.at(-1) : undefined;
    },
    occupy,
    busyWith(job) {
      const thread = job.thread === undefined ? undefined : all.get(job.thread);
      return thread?.job === job ? thread : undefined;
    },
    release,
    kill,
    want,
    jobs: () => [...all.values()].flatMap(({ job }) => job ?? []),
    stats: () => ({
      threads: all.size,
      utilization: [...all.keys()].map((host) => Number(host.utilization().toFixed(3))),
      busy,
      started,
    }),
    close,
  };
}

const target = { target: 'vibe::workers' };
