import type { EngineError } from '../protocol/error.ts';
import { childSignal } from '../protocol/signal.ts';
import { callTimeout, mcpError } from './errors.ts';

export interface CallTimerOptions {
  /** The caller's signal. */
  readonly signal?: AbortSignal;
  /** Silence that ends the call, in milliseconds. */
  readonly idleMs: number;
  /** The call in all, whatever progress it reports (MP7). */
  readonly maxMs: number;
}

/** The two limits of a call; its signal aborts when either passes or the caller gives up. */
export interface CallTimer extends Disposable {
  readonly signal: AbortSignal;
  /** The server is alive: the silence starts again. */
  progress(): void;
  /** The call has become a task, whose own limit counts from now on. */
  becomeTask(): void;
  /** Why the signal aborted: the timeout, or that the caller cancelled; undefined when it did not. */
  failure(): EngineError | undefined;
}

export function createCallTimer(options: CallTimerOptions): CallTimer {
  const limit = childSignal(undefined);
  let failure: EngineError | undefined;
  let idle = setTimeout(expire, options.idleMs, options.idleMs);
  const total = setTimeout(expire, options.maxMs, options.maxMs);

  function expire(ms: number): void {
    failure ??= callTimeout(ms);
    limit.abort(failure);
  }

  function cancel(): void {
    failure ??= mcpError('call_cancelled', 'cancelled', { cause: options.signal?.reason });
    limit.abort(failure);
  }

  if (options.signal?.aborted === true) cancel();
  else options.signal?.addEventListener('abort', cancel, { once: true });
  return {
    signal: limit.signal,
    progress() {
      clearTimeout(idle);
      idle = setTimeout(expire, options.idleMs, options.idleMs);
    },
    becomeTask() {
      clearTimeout(idle);
      clearTimeout(total);
    },
    failure: () => failure,
    [Symbol.dispose]() {
      clearTimeout(idle);
      clearTimeout(total);
      options.signal?.removeEventListener('abort', cancel);
      limit[Symbol.dispose]();
    },
  };
}
