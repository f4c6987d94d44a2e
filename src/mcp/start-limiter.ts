import type { Clock } from '../protocol/deps.ts';

const windowMs = 60_000;
const maxStarts = 5;

/**
 * Limits how often one server is started (PL3): at most 5 starts within 60 s. A connection that held for 60 s clears the
 * count; a good handshake alone does not.
 */
export interface StartLimiter {
  /** Milliseconds until the next start is allowed; 0 counts it as a start. */
  admit(): number;
  /** The connection ended after this long. */
  ended(uptimeMs: number): void;
  /** Someone asked for it explicitly, or its record changed. */
  reset(): void;
}

export function createStartLimiter(clock: Clock): StartLimiter {
  let starts: number[] = [];
  return {
    admit() {
      const now = clock.elapsed();
      starts = starts.filter((at) => now - at < windowMs);
      const [oldest] = starts;
      if (starts.length >= maxStarts && oldest !== undefined) return Math.ceil(oldest + windowMs - now);
      starts.push(now);
      return 0;
    },
    ended(uptimeMs) {
      if (uptimeMs >= windowMs) starts = [];
    },
    reset() {
      starts = [];
    },
  };
}
