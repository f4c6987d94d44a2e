import { EngineError } from '../protocol/error.ts';
import { maxTimerMs } from '../protocol/signal.ts';

/** A duration as messages print it: seconds, decimal, no trailing zeros (plugin-protocol section 3). */
export function formatSeconds(ms: number): string {
  return String(ms / 1_000);
}

/**
 * A duration a timer can hold: finite, > 0, ≤ 2^31−1 ms (FR11).
 * @throws EngineError `config`
 */
export function checkDuration(name: string, ms: unknown): number {
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms <= 0 || ms > maxTimerMs) {
    throw new EngineError('config', `\`${name}\` must be a number of milliseconds above 0 and up to ${maxTimerMs}`);
  }
  return ms;
}
