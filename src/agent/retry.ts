import type { Clock } from '../protocol/deps.ts';
import { EngineError, isRetryable, toEngineError } from '../protocol/error.ts';

/** The longest wait between two attempts (agent-runtime section 4). */
export const maxRetryDelayMs = 60_000;

/** `attempt` counts from 1; what the provider asks for wins over the computed delay. */
export function retryDelayMs(attempt: number, retryAfterMs: number | undefined, baseDelayMs: number): number {
  return Math.min(maxRetryDelayMs, retryAfterMs ?? baseDelayMs * 2 ** (attempt - 1));
}

export interface Retried<T> {
  readonly maxRetries: number;
  readonly baseDelayMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Makes the call again; what `onFailure` makes of a failure is the result. */
  attempt(onFailure: (thrown: unknown) => Promise<T>): Promise<T>;
  /** Whether the run should end; asked after each wait. */
  isStopped(): boolean;
  onRetry(attempt: number, delayMs: number, error: EngineError): void;
}

/**
 * Makes a model call that failed again, when the error is retryable. Every attempt sends the same request; retries are no
 * steps.
 * @param thrown what the attempt before failed with
 * @param attempts how many there were
 * @throws EngineError the last error; `cancelled` when the run ended while waiting
 */
export async function retry<T>(call: Retried<T>, thrown: unknown, attempts = 1): Promise<T> {
  const error = toEngineError(thrown);
  if (!isRetryable(error) || attempts > call.maxRetries) throw error;
  const delayMs = retryDelayMs(attempts, error.retryAfterMs, call.baseDelayMs);
  call.onRetry(attempts, delayMs, error);
  if (delayMs > 0) await call.clock.sleep(delayMs, call.signal).catch(() => {}); // the check below tells why
  if (call.isStopped()) throw new EngineError('cancelled', 'cancelled during retry');
  return await call.attempt((again) => retry(call, again, attempts + 1));
}
