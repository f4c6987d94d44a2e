import { availableParallelism } from 'node:os';
import type { Logger } from '../protocol/deps.ts';
import { EngineError, messageOf, toWireError } from '../protocol/error.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import type { ToolTask, ToolTaskResult } from '../protocol/thread.ts';
import { createToolAdmission, type ToolAdmissionOptions } from './tool-admission.ts';
import { ToolJob, type ToolRunOptions } from './tool-job.ts';
import { mainThreadHint } from './tool-thread.ts';
import {
  type CallReport,
  createToolThreads,
  maxStartAttempts,
  type PoolThread,
  type ToolThreadsOptions,
} from './tool-threads.ts';

export interface ToolPoolOptions extends ToolAdmissionOptions, Omit<ToolThreadsOptions, 'maxThreads'> {
  readonly logger: Logger;
  /** Threads that run calls, at most. Default `max(2, available cores - 1)` (agent-runtime 18.4). */
  readonly threads?: number | undefined;
  /** How long a cancelled call may take to end by itself, in milliseconds. Default 1 000 (agent-runtime 18.1). */
  readonly graceMs?: number | undefined;
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

/** Runs tool calls on worker threads, one call per thread. */
export interface ToolPool {
  readonly maxThreads: number;
  /** Rejects only with the reason it was cancelled for; everything else is a result. */
  run(task: ToolTask, options?: ToolRunOptions): Promise<ToolTaskResult>;
  stats(): ToolPoolStats;
  /** Ends all threads; waiting and running calls end with code `engine_closed`. A second call joins the first. */
  close(): Promise<void>;
}

export function createToolPool(options: ToolPoolOptions): ToolPool {
  const { logger } = options;
  const maxThreads = Math.max(1, options.threads ?? Math.max(2, availableParallelism() - 1));
  const queue = createToolAdmission(options);
  const threads = createToolThreads(
    { ...options, maxThreads },
    { onReport, onLost, onFree: pump, onStartsFailed: failWaiting },
  );
  const deps = { graceMs: options.graceMs ?? 1_000, onSettled };
  let lastId = 0;
  let completed = 0;
  let lost = 0;
  // why: open calls keep the process running; a timer can be told so at a fraction of what a thread costs to tell
  const keepAlive = setInterval(() => {}, maxTimerMs);
  keepAlive.unref();
  let open = 0;
  let closing: Promise<void> | undefined;

  function run(task: ToolTask, runOptions: ToolRunOptions = {}): Promise<ToolTaskResult> {
    const { cancel } = runOptions;
    if (cancel?.isCancelled === true) return Promise.reject(cancel.reason as Error);
    const refusal = closing === undefined ? queue.refuse(task) : closed();
    if (refusal !== undefined) return Promise.resolve(failure(refusal));
    lastId = (lastId % 0x7fff_ffff) + 1;
    open += 1;
    keepAlive.ref();
    const job = new ToolJob(lastId, task, runOptions, deps);
    // why: past the queue when nobody waits, which is the common case
    const thread = queue.mayPass(job) ? threads.free : undefined;
    if (thread === undefined) {
      queue.push(job);
      pump();
    } else assign(thread, job);
    return job.outcome;
  }

  function pump(): void {
    for (let thread = threads.free; thread !== undefined; thread = threads.free) {
      const job = queue.shift();
      if (job === undefined) break;
      assign(thread, job);
    }
    threads.want(queue.ready);
  }

  function assign(thread: PoolThread, job: ToolJob): void {
    try {
      thread.host.run(job.id, job.task);
    } catch (cause) {
      const message = `the input of tool \`${job.task.tool}\` cannot be sent to a thread: ${messageOf(cause)} ${mainThreadHint}`;
      job.settle(failure(new EngineError('tool', message, { code: 'uncloneable', cause })));
      return;
    }
    threads.occupy(thread, job);
    queue.onBegun(job);
    job.start(thread.host);
  }

  function onReport(thread: PoolThread, report: CallReport): void {
    const { job } = thread;
    switch (report.type) {
      case 'done':
        if (job?.id === report.id) job.settle(report.result);
        return;
      case 'progress':
        if (job?.id === report.id) job.options.onProgress?.(report.progress);
        return;
      case 'output':
        logger.debug(`tool output: ${report.text.trimEnd()}`, { ...target, call: report.call });
        return;
      case 'crashed':
        // As if the error had ended the thread, which is what Node does with one that nobody catches.
        threads.kill(thread);
        if (job?.id === report.id) job.settle(exited(1, report.reason));
        pump();
        return;
    }
  }

  function onLost(job: ToolJob, thread: PoolThread, code: number, reason: string | undefined): void {
    if (thread.host.hasBegun(job.id)) job.settle(exited(code, reason));
    else repeat(job, code, reason);
  }

  /** A thread ended between two calls: the one on its way there never began. */
  function repeat(job: ToolJob, code: number, reason: string | undefined): void {
    job.attempts += 1;
    if (job.attempts >= maxStartAttempts) {
      job.settle(exited(code, reason));
      return;
    }
    queue.onEnded(job);
    if (job.returnToQueue()) queue.putBack(job);
  }

  function failWaiting(error: EngineError): void {
    for (const job of queue.drain()) job.settle(failure(error));
  }

  function onSettled(job: ToolJob, kill: boolean): void {
    completed += 1;
    open -= 1;
    if (open === 0) keepAlive.unref();
    if (job.thread === undefined) {
      queue.remove(job);
      return;
    }
    queue.onEnded(job);
    const thread = threads.busyWith(job);
    if (kill || thread === undefined) lost += 1;
    if (thread !== undefined && kill) threads.kill(thread);
    else if (thread !== undefined) threads.release(thread);
    pump();
  }

  async function close(): Promise<void> {
    failWaiting(closed());
    const running = [...threads.jobs()];
    const ended = threads.close();
    for (const job of running) job.settle(failure(closed()));
    keepAlive.ref();
    await ended;
    clearInterval(keepAlive);
  }

  pump();
  return {
    maxThreads,
    run,
    stats: () => ({
      ...threads.stats(),
      queued: queue.waiting,
      completed,
      lost,
    }),
    close: () => (closing ??= close()),
  };
}

const target = { target: 'vibe::workers' };

function closed(): EngineError {
  return new EngineError('tool', 'the tool pool is closed', { code: 'engine_closed' });
}

function exited(code: number, reason: string | undefined): ToolTaskResult {
  const detail = reason === undefined ? '' : `: ${reason}`;
  return failure(new EngineError('tool', `worker exited with code ${code}${detail}`, { code: 'worker_exited' }));
}

function failure(error: EngineError): ToolTaskResult {
  return { ok: false, error: toWireError(error) };
}
