import { maxTimerMs } from '../protocol/signal.ts';
import type { ToolContext } from '../protocol/tool.ts';

/**
 * What ends one call early: the end of its run or of its own time. The signal is made when somebody looks at it: most calls
 * never do, and making one costs more than the rest of a call.
 */
export class CallLimit implements Disposable {
  readonly #run: AbortSignal;
  readonly #timeoutMs: number;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timeout: DOMException | undefined;
  #onAbort: (() => void) | undefined;
  #isFollowing = false;

  /** @param timeoutMs time of the call, counted from `startClock`; 0 = none */
  constructor(run: AbortSignal, timeoutMs: number) {
    this.#run = run;
    this.#timeoutMs = timeoutMs;
  }

  /** Aborts when the run is cancelled or the time is up. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isAborted) this.#controller.abort(this.reason);
      else this.#follow();
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#timeout !== undefined || this.#run.aborted;
  }

  get hasTimedOut(): boolean {
    return this.#timeout !== undefined;
  }

  get reason(): unknown {
    return this.#timeout ?? this.#run.reason;
  }

  /** @throws the reason, once the call is to end */
  throwIfAborted(): void {
    if (this.isAborted) throw this.reason;
  }

  /** The time of the call runs from now on; a second start changes nothing. */
  startClock(): void {
    if (this.#timeoutMs <= 0 || this.#timer !== undefined || this.isAborted) return;
    this.#timer = setTimeout(
      () => {
        this.#timeout = new DOMException(`timed out after ${this.#timeoutMs} ms`, 'AbortError');
        this.handleEvent();
      },
      Math.min(this.#timeoutMs, maxTimerMs),
    );
  }

  /** Calls `listener` once, when the call is to end; at once when it already is. */
  whenAborted(listener: () => void): void {
    this.#onAbort = listener;
    if (this.isAborted) listener();
    else this.#follow();
  }

  /** The abort of the run, as an event listener; `removeEventListener` then needs no closure per call. */
  handleEvent(): void {
    this[Symbol.dispose]();
    this.#controller?.abort(this.reason);
    this.#onAbort?.();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    if (this.#isFollowing) this.#run.removeEventListener('abort', this);
    this.#isFollowing = false;
  }

  #follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    this.#run.addEventListener('abort', this, { once: true });
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
