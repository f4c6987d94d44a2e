import { EngineError, toWireError } from '../protocol/error.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import type { ToolTask, ToolTaskResult } from '../protocol/thread.ts';
import type { ToolProgress, ToolWorker } from '../protocol/tool.ts';
import type { ToolThreadHost } from './tool-thread-host.ts';

/** Data of the error of a call that was ended because it showed no signs of life; its message is the content to show. */
export const stalled = 'stalled';

export interface ToolRunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Limit in milliseconds from the moment a thread takes the call; waiting does not count. 0 or absent = none. */
  readonly timeoutMs?: number | undefined;
  /** How long a cancelled or timed-out call may go on before its thread is ended, in milliseconds. */
  readonly graceMs?: number | undefined;
  readonly stall?: ToolWorker['stall'];
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** A thread took the call; its number. */
  onStarted?: ((thread: number) => void) | undefined;
}

/** One call in the pool, from its arrival to its single end. */
export interface ToolJob {
  readonly id: number;
  readonly task: ToolTask;
  readonly options: ToolRunOptions;
  /** Threads that ended before they began it. */
  attempts: number;
  readonly isSettled: boolean;
  /** Begins to watch over the call on its thread. */
  start(thread: ToolThreadHost): void;
  /** Its thread ended before the call began. @returns whether it waits for another one; else it is over */
  returnToQueue(): boolean;
  settle(result: ToolTaskResult): void;
  /** Ends the call at once; a running one by asking it first. */
  abort(reason: unknown): void;
}

export interface ToolJobDeps {
  readonly graceMs: number;
  readonly resolve: (result: ToolTaskResult) => void;
  readonly reject: (reason: unknown) => void;
  /** The call is over; `kill` when its thread is still busy with it. */
  onSettled(job: ToolJob, kill: boolean): void;
}

export function createToolJob(id: number, task: ToolTask, options: ToolRunOptions, deps: ToolJobDeps): ToolJob {
  let thread: ToolThreadHost | undefined;
  let isSettled = false;
  let limitTimer: NodeJS.Timeout | undefined;
  let graceTimer: NodeJS.Timeout | undefined;
  let stallTimer: NodeJS.Timeout | undefined;
  /** Set when the call was told to end: how it ends unless it ends by itself in time. */
  let ending: (() => void) | undefined;

  const onAbort = (): void => job.abort(options.signal?.reason);

  function stopTimers(): void {
    clearTimeout(limitTimer);
    clearTimeout(graceTimer);
    clearInterval(stallTimer);
  }

  function finish(kill: boolean, settle: () => void): void {
    if (isSettled) return;
    isSettled = true;
    stopTimers();
    options.signal?.removeEventListener('abort', onAbort);
    settle();
    deps.onSettled(job, kill);
  }

  /** Asks the call to end and ends its thread when it does not. */
  function tellToEnd(on: ToolThreadHost, reason: string, end: () => void): void {
    if (ending !== undefined) return;
    ending = end;
    on.cancel(id, reason);
    graceTimer = setTimeout(() => finish(true, end), options.graceMs ?? deps.graceMs);
  }

  function watchForStall(on: ToolThreadHost, stall: NonNullable<ToolWorker['stall']>): void {
    const checks = 10;
    let seen = on.beats();
    let silent = 0;
    stallTimer = setInterval(() => {
      const beats = on.beats();
      silent = beats === seen ? silent + 1 : 0;
      seen = beats;
      if (silent < checks) return;
      const error = toWireError(new EngineError('tool', stall.content, { code: 'timeout', data: stalled }));
      finish(true, () => deps.resolve({ ok: false, error }));
    }, stall.after_ms / checks);
  }

  const job: ToolJob = {
    id,
    task,
    options,
    attempts: 0,
    get isSettled() {
      return isSettled;
    },
    start(on) {
      thread = on;
      const { timeoutMs = 0, stall } = options;
      if (timeoutMs > 0) {
        const message = `timed out after ${timeoutMs} ms and was stopped`;
        const error = toWireError(new EngineError('tool', message, { code: 'timeout' }));
        const end = (): void => deps.resolve({ ok: false, error });
        limitTimer = setTimeout(() => tellToEnd(on, message, end), Math.min(timeoutMs, maxTimerMs));
      }
      if (stall !== undefined) watchForStall(on, stall);
      options.onStarted?.(on.id);
    },
    returnToQueue() {
      stopTimers();
      thread = undefined;
      if (ending !== undefined) finish(false, ending);
      return !isSettled;
    },
    settle(result) {
      const isAborted = ending !== undefined && !result.ok && 'error' in result && result.error.name === 'AbortError';
      finish(false, isAborted && ending !== undefined ? ending : () => deps.resolve(result));
    },
    abort(reason) {
      const end = (): void => deps.reject(reason);
      if (thread === undefined) finish(false, end);
      else tellToEnd(thread, 'the call was cancelled', end);
    },
  };
  options.signal?.addEventListener('abort', onAbort, { once: true });
  return job;
}
