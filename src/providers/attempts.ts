import type { Clock, Logger } from '../protocol/deps.ts';
import { EngineError, toEngineError } from '../protocol/error.ts';
import type { OnDelta } from '../protocol/model.ts';
import type { HttpLimits } from './limits.ts';
import { withRetries } from './retry.ts';

export interface AttemptDeps {
  /** The provider's name, for the log. */
  readonly name: string;
  readonly limits: Pick<HttpLimits, 'attempts' | 'retryBaseMs'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export interface Attempts {
  repeat<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
  /**
   * As `repeat`, until the first delta is passed on: from then on a failure has kind `other`, which nobody retries, so
   * that no text appears twice (agent-runtime section 15).
   */
  repeatStreaming<T>(
    signal: AbortSignal | undefined,
    onDelta: OnDelta,
    work: (onDelta: OnDelta) => Promise<T>,
  ): Promise<T>;
}

/** The retries of one provider, each told to the log. */
export function createAttempts(deps: AttemptDeps): Attempts {
  function repeat<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return withRetries(work, {
      attempts: deps.limits.attempts,
      baseDelayMs: deps.limits.retryBaseMs,
      clock: deps.clock,
      random: deps.random,
      signal,
      onRetry: ({ attempt, delayMs, error }) => {
        const fields = { provider: deps.name, attempt, delay_ms: delayMs, kind: error.kind };
        deps.logger.warn(`model call failed, trying again: ${error.message}`, fields);
      },
    });
  }

  return {
    repeat,
    repeatStreaming: (signal, onDelta, work) => {
      let hasStarted = false;
      const pass: OnDelta = (delta) => {
        hasStarted = true;
        onDelta(delta);
      };
      return repeat(signal, async () => {
        try {
          return await work(pass);
        } catch (error) {
          throw hasStarted ? toBrokenStream(error) : error;
        }
      });
    },
  };
}

function toBrokenStream(thrown: unknown): EngineError {
  const error = toEngineError(thrown);
  if (error.kind === 'cancelled') return error;
  return new EngineError('other', `the stream broke after output started: ${error.message}`, { cause: error });
}
