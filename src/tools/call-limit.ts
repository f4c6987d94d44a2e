import { maxTimerMs } from '../protocol/signal.ts';
import type { ToolContext } from '../protocol/tool.ts';

/**
 * What ends the calls of one run early: the end of the run, or of a call's own time. One listener and one timer for all of
 * them, because thousands of calls are in flight at once and most end by themselves.
 */
export class CallLimits {
  readonly run: AbortSignal;
  readonly #open = new Set<CallLimit>();
  #isFollowing = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(run: AbortSignal) {
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
    this.run.addEventListener('abort', this, { once: true });
  }

  /** Looks at the clock again at `at`, if not before. */
  watch(at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#onTime(), Math.min(Math.max(1, at - performance.now()), maxTimerMs));
  }

  leave(limit: CallLimit): void {
    if (!this.#open.delete(limit) || this.#open.size > 0) return;
    this.#stopTimer();
    this.run.removeEventListener('abort', this);
    this.#isFollowing = false;
  }

  /** The abort of the run, as an event listener. */
  handleEvent(): void {
    this.#stopTimer();
    this.#isFollowing = false;
    for (const limit of this.#open) limit.end();
  }

  #onTime(): void {
    this.#stopTimer();
    const now = performance.now();
    for (const limit of this.#open) {
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
export class CallLimit implements Disposable {
  /** On the clock of `performance.now()`. */
  endsAt = Number.POSITIVE_INFINITY;
  readonly #limits: CallLimits;
  readonly #timeoutMs: number;
  #controller: AbortController | undefined;
  #timeout: DOMException | undefined;
  #onAbort: (() => void) | undefined;

  constructor(limits: CallLimits, timeoutMs: number) {
    this.#limits = limits;
    this.#timeoutMs = timeoutMs;
  }

  /** Aborts when the run is cancelled or the time is up. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isAborted) this.#controller.abort(this.reason);
      else this.#limits.follow(this);
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#timeout !== undefined || this.#limits.run.aborted;
  }

  get hasTimedOut(): boolean {
    return this.#timeout !== undefined;
  }

  get reason(): unknown {
    return this.#timeout ?? this.#limits.run.reason;
  }

  /** @throws the reason, once the call is to end */
  throwIfAborted(): void {
    if (this.isAborted) throw this.reason;
  }

  /** The time of the call runs from now on; a second start changes nothing. */
  startClock(): void {
    if (this.#timeoutMs <= 0 || this.endsAt !== Number.POSITIVE_INFINITY || this.isAborted) return;
    this.endsAt = performance.now() + this.#timeoutMs;
    this.#limits.follow(this);
    this.#limits.watch(this.endsAt);
  }

  /** Calls `listener` once, when the call is to end; at once when it already is. */
  whenAborted(listener: () => void): void {
    this.#onAbort = listener;
    if (this.isAborted) listener();
    else this.#limits.follow(this);
  }

  timeOut(): void {
    this.#timeout = new DOMException(`timed out after ${this.#timeoutMs} ms`, 'AbortError');
    this.end();
  }

  /** The call is to end, for whatever reason. */
  end(): void {
    this.#limits.leave(this);
    this.#controller?.abort(this.reason);
    this.#onAbort?.();
  }

  [Symbol.dispose](): void {
    this.#limits.leave(this);
  }
}

/** Where a context keeps its limit. */
export const limitOf = Symbol('limit');

/** A context of a call before it has its signal. */
export type LimitedContext = {
  -readonly [Field in keyof ToolContext as Field extends 'signal' ? never : Field]: ToolContext[Field];
} & {
  readonly [limitOf]: CallLimit;
};

/** Gives a context its `signal`, made by its limit at first use. A copy of the context has the same signal. */
export function withSignal(context: LimitedContext): ToolContext {
  return Object.defineProperty(context, 'signal', signalProperty) as LimitedContext & Pick<ToolContext, 'signal'>;
}

// why: one accessor for all contexts, because V8 gives objects with accessors of their own a shape each
const signalProperty: PropertyDescriptor & ThisType<LimitedContext> = {
  enumerable: true,
  configurable: true,
  get() {
    return this[limitOf].signal;
  },
};
