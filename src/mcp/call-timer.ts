import type { EngineError } from '../protocol/error.ts';
import { callTimeout, mcpError } from './errors.ts';

export interface CallTimerOptions {
  /** The caller's signal. */
  readonly signal?: AbortSignal;
  /** Silence that ends the call, in milliseconds. */
  readonly idleMs: number;
  /** The call in all, whatever progress it reports (MP7). */
  readonly maxMs: number;
}

/** The two limits of a call; its signal aborts when either passes or the caller gives up, with the error as its reason. */
export interface CallTimer extends Disposable {
  readonly signal: AbortSignal;
  /** The server is alive: the silence starts again. */
  progress(): void;
  /** The call has become a task, whose own limit counts from now on. */
  becomeTask(): void;
}

/** One timer for both limits, set anew only when it fires: most calls end long before, and a chatty one costs nothing. */
export function createCallTimer(options: CallTimerOptions): CallTimer {
  const { signal: caller, idleMs, maxMs } = options;
  const controller = new AbortController();
  const started = performance.now();
  let lastSign = started;
  let timer: NodeJS.Timeout | undefined = setTimeout(look, Math.min(idleMs, maxMs));

  function look(): void {
    const now = performance.now();
    const leftOfAll = started + maxMs - now;
    const leftOfSilence = lastSign + idleMs - now;
    // why: a timer may fire a fraction of a millisecond early
    if (leftOfAll < 1) abort(callTimeout(maxMs));
    else if (leftOfSilence < 1) abort(callTimeout(idleMs));
    else timer = setTimeout(look, Math.min(leftOfAll, leftOfSilence));
  }

  function abort(failure: EngineError): void {
    controller.abort(failure);
  }

  function cancel(): void {
    abort(mcpError('call_cancelled', 'cancelled', { cause: caller?.reason }));
  }

  if (caller?.aborted === true) cancel();
  else caller?.addEventListener('abort', cancel, { once: true });
  return {
    signal: controller.signal,
    progress() {
      lastSign = performance.now();
    },
    becomeTask() {
      clearTimeout(timer);
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', cancel);
    },
  };
}
