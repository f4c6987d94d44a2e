import { EngineError, isEngineError } from '../protocol/error.ts';

/** `Tokens cannot be read: <reason>.` (mcp-host section 15) */
export function storeUnavailable(
  reason: 'key missing' | 'database locked' | 'not writable' | 'made by a newer version',
  cause?: unknown,
): EngineError {
  if (isEngineError(cause) && cause.code === 'store_unavailable') return cause;
  return new EngineError('storage', `Tokens cannot be read: ${reason}.`, {
    code: 'store_unavailable',
    ...(cause === undefined ? {} : { cause }),
  });
}
