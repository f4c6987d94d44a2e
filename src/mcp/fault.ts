import { toEngineError } from '../protocol/error.ts';
import type { EngineError } from '../protocol/error.ts';

/** Carries an error of ours through the SDK, as the `data` of the error a call fails with. No peer can make one. */
class Fault {
  readonly error: EngineError;

  constructor(error: EngineError) {
    this.error = error;
  }
}

export function toFault(error: unknown): Fault {
  return new Fault(toEngineError(error, 'plugin'));
}

/** The error of ours inside an error of the SDK; undefined when there is none. */
export function faultOf(error: unknown): EngineError | undefined {
  const data = typeof error === 'object' && error !== null && 'data' in error ? error.data : undefined;
  return data instanceof Fault ? data.error : undefined;
}
