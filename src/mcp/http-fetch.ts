import type { FetchLike } from '@modelcontextprotocol/client';
import { parseMessage, type RpcId } from '../protocol/jsonrpc.ts';
import { type Bearer, sendWithToken } from './bearer.ts';
import { httpError } from './http-failure.ts';
import { mcpError } from './errors.ts';
import { readRetryAfter } from './retry-after.ts';

/** The longest answer that is read: one JSON body, or one event of a stream (mcp-host section 7). */
const maxAnswerBytes = 16 * 1_024 * 1_024;

export interface ServerFetchOptions {
  /** The record's address: its headers go nowhere else (OA10). */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** The token of this server; it goes to the record's own address only (OA10). */
  readonly bearer?: Bearer;
  /** Told every status that is no success. */
  readonly onStatus?: (status: number) => void;
  readonly maxBytes?: number;
  /** Told the request whose answer is over the limit: in a stream the SDK does not say which one that was. */
  readonly onOversized?: (id: RpcId | undefined) => void;
  /** Answers come over another stream, not in the exchange of their request: the deprecated transport. */
  readonly answersElsewhere?: boolean;
}

/**
 * `fetch` towards one server (mcp-host section 7): follows no redirect, reads no endless answer, and turns the statuses
 * the SDK cannot do anything with into errors of ours.
 */
export function createServerFetch(options: ServerFetchOptions): FetchLike {
  const limit = options.maxBytes ?? maxAnswerBytes;
  return async (address, init) => {
    const target = new URL(address);
    const headers = new Headers(init?.headers);
    if (target.origin === options.url.origin) {
      for (const [name, value] of Object.entries(options.headers)) if (!headers.has(name)) headers.set(name, value);
    }
    const send = async (): Promise<Response> => await options.fetch(target, { ...init, headers, redirect: 'manual' });
    const { bearer } = options;
    const response = bearer?.covers(target) === true ? await sendWithToken(bearer, headers, send) : await send();
    if (!response.ok) {
      options.onStatus?.(response.status);
      const failure = toFailure(response, init?.method ?? 'GET');
      if (failure !== undefined) {
        await response.body?.cancel();
        throw failure;
      }
    }
    // why: the SDK would wait for an answer that can no longer come
    if (isWithoutBody(response) && options.answersElsewhere !== true && requestIn(init?.body) !== undefined) {
      await response.body?.cancel();
      throw mcpError('closed', 'connection ended before the result');
    }
    return limitBody(response, limit, () => options.onOversized?.(requestIn(init?.body)));
  };
}

function isWithoutBody({ status }: Response): boolean {
  return status === 202 || status === 204;
}

/** The id of the request that was sent; undefined for what wants no answer, a notice or an answer of ours. */
function requestIn(body: unknown): RpcId | undefined {
  const message = typeof body === 'string' ? parseMessage(body) : undefined;
  return message?.kind === 'request' ? message.id : undefined;
}

function toFailure(response: Response, method: string): Error | undefined {
  const { status } = response;
  const contentType = response.headers.get('content-type') ?? undefined;
  // why: 401 and 403 start an authorization, 405 on GET is an answer, a redirect is reported by the SDK
  if (status < 400 || status === 401 || status === 403 || (status === 405 && method === 'GET')) return undefined;
  if (status < 500 && status !== 429 && contentType?.includes('json') === true) return undefined;
  return httpError(status, contentType, readRetryAfter(response.headers.get('retry-after'), Date.now()));
}

/** The same response whose body fails once an answer is over the limit; in an event stream each event counts anew. */
function limitBody(response: Response, limit: number, onOversized: () => void): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.includes('event-stream') === true;
  let bytes = 0;
  let newlines = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (!isStream) bytes += chunk.length;
      else for (const byte of chunk) count(byte);
      if (bytes <= limit) {
        controller.enqueue(chunk);
        return;
      }
      onOversized();
      controller.error(mcpError('result_invalid', 'the answer is longer than this client reads'));
    },
  });
  const body = response.body.pipeThrough(counter);
  const { status, statusText, headers } = response;
  const limited = new Response(body, { status, statusText, headers });
  // why: the SDK resolves redirects and metadata against it, and a made response has none
  Object.defineProperty(limited, 'url', { value: response.url });
  return limited;

  /** An empty line ends an event, whatever the line ends are. */
  function count(byte: number): void {
    bytes += 1;
    if (byte === 0x0d) return;
    newlines = byte === 0x0a ? newlines + 1 : 0;
    if (newlines >= 2) bytes = 0;
  }
}
