import type { Clock } from '../protocol/deps.ts';

/** A clock that stands still until it is told to move. */
export interface ManualClock extends Clock {
  /** Moves on by `ms` and wakes the sleepers whose time has come, in the order of their time. */
  advance(ms: number): void;
  /** How many wait in `sleep`. */
  sleeping(): number;
}

/** @param startMs milliseconds since the epoch; default 2026-01-01T00:00:00Z */
export function createManualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  const sleepers = new Set<{ readonly at: number; wake(): void }>();
  let now = startMs;
  return {
    now: () => now,
    elapsed: () => now - startMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason as Error);
          return;
        }
        const sleeper = { at: now + ms, wake };
        const onAbort = (): void => {
          sleepers.delete(sleeper);
          reject(signal?.reason as Error);
        };
        function wake(): void {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        }
        signal?.addEventListener('abort', onAbort, { once: true });
        sleepers.add(sleeper);
      }),
    advance(ms) {
      now += ms;
      for (const sleeper of [...sleepers].sort((left, right) => left.at - right.at)) {
        if (sleeper.at <= now && sleepers.delete(sleeper)) sleeper.wake();
      }
    },
    sleeping: () => sleepers.size,
  };
}
