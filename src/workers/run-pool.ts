import { availableParallelism } from 'node:os';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { EngineError, fromWireError, isEngineError, messageOf } from '../protocol/error.ts';
import type { LogFields, Logger } from '../protocol/deps.ts';
import { checkWhole } from '../protocol/option-check.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import { type ThreadEnds, watchCancel } from './cancel-watch.ts';
import { threadMark, workerEntry } from './entry.ts';
import type { RunResult } from './execute-run.ts';
import { createFairQueue } from './fair-queue.ts';
import { RunChannels } from './run-channels.ts';
import { RunLink, type ThreadRun, toThreadError } from './run-link.ts';
import { isLateError, isThreadHello, type RunNews, type RunThreadJob } from './run-port.ts';
import { OfferNumbers } from './kept-copies.ts';
import { chooseThread, tellSent } from './thread-choice.ts';

export interface RunPoolOptions {
  /** Threads at most; each starts when all others have a run. Default: the cores this process may use. */
  readonly threads?: number | undefined;
  /** Runs that share a thread; more wait. A dying thread ends all of its runs. Default 1 000. */
  readonly runsPerThread?: number | undefined;
  /** Heap of a thread in MiB; a thread that needs more dies. Default: what Node gives a thread. */
  readonly heapMb?: number | undefined;
  /** How long a thread may leave a hard cancel unread before it is ended, in milliseconds. Default 10 000. */
  readonly unresponsiveMs?: number | undefined;
  readonly logger: Logger;
}

export interface RunPoolStats {
  /** Runs in threads. */
  readonly running: number;
  /** Runs that wait for room in a thread. */
  readonly queued: number;
  readonly threads: readonly RunThreadStats[];
}

export interface RunThreadStats {
  /** The number Node gives the thread. */
  readonly thread: number;
  readonly runs: number;
  /** Share of the time its event loop was busy since the last time these figures were asked for, 0 to 1. */
  readonly utilization: number;
}

export interface RunPool {
  /**
   * @throws EngineError code `worker_exited` when the thread ended before the run did, `engine_closed` after `close`,
   * `uncloneable` for what no message can carry, or what the run rejected with
   */
  execute(run: ThreadRun): Promise<RunResult>;
  stats(): RunPoolStats;
  /** Ends the threads and with them what runs there. A second call joins the first. */
  close(): Promise<void>;
}

/** Measured: docs/adr, "how many runs share a thread". */
export const defaultRunsPerThread = 1_000;

/**
 * Threads start at the first run.
 * @throws EngineError `config` for a number of threads or runs that is no whole number from 1 on
 */
export function createRunPool(options: RunPoolOptions): RunPool {
  const threads = checkWhole('threads', options.threads, 1) ?? Math.max(1, availableParallelism());
  const capacity = threads * (checkWhole('runsPerThread', options.runsPerThread, 1) ?? defaultRunsPerThread);
  const waiting = createFairQueue<() => void>();
  const channels = new RunChannels();
  const offers = new OfferNumbers();
  const utilizations = new WeakMap<Worker, EventLoopUtilization>();
  let pool: Piscina<RunThreadJob, void> | undefined;
  let taken = 0;
  let closing: Promise<void> | undefined;

  function open(): Piscina<RunThreadJob, void> {
    const opened = new Piscina<RunThreadJob, void>({
      ...workerEntry('run-worker'),
      workerData: threadMark,
      minThreads: 1,
      maxThreads: threads,
      // why: how many runs a thread takes is counted here, so that waiting runs take turns
      concurrentTasksPerWorker: Number.MAX_SAFE_INTEGER,
      loadBalancer: chooseThread(threads),
      // why: with the default, an idle worker does not hear the ports that live in it
      atomics: 'disabled',
      idleTimeout: 10_000,
      recordTiming: false,
      ...(options.heapMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: options.heapMb } }),
    });
    // why: an unheard pool error would end the process; each run settles by its own promise
    opened.on('error', (error: unknown) => logError(`run thread: ${messageOf(error)}`));
    opened.on('message', (message: unknown) => {
      if (isThreadHello(message)) channels.open(message);
      else if (isLateError(message)) logError(`run thread: nobody waited for an error: ${message.lateError}`);
    });
    return opened;
  }

  /** Nobody catches what a logger throws here. */
  function logError(message: string, fields: LogFields = {}): void {
    try {
      options.logger.error(message, { ...target, ...fields });
    } catch {
      // there is no other place to tell it
    }
  }

  async function execute(run: ThreadRun): Promise<RunResult> {
    await takePlace(run);
    let unheard: readonly RunNews[] = [];
    try {
      for (let attempt = 1; ; attempt += 1) {
        if (closing !== undefined) throw closedError();
        const { link, result } = executeLinked(run, unheard);
        try {
          return await result;
        } catch (error) {
          // why: what never began has done nothing, so another thread may try; a file that cannot be loaded never will
          if (link.thread !== undefined || !isThreadError(error) || attempt >= maxAttempts) throw error;
          await sleep(retryDelayMs * 2 ** (attempt - 1));
          unheard = link.takeUnheard();
        }
      }
    } finally {
      leavePlace();
    }
  }

  /** Waits for room. A run that is told to end goes on at once: it has nothing left to do there. */
  async function takePlace(run: ThreadRun): Promise<void> {
    if (run.isChild || taken < capacity || closing !== undefined) {
      taken += 1;
      return;
    }
    const { cancellation } = run.control;
    await new Promise<void>((resolve) => {
      const start = (): void => {
        cancellation.unlisten(listener);
        taken += 1;
        resolve();
      };
      const goOn = (): void => {
        if (waiting.remove(run.tenant, start)) start();
      };
      const listener = { onCancelled: goOn };
      waiting.push(run.tenant, start);
      cancellation.listen(listener);
      run.onWaiting(goOn);
    });
    run.budget.restart();
  }

  function leavePlace(): void {
    taken -= 1;
    while (taken < capacity && waiting.size > 0) waiting.shift()?.();
  }

  function executeLinked(
    run: ThreadRun,
    unheard: readonly RunNews[],
  ): { readonly link: RunLink; readonly result: Promise<RunResult> } {
    let stopWatch = (): void => {};
    const link = new RunLink(run, {
      number: channels.nextNumber(),
      offers,
      unheard,
      onToldCancel(cancelled) {
        stopWatch = watchCancel(cancelled, Math.min(options.unresponsiveMs ?? 10_000, maxTimerMs), threadEnds);
      },
    });
    channels.add(link);
    const result = followLink(link).finally(() => {
      stopWatch();
      channels.remove(link);
      link.close();
    });
    return { link, result };
  }

  async function followLink(link: RunLink): Promise<RunResult> {
    pool ??= open();
    try {
      await pool.run(tellSent(link.job, link));
    } catch (error) {
      if (!link.hasResult) throw toThreadError(error); // else the thread ended after the run had
    }
    const answer = await link.ended; // the last report comes on the port, behind the last events
    if (link.failure !== undefined) throw link.failure as Error;
    if (answer === undefined) throw toThreadError(new Error('it said nothing of the run'));
    if (!answer.ok) throw fromWireError(answer.error);
    return link.accept(answer.result, answer.signedThinking);
  }

  const threadEnds: ThreadEnds = {
    isOpen: (thread) => channels.has(thread),
    end(thread) {
      const worker = pool?.threads.find(({ threadId }) => threadId === thread);
      if (worker === undefined) return;
      void worker.terminate(); // its end is heard by the pool
      logError('a run thread did not answer to a cancel and is ended with all of its runs', { thread });
    },
  };

  function utilizationOf(worker: Worker): number {
    const last = utilizations.get(worker);
    const now = worker.performance.eventLoopUtilization();
    utilizations.set(worker, now);
    return last === undefined ? now.utilization : worker.performance.eventLoopUtilization(now, last).utilization;
  }

  async function close(): Promise<void> {
    for (const start of waiting.drain()) start();
    const closed = pool;
    pool = undefined;
    await closed?.destroy();
    channels.close();
  }

  return {
    execute,
    stats() {
      const runs = new Map<number | undefined, number>();
      for (const { thread } of channels.links()) runs.set(thread, (runs.get(thread) ?? 0) + 1);
      return {
        running: taken,
        queued: waiting.size,
        threads: (pool?.threads ?? []).map((worker) => ({
          thread: worker.threadId,
          runs: runs.get(worker.threadId) ?? 0,
          utilization: Number(utilizationOf(worker).toFixed(3)),
        })),
      };
    },
    close: () => (closing ??= close()),
  };
}

/** A thread that cannot start, or ends before it begins a run (reliability WK4). */
const maxAttempts = 3;
const retryDelayMs = 100;

function isThreadError(error: unknown): boolean {
  return isEngineError(error) && error.code === 'worker_exited';
}

const target = { target: 'vibe::workers' };

function closedError(): EngineError {
  return new EngineError('other', 'the pool of run threads is closed', { code: 'engine_closed' });
}
