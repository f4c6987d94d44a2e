import type { Clock } from '../protocol/deps.ts';
import { EngineError, isRetryable, toEngineError } from '../protocol/error.ts';

/** Longest wait before one retry. Source: agent-runtime section 15. */
export const maxRetryDelayMs = 60_000;
/** Longest `Retry-After` that is believed. */
const maxRetryAfterMs = 3_600_000;

const decimalSeconds = /^(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
// the three forms of RFC 9110: IMF-fixdate, RFC 850, asctime
const httpDate =
  /^(?:\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT|\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT|\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/**
 * The wait a `Retry-After` header asks for, in milliseconds: decimal seconds or an HTTP date (past = 0), at most an
 * hour. Anything else is `undefined`: no header.
 */
export function parseRetryAfter(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (decimalSeconds.test(text)) {
    const delay = Number(text) * 1000;
    return Number.isFinite(delay) ? Math.min(Math.round(delay), maxRetryAfterMs) : undefined;
  }
  if (!httpDate.test(text)) return undefined;
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - nowMs), maxRetryAfterMs);
}

/**
 * How long to wait before a retry, in milliseconds.
 * @param retry 1 for the first retry
 * @param retryAfterMs what the provider asks for; replaces the computed delay
 * @param random a number in [0, 1): spreads the computed delay by a factor in [0.75, 1.25)
 */
export function retryDelayMs(
  retry: number,
  retryAfterMs: number | undefined,
  random: number,
  baseDelayMs = 1000,
): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, maxRetryDelayMs);
  const doubled = Math.min(baseDelayMs * 2 ** (retry - 1), maxRetryDelayMs);
  return Math.min(Math.round(doubled * (0.75 + random * 0.5)), maxRetryDelayMs);
}

export interface RetryOptions {
  /** Attempts in all; 0 counts as 1. */
  readonly attempts: number;
  readonly baseDelayMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal?: AbortSignal | undefined;
  onRetry(retry: { readonly attempt: number; readonly delayMs: number; readonly error: EngineError }): void;
}

/**
 * Does `work` until it succeeds, fails with an error that no repetition can cure, or the attempts are used up; the last
 * error is thrown as it is. An abort during a wait ends it with kind `cancelled`.
 */
export async function withRetries<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (thrown) {
      const error = toEngineError(thrown);
      if (attempt >= options.attempts || !isRetryable(error)) throw error;
      const delayMs = retryDelayMs(attempt, error.retryAfterMs, options.random(), options.baseDelayMs);
      options.onRetry({ attempt, delayMs, error });
      if (delayMs > 0) {
        await clock.sleep(delayMs, signal).catch((cause: unknown) => {
          throw signal?.aborted === true ? cancelledCall(cause) : cause;
        });
      }
      if (signal?.aborted === true) throw cancelledCall(signal.reason);
    }
  }
}

export function cancelledCall(cause: unknown): EngineError {
  return new EngineError('cancelled', 'the model call was cancelled', { cause });
}
