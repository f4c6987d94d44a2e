import type { Cancellation, CancelListener, CancelSource } from '../protocol/cancellation.ts';
import { OpenList, type Placed } from '../protocol/open-list.ts';
import { maxTimerMs } from '../protocol/signal.ts';

/**
 * What ends the calls of one run early: the end of the run, or of a call's own time. One listener and one timer for all of
 * them, because thousands of calls are in flight at once and most end by themselves.
 */
export class CallLimits implements CancelListener {
  readonly run: Cancellation;
  readonly #open = new OpenList<CallLimit>();
  #isFollowing = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  /** @param run lives as long as these limits do: it is listened to from the first call that is followed */
  constructor(run: Cancellation) {
    this.run = run;
  }

  /** @param timeoutMs time of the call, counted from `startClock`; 0 = none */
  open(timeoutMs: number): CallLimit {
    return new CallLimit(this, timeoutMs);
  }

  /** Tells a call of the end of the run, and of its own time. */
  follow(limit: CallLimit): void {
    this.#open.add(limit);
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    this.run.listen(this);
  }

  /** Looks at the clock again at `at`, if not before. */
  watch(at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#onTime(), Math.min(Math.max(1, at - performance.now()), maxTimerMs));
  }

  leave(limit: CallLimit): void {
    this.#open.remove(limit);
    if (this.#open.size === 0 && this.#timer !== undefined) this.#stopTimer();
  }

  onCancelled(): void {
    this.#stopTimer();
    for (const limit of this.#open.values()) limit.end();
  }

  #onTime(): void {
    this.#stopTimer();
    const now = performance.now();
    for (const limit of this.#open.values()) {
      if (limit.endsAt <= now) limit.timeOut();
      else this.watch(limit.endsAt);
    }
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }
}

/** Of one call. Its signal is made when somebody looks at it, which for most calls nobody does. */
export class CallLimit implements CancelSource, Disposable, Placed {
  /** On the clock of `performance.now()`. */
  endsAt = Number.POSITIVE_INFINITY;
  /** Among the limits that are followed. */
  place = -1;
  readonly #limits: CallLimits;
  /** Its own time; 0 = none. */
  readonly timeoutMs: number;
  #controller: AbortController | undefined;
  #timeout: DOMException | undefined;
  #isWatched = false;
  // why: as in a cancellation, one at most as a rule
  #listeners: readonly CancelListener[] = nobody;

  constructor(limits: CallLimits, timeoutMs: number) {
    this.#limits = limits;
    this.timeoutMs = timeoutMs;
  }

  /** Aborts when the run is cancelled or the time is up. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isCancelled) this.#controller.abort(this.reason);
      else this.#limits.follow(this);
    }
    return this.#controller.signal;
  }

  get isCancelled(): boolean {
    return this.#timeout !== undefined || this.#limits.run.isCancelled;
  }

  get hasTimedOut(): boolean {
    return this.#timeout !== undefined;
  }

  get reason(): unknown {
    return this.#timeout ?? this.#limits.run.reason;
  }

  /** @throws the reason, once the call is to end */
  throwIfCancelled(): void {
    if (this.isCancelled) throw this.reason;
  }

  /**
   * The same for code that holds the thread timers need: it looks at the clock itself. The time runs from the first look on,
   * if not before.
   * @throws the reason, once the call is to end
   */
  throwIfOver(): void {
    if (this.timeoutMs > 0 && !this.isCancelled) {
      const now = performance.now();
      if (this.endsAt === Number.POSITIVE_INFINITY) this.endsAt = now + this.timeoutMs;
      else if (now >= this.endsAt) this.timeOut();
    }
    this.throwIfCancelled();
  }

  /** The time of the call runs from now on; a second start changes nothing. */
  startClock(): void {
    if (this.timeoutMs <= 0 || this.#isWatched || this.isCancelled) return;
    this.#isWatched = true;
    if (this.endsAt === Number.POSITIVE_INFINITY) this.endsAt = performance.now() + this.timeoutMs;
    this.#limits.follow(this);
    this.#limits.watch(this.endsAt);
  }

  listen(listener: CancelListener): void {
    if (this.isCancelled) {
      listener.onCancelled(this.reason);
      return;
    }
    this.#listeners = [...this.#listeners, listener];
    this.#limits.follow(this);
  }

  unlisten(listener: CancelListener): void {
    this.#listeners = this.#listeners.filter((other) => other !== listener);
  }

  timeOut(): void {
    this.#timeout = new DOMException(`timed out after ${this.timeoutMs} ms`, 'AbortError');
    this.end();
  }

  /** The call is to end, for whatever reason. */
  end(): void {
    this.#limits.leave(this);
    this.#controller?.abort(this.reason);
    const listeners = this.#listeners;
    this.#listeners = nobody;
    for (const listener of listeners) listener.onCancelled(this.reason);
  }

  [Symbol.dispose](): void {
    this.#limits.leave(this);
  }
}

const nobody: readonly CancelListener[] = [];
