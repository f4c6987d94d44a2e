import type { CancelListener, CancelSource } from '../protocol/cancellation.ts';
import { EngineError, toWireError } from '../protocol/error.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import type { ToolTask, ToolTaskResult } from '../protocol/thread.ts';
import type { ToolProgress, ToolWorker } from '../protocol/tool.ts';
import type { ToolThreadHost } from './tool-thread-host.ts';

/** Data of the error of a call that was ended because it showed no signs of life; its message is the content to show. */
export const stalled = 'stalled';

export interface ToolRunOptions {
  /** Ends the call early. */
  readonly cancel?: CancelSource | undefined;
  /** Limit in milliseconds from the moment a thread takes the call; waiting does not count. 0 or absent = none. */
  readonly timeoutMs?: number | undefined;
  /** How long a cancelled or timed-out call may go on before its thread is ended, in milliseconds. */
  readonly graceMs?: number | undefined;
  readonly stall?: ToolWorker['stall'];
  /** Calls of this tool on threads at once, of all runs together. Default: no limit but the threads. */
  readonly maxAtOnce?: number | undefined;
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** A thread took the call; its number. */
  onStarted?: ((thread: number) => void) | undefined;
}

export interface ToolJobDeps {
  readonly graceMs: number;
  /** The call is over; `kill` when its thread is still busy with it. */
  onSettled(job: ToolJob, kill: boolean): void;
}

/** How a call ends: with a result, or by rejecting with the reason it was cancelled for. */
type End = { readonly result: ToolTaskResult } | { readonly reason: unknown };

/**
 * One call in the pool, from its arrival to its single end.
 *
 * A class that listens by itself, because a pool makes one for each call: no closures.
 */
export class ToolJob implements CancelListener {
  readonly id: number;
  readonly task: ToolTask;
  readonly options: ToolRunOptions;
  /** Settles with the call's result; rejects only with the reason it was cancelled for. */
  readonly outcome: Promise<ToolTaskResult>;
  /** Threads that ended before they began it. */
  attempts = 0;
  readonly #deps: ToolJobDeps;
  #resolve!: (result: ToolTaskResult) => void;
  #reject!: (reason: unknown) => void;
  #thread: ToolThreadHost | undefined;
  #isSettled = false;
  #limitTimer: NodeJS.Timeout | undefined;
  #graceTimer: NodeJS.Timeout | undefined;
  #stallTimer: NodeJS.Timeout | undefined;
  /** Set when the call was told to end: how it ends unless it ends by itself in time. */
  #ending: End | undefined;

  constructor(id: number, task: ToolTask, options: ToolRunOptions, deps: ToolJobDeps) {
    this.id = id;
    this.task = task;
    this.options = options;
    this.#deps = deps;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    options.cancel?.listen(this);
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Where it runs or ran; absent while it waits. */
  get thread(): ToolThreadHost | undefined {
    return this.#thread;
  }

  /** Begins to watch over the call on its thread. */
  start(thread: ToolThreadHost): void {
    this.#thread = thread;
    const { timeoutMs = 0, stall } = this.options;
    if (timeoutMs > 0) this.#limit(thread, timeoutMs);
    if (stall !== undefined) this.#watchForStall(thread, stall);
    this.options.onStarted?.(thread.id);
  }

  /** Its thread ended before the call began. @returns whether it waits for another one; else it is over */
  returnToQueue(): boolean {
    this.#stopTimers();
    this.#thread = undefined;
    if (this.#ending !== undefined) this.#finish(false, this.#ending);
    return !this.#isSettled;
  }

  settle(result: ToolTaskResult): void {
    const isAborted = !result.ok && 'error' in result && result.error.name === 'AbortError';
    this.#finish(false, isAborted ? (this.#ending ?? { result }) : { result });
  }

  /** Ends the call at once; a running one by asking it first. */
  onCancelled(reason: unknown): void {
    const end = { reason };
    if (this.#thread === undefined) this.#finish(false, end);
    else this.#tellToEnd(this.#thread, 'the call was cancelled', end);
  }

  #limit(thread: ToolThreadHost, timeoutMs: number): void {
    const message = `timed out after ${timeoutMs} ms and was stopped`;
    const error = toWireError(new EngineError('tool', message, { code: 'timeout' }));
    const end = { result: { ok: false, error } } as const;
    this.#limitTimer = setTimeout(() => this.#tellToEnd(thread, message, end), Math.min(timeoutMs, maxTimerMs));
  }

  #watchForStall(thread: ToolThreadHost, stall: NonNullable<ToolWorker['stall']>): void {
    const checks = 10;
    let seen = thread.beats();
    let silent = 0;
    this.#stallTimer = setInterval(() => {
      const beats = thread.beats();
      silent = beats === seen ? silent + 1 : 0;
      seen = beats;
      if (silent < checks) return;
      const error = toWireError(new EngineError('tool', stall.content, { code: 'timeout', data: stalled }));
      this.#finish(true, { result: { ok: false, error } });
    }, stall.after_ms / checks);
  }

  /** Asks the call to end and ends its thread when it does not. */
  #tellToEnd(thread: ToolThreadHost, reason: string, end: End): void {
    if (this.#ending !== undefined) return;
    this.#ending = end;
    thread.cancel(this.id, reason);
    this.#graceTimer = setTimeout(() => this.#finish(true, end), this.options.graceMs ?? this.#deps.graceMs);
  }

  #finish(kill: boolean, end: End): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#stopTimers();
    this.options.cancel?.unlisten(this);
    if ('result' in end) this.#resolve(end.result);
    else this.#reject(end.reason);
    this.#deps.onSettled(this, kill);
  }

  #stopTimers(): void {
    clearTimeout(this.#limitTimer);
    clearTimeout(this.#graceTimer);
    clearInterval(this.#stallTimer);
  }
}
