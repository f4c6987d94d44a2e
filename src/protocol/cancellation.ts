import { setMaxListeners } from 'node:events';

/** Hears that something is to end. An object, so that whoever listens needs no closure for it. */
export interface CancelListener {
  onCancelled(reason: unknown): void;
}

/** Where one learns that something is to end. */
export interface CancelSource {
  readonly isCancelled: boolean;
  /** Why, once it is cancelled. */
  readonly reason: unknown;
  /** Tells a listener when it comes to it; at once when it already has. */
  listen(listener: CancelListener): void;
  unlisten(listener: CancelListener): void;
}

/**
 * That a run, or a part of it, is to end. What an `AbortSignal` says, for those inside the engine: a signal takes a kilobyte
 * and gets an object shape of its own, and an engine may hold thousands of runs. Who needs one gets it at first use.
 */
export class Cancellation implements CancelSource, CancelListener {
  #isCancelled = false;
  #reason: unknown;
  // why: copied when it changes, since there are few and a list that was pushed to has room for sixteen more
  #listeners: readonly CancelListener[] = nobody;
  #controller: AbortController | undefined;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** What the first `cancel` gave. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Aborts with the reason. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      // why: one listener for each call in flight is as many as it should be (reliability BU6)
      setMaxListeners(0, this.#controller.signal);
      if (this.#isCancelled) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Tells all who listen, once; the first reason stays. */
  cancel(reason: unknown): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#reason = reason;
    const listeners = this.#listeners;
    this.#listeners = nobody;
    this.#controller?.abort(reason);
    for (const listener of listeners) listener.onCancelled(reason);
  }

  /** Tells a listener when it comes to it; at once when it already has. */
  listen(listener: CancelListener): void {
    if (this.#isCancelled) listener.onCancelled(this.#reason);
    else this.#listeners = [...this.#listeners, listener];
  }

  unlisten(listener: CancelListener): void {
    this.#listeners = this.#listeners.filter((other) => other !== listener);
  }

  /** So that one cancellation may follow another. */
  onCancelled(reason: unknown): void {
    this.cancel(reason);
  }
}

const nobody: readonly CancelListener[] = [];

/** Where an object keeps what makes its signal. */
export const signalSource = Symbol('signalSource');

interface WithSource {
  readonly [signalSource]: { readonly signal: AbortSignal };
}

/** What ends whatever an object with a signal belongs to. Makes no signal where there is a source of one. */
export function cancelSourceOf(object: { readonly signal: AbortSignal }): CancelSource {
  const source = signalSource in object ? object[signalSource] : undefined;
  return isCancelSource(source) ? source : new SignalCancelSource(object.signal);
}

function isCancelSource(source: unknown): source is CancelSource {
  return typeof source === 'object' && source !== null && 'listen' in source && 'unlisten' in source;
}

/** A signal of someone else. For one listener. */
class SignalCancelSource implements CancelSource {
  readonly #signal: AbortSignal;
  #listener: CancelListener | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  get isCancelled(): boolean {
    return this.#signal.aborted;
  }

  get reason(): unknown {
    return this.#signal.reason;
  }

  listen(listener: CancelListener): void {
    if (this.isCancelled) listener.onCancelled(this.reason);
    else {
      this.#listener = listener;
      this.#signal.addEventListener('abort', this, { once: true });
    }
  }

  unlisten(): void {
    this.#signal.removeEventListener('abort', this);
  }

  handleEvent(): void {
    this.#listener?.onCancelled(this.reason);
  }
}

/** Gives an object its `signal`, made by its source at first use. A copy of the object has the same signal. */
export function withLazySignal<T extends WithSource>(object: T): T & { readonly signal: AbortSignal } {
  return Object.defineProperty(object, 'signal', signalProperty) as T & { readonly signal: AbortSignal };
}

// why: one accessor for all, because V8 gives objects with accessors of their own a shape each
const signalProperty: PropertyDescriptor & ThisType<WithSource> = {
  enumerable: true,
  configurable: true,
  get() {
    return this[signalSource].signal;
  },
};
