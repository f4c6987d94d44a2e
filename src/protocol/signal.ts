import type { Clock } from './deps.ts';
import { EngineError } from './error.ts';

/** The longest time a timer can hold: a longer one fires after 1 ms. */
export const maxTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        Math.min(ms, maxTimerMs),
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

export interface ChildSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** Whether this child's own deadline passed (not the parent's abort). */
  readonly timedOut: boolean;
}

/**
 * A signal that follows `parent` and ends on its own after `ms` (absent or 0 = no own deadline). Dispose it at once when
 * the work ends: it removes itself from the parent, so a long-lived signal keeps a constant number of listeners
 * (`AbortSignal.any` keeps each child in memory on Node 20).
 */
export function childSignal(parent: AbortSignal | undefined, ms?: number): ChildSignal {
  const controller = new AbortController();
  let timedOut = false;
  const follow = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) follow();
  else parent?.addEventListener('abort', follow, { once: true });
  const timer =
    ms === undefined || ms <= 0
      ? undefined
      : setTimeout(
          () => {
            timedOut = true;
            controller.abort(new EngineError('other', `no answer within ${ms} ms`, { code: 'timeout' }));
          },
          Math.min(ms, maxTimerMs),
        );
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    get timedOut() {
      return timedOut;
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      parent?.removeEventListener('abort', follow);
    },
  };
}

/** A signal that ends with either of two; to be disposed like a child of both. */
export function eitherSignal(first: AbortSignal | undefined, second: AbortSignal): ChildSignal {
  const child = childSignal(first);
  const follow = (): void => child.abort(second.reason);
  if (second.aborted) follow();
  else second.addEventListener('abort', follow, { once: true });
  return {
    signal: child.signal,
    abort: (reason) => child.abort(reason),
    timedOut: false,
    [Symbol.dispose]() {
      child[Symbol.dispose]();
      second.removeEventListener('abort', follow);
    },
  };
}

/** Settles with `work`, or rejects with the signal's reason as soon as it aborts; the late result is dropped. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) {
      work.catch(() => {});
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener('abort', onAbort);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', onAbort);
        reject(error as Error);
      },
    );
  });
}
