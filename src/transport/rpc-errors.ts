import { EngineError } from '../protocol/error.ts';
import { formatSeconds } from './duration.ts';

/** What calls to one peer fail with. */
export interface RpcErrors {
  closed(data?: unknown): EngineError;
  closedOutput(data: unknown): EngineError;
  cannotWrite(detail: string, cause: unknown): EngineError;
  stoppedReading(cause: unknown): EngineError;
  timedOut(method: string, timeoutMs: number): EngineError;
  remote(code: number, message: string): EngineError;
  invalidResult(method: string, detail: string): EngineError;
  tooLongAnswer(maxBytes: number): EngineError;
  notJson(detail: string, cause: unknown): EngineError;
  tooLongRequest(maxBytes: number): EngineError;
  cancelled(): EngineError;
}

/** @param label the peer as messages name it */
export function createRpcErrors(label: string): RpcErrors {
  const failure = (
    message: string,
    code: 'closed' | 'timeout' | 'remote' | 'invalid_answer',
    extra: { readonly data?: unknown; readonly cause?: unknown } = {},
  ): EngineError => new EngineError('plugin', message, { code, ...extra });
  const because = (cause: unknown) => (cause === undefined ? {} : { cause });

  return {
    closed: (data) => failure(`${label} is closed`, 'closed', data === undefined ? {} : { data }),
    closedOutput: (data) => failure(`${label} closed its output`, 'closed', { data }),
    cannotWrite: (detail, cause) => failure(`cannot write to ${label}: ${detail}`, 'closed', because(cause)),
    stoppedReading: (cause) => failure(`${label} stopped accepting input`, 'closed', because(cause)),
    timedOut: (method, timeoutMs) =>
      failure(`${label} did not answer \`${method}\` within ${formatSeconds(timeoutMs)}s`, 'timeout'),
    remote: (code, message) =>
      failure(`${label} returned an error: ${message} (code ${code})`, 'remote', { data: { code } }),
    invalidResult: (method, detail) =>
      failure(`${label} sent an invalid \`${method}\` result: ${detail}`, 'invalid_answer'),
    tooLongAnswer: (maxBytes) => failure(`${label} sent a line longer than ${maxBytes} bytes`, 'invalid_answer'),
    notJson: (detail, cause) =>
      new EngineError('plugin', `request to ${label} cannot be written as JSON: ${detail}`, { cause }),
    tooLongRequest: (maxBytes) => new EngineError('plugin', `request to ${label} is longer than ${maxBytes} bytes`),
    cancelled: () => new EngineError('cancelled', `call to ${label} was cancelled`),
  };
}
