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
  /** Never throws; a failure is a rejection. */
  attempt(): Promise<T>;
  /** Called after each attempt, before anything else happens. */
  onAttempted(): void;
  /** Whether the run should end; asked after each wait. */
  isStopped(): boolean;
  onRetry(attempt: number, delayMs: number, error: EngineError): void;
}

/**
 * Runs one model call, again after a retryable error. Every attempt sends the same request; retries are no steps.
 * @throws EngineError the last error; `cancelled` when the run ended while waiting
 */
export function withRetries<T>(call: Retried<T>): Promise<T> {
  // why: most calls need no second attempt, and waiting for one in an async function costs twice the memory
  return call.attempt().then(
    (result) => {
      call.onAttempted();
      return result;
    },
    (thrown: unknown) => retry(call, thrown),
  );
}

async function retry<T>(call: Retried<T>, first: unknown): Promise<T> {
  let thrown = first;
  for (let attempt = 1; ; attempt += 1) {
    call.onAttempted();
    const error = toEngineError(thrown);
    if (!isRetryable(error) || attempt > call.maxRetries) throw error;
    const delayMs = retryDelayMs(attempt, error.retryAfterMs, call.baseDelayMs);
    call.onRetry(attempt, delayMs, error);
    if (delayMs > 0) await call.clock.sleep(delayMs, call.signal).catch(() => {}); // the check below tells why
    if (call.isStopped()) throw new EngineError('cancelled', 'cancelled during retry');
    try {
      const result = await call.attempt();
      call.onAttempted();
      return result;
    } catch (error) {
      thrown = error;
    }
  }
}
