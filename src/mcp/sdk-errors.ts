import { type EngineError, isEngineError, messageOf } from '../protocol/error.ts';
import { isJsonObject, ownValue } from '../protocol/json.ts';
import { invalidResult, mcpError, remoteError } from './errors.ts';
import { faultOf } from './fault.ts';
import { readHttpError, toHttpFailure } from './http-failure.ts';
import { roundsExceeded, unsupportedInput } from './input-policy.ts';
import { readRpcError } from './rpc-body.ts';

export interface FailedRequest {
  readonly server: string;
  readonly method: string;
  /** The caller's signal: its reason is the error once it has aborted. */
  readonly signal: AbortSignal;
  readonly closedError: () => EngineError;
}

const missingCapability = -32_021;

/** What a request through the SDK failed with, as an error of ours. No text of the SDK is taken over: it quotes messages. */
export function toRequestError(error: unknown, request: FailedRequest): unknown {
  const fault = faultOf(error);
  if (fault !== undefined) return fault;
  if (request.signal.aborted) return request.signal.reason as unknown;
  if (isEngineError(error)) return error;
  const code = member(error, 'code');
  const data = member(error, 'data');
  if (typeof code === 'number' && isNamed(error, 'ProtocolError'))
    return toRemote(code, messageOf(error), data, request);
  switch (code) {
    case 'INPUT_REQUIRED_ROUNDS_EXCEEDED':
      return roundsExceeded();
    case 'CAPABILITY_NOT_SUPPORTED':
    case 'INVALID_RESULT':
    case 'UNSUPPORTED_RESULT_TYPE': {
      const asked = isJsonObject(data) && Object.hasOwn(data, 'key') ? ownValue(data, 'method') : undefined;
      if (typeof asked === 'string') return unsupportedInput(asked);
      return code === 'CAPABILITY_NOT_SUPPORTED'
        ? unsupportedInput(request.method)
        : invalidResult(request.method, error);
    }
    case 'CONNECTION_CLOSED':
    case 'NOT_CONNECTED':
    case 'SEND_FAILED':
      return request.closedError();
    default:
      return answerInRefusal(error, request) ?? toHttpFailure(error) ?? invalidResult(request.method, error);
  }
}

/** A server may answer in the body of an HTTP refusal, as with 404 for an unknown method (mcp-host section 2). */
function answerInRefusal(error: unknown, request: FailedRequest): EngineError | undefined {
  const failure = readHttpError(error);
  // why: 401 and 403 are about the account, and a refused handshake is judged by its status
  if (failure?.kind !== 'status' || [401, 403].includes(failure.status) || request.method === 'initialize') return;
  const answer = readRpcError(failure.body);
  return answer === undefined ? undefined : toRemote(answer.code, answer.message, answer.data, request);
}

function toRemote(code: number, message: string, data: unknown, request: FailedRequest): EngineError {
  if (code === missingCapability) {
    const wanted = isJsonObject(data) ? ownValue(data, 'requiredCapabilities') : undefined;
    const [first] = isJsonObject(wanted) ? Object.keys(wanted) : [];
    return first === 'sampling'
      ? (unsupportedInput('sampling/createMessage') as EngineError)
      : mcpError('input_unsupported', 'The server needs an ability that this client does not offer.');
  }
  return remoteError(request.server, { code, message });
}

function isNamed(error: unknown, name: string): boolean {
  const brand = member(error, 'name');
  return (
    brand === name || (error instanceof Error && typeof member(error, 'code') === 'number' && !('status' in error))
  );
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && key in value
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
