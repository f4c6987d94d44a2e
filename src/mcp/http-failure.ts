import { type EngineError, isEngineError } from '../protocol/error.ts';
import { connectError, mcpError } from './errors.ts';
import { needsAuth } from './oauth/errors.ts';

/** What a failed HTTP exchange says about the server; undefined when the error is none of HTTP. */
export function toHttpFailure(error: unknown): EngineError | undefined {
  if (isEngineError(error)) return error;
  const known = readHttpError(error);
  if (known === undefined) return undefined;
  if (known.kind === 'malformed') return undefined;
  if (known.kind === 'unreachable') {
    if (known.code.startsWith('HPE_')) return connectError('http_error', 'the answer is not HTTP.', { cause: error });
    if (known.code === 'UND_ERR_CONNECT_TIMEOUT')
      return connectError('connect_timeout', 'no answer within 10 s.', { cause: error });
    const text =
      known.code === 'ECONNREFUSED'
        ? 'Connection refused'
        : `the server cannot be reached${known.code === '' ? '' : ` (${known.code})`}`;
    return connectError('connect_failed', `${text}. The program ended or refused before speaking MCP.`, {
      cause: error,
    });
  }
  if (known.status === 401) return needsAuth();
  if (known.status === 403) return mcpError('auth_forbidden', 'The server refused this account.');
  return httpError(known.status, known.contentType);
}

/** `Connect failed: HTTP <status> (<content type>).` */
export function httpError(status: number, contentType: string | undefined, retryAfterMs?: number): EngineError {
  const [essence = ''] = (contentType ?? '').split(';');
  const type =
    essence
      .replaceAll(/[^\w/.+-]/g, ' ')
      .trim()
      .slice(0, 64) || 'no content type';
  return connectError('http_error', `HTTP ${status} (${type}).`, {
    data: { status, ...(contentType === undefined ? {} : { content_type: contentType }) },
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

export type HttpFailure =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly contentType: string | undefined;
      readonly body: string | undefined;
    }
  | { readonly kind: 'unreachable'; readonly code: string }
  /** A body that is no JSON, or no message of the protocol. */
  | { readonly kind: 'malformed' };

/** Reads the errors of the SDK's transports and of `fetch`, by their members. */
export function readHttpError(error: unknown): HttpFailure | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const fields = error as { readonly [key: string]: unknown };
  const data =
    typeof fields['data'] === 'object' && fields['data'] !== null ? (fields['data'] as Record<string, unknown>) : {};
  const body = typeof data['text'] === 'string' ? data['text'] : undefined;
  if (typeof data['status'] === 'number') {
    const type = data['content_type'];
    return { kind: 'status', status: data['status'], contentType: typeof type === 'string' ? type : undefined, body };
  }
  if (fields['code'] === 'CLIENT_HTTP_UNEXPECTED_CONTENT') {
    const type = data['contentType'];
    return { kind: 'status', status: 200, contentType: typeof type === 'string' ? type : undefined, body: undefined };
  }
  if (fields['name'] === 'UnauthorizedError')
    return { kind: 'status', status: 401, contentType: undefined, body: undefined };
  if (fields['name'] === 'SseError' || 'event' in fields) {
    const status = fields['code'];
    return typeof status === 'number'
      ? { kind: 'status', status, contentType: undefined, body: undefined }
      : { kind: 'unreachable', code: '' };
  }
  // why: the second is what the SDK's schemas throw; their class is not exported
  if (error instanceof SyntaxError || fields['name'] === 'ZodError') return { kind: 'malformed' };
  if (error instanceof TypeError) return { kind: 'unreachable', code: causeCode(error) };
  return undefined;
}

function causeCode(error: Error): string {
  const cause = error.cause;
  if (typeof cause !== 'object' || cause === null) return '';
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  // why: Node tries every address of a name and reports the failures together
  const [first] = 'errors' in cause && Array.isArray(cause.errors) ? (cause.errors as unknown[]) : [];
  return typeof first === 'object' && first !== null && 'code' in first && typeof first.code === 'string'
    ? first.code
    : '';
}
