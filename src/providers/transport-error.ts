import { EngineError, messageOf } from '../protocol/error.ts';
import { scrubSecrets } from './scrub.ts';

export interface TransportTarget {
  readonly url: string;
  readonly wayOut: string;
  readonly secrets: readonly string[];
}

const connectProblems: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'refused the connection'],
  ['ENOTFOUND', 'was not found'],
  ['EAI_AGAIN', 'could not be looked up'],
  ['EHOSTUNREACH', 'cannot be reached'],
  ['ENETUNREACH', 'cannot be reached'],
  ['ETIMEDOUT', 'did not accept the connection in time'],
  ['UND_ERR_CONNECT_TIMEOUT', 'did not accept the connection in time'],
]);
const timeouts: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** What `fetch` or a body threw, as a `network` error that names the host and, for a failed connection, a way out. */
export function transportError(cause: unknown, target: TransportTarget): EngineError {
  const host = hostOf(target.url);
  const code = codeOf(cause);
  const connect = connectProblems.get(code ?? '');
  if (connect !== undefined) {
    return network(`connection failed: ${host} ${connect}; ${target.wayOut}`, cause);
  }
  const text = scrubSecrets(detailOf(cause), target.secrets);
  const prefix = code !== undefined && timeouts.has(code) ? 'request timed out' : 'transport error';
  return network(`${prefix}: ${host}: ${text}`, cause);
}

function network(message: string, cause: unknown): EngineError {
  return new EngineError('network', message, { cause });
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the server';
}

/** `fetch` says only "fetch failed"; the reason is one or two causes below, or the first of several attempts. */
function* causesOf(error: unknown): Generator<object> {
  let next: unknown = error;
  for (let depth = 0; depth < 5 && typeof next === 'object' && next !== null; depth += 1) {
    yield next;
    const inner: unknown = 'errors' in next && Array.isArray(next.errors) ? next.errors[0] : undefined;
    next = inner ?? ('cause' in next ? next.cause : undefined);
  }
}

function codeOf(error: unknown): string | undefined {
  for (const cause of causesOf(error)) if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return undefined;
}

function detailOf(error: unknown): string {
  let text = messageOf(error);
  for (const cause of causesOf(error)) if (cause instanceof Error && cause.message !== '') text = cause.message;
  const code = codeOf(error);
  return code === undefined || text.includes(code) ? text : `${text} (${code})`;
}
