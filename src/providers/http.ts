import { EngineError } from '../protocol/error.ts';
import { untilAborted } from '../protocol/signal.ts';
import { classifyHttpFailure } from './classify.ts';
import { createGuard, type Guard } from './guard.ts';
import type { HttpLimits } from './limits.ts';
import { parseRetryAfter } from './retry.ts';
import { createEventStreamReader } from './sse.ts';
import { malformedJson, type StreamAssembler } from './stream-events.ts';
import { transportError } from './transport-error.ts';

/** The part of `fetch` that is used; the global one fits. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpDeps {
  readonly fetch: Fetch;
  /** Milliseconds since the epoch, for `Retry-After` dates. */
  readonly now: () => number;
  readonly limits: HttpLimits;
}

export interface HttpCall {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** What a user can do when the host cannot be reached. */
  readonly wayOut: string;
  /** Texts that must not appear in messages. */
  readonly secrets: readonly string[];
}

/** Most bytes of an answer that are taken. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** Most bytes of an error body that are looked at. */
const maxErrorBytes = 64 * 1024;
/** How long a finished stream may take to end by itself, so that its connection can be used again. */
const drainMs = 1_000;

/**
 * One request whose answer is read whole.
 * @throws EngineError of the classes of agent-runtime section 15; `cancelled` when the call's signal aborts
 */
export async function requestJson(call: HttpCall, deps: HttpDeps, limitMs = deps.limits.requestMs): Promise<unknown> {
  using guard = createGuard(call.signal, {
    total: { ms: limitMs, message: `request timed out: no answer within ${seconds(limitMs)}` },
  });
  const response = await openResponse(call, deps, guard);
  return parseJson(await readText(response, call, guard, maxAnswerBytes));
}

/**
 * One request whose answer is a stream of events, given to `assembler`; the result is the whole answer as its reader
 * takes it. A server that answers with plain JSON instead is understood too.
 * @throws EngineError as `requestJson`, and what the assembler throws for error events and cut streams
 */
export async function requestStream(call: HttpCall, deps: HttpDeps, assembler: StreamAssembler): Promise<unknown> {
  const { streamMs, silenceMs, keepAliveMs } = deps.limits;
  using guard = createGuard(call.signal, {
    total: { ms: streamMs, message: `request timed out: the stream took longer than ${seconds(streamMs)}` },
    silence: { ms: silenceMs, message: `the stream stayed silent for ${seconds(silenceMs)}` },
    keepAlive: { ms: keepAliveMs, message: `the stream sent nothing but keep-alives for ${seconds(keepAliveMs)}` },
  });
  const response = await openResponse(call, deps, guard);
  guard.sawBytes();
  if (/\bjson\b/i.test(response.headers.get('content-type') ?? '')) {
    return parseJson(await readText(response, call, guard, maxAnswerBytes));
  }
  const reader = createEventStreamReader((event) => {
    if (!assembler.isClosed() && assembler.take(event)) guard.sawProgress();
  });
  await readChunks(response, call, guard, maxAnswerBytes, (chunk) => {
    reader.push(chunk);
    return !assembler.isClosed();
  });
  if (!assembler.isClosed()) reader.end();
  return assembler.finish();
}

async function openResponse(call: HttpCall, deps: HttpDeps, guard: Guard): Promise<Response> {
  // why: a redirect could carry the key to another host
  const init: RequestInit = { method: call.method, headers: call.headers, signal: guard.signal, redirect: 'manual' };
  if (call.body !== undefined) init.body = call.body;
  let response: Response;
  try {
    const pending = deps.fetch(call.url, init);
    pending
      .then(
        (late) => (guard.signal.aborted ? late.body?.cancel() : undefined),
        () => {},
      )
      .catch(() => {});
    response = await untilAborted(pending, guard.signal);
  } catch (cause) {
    throw guard.failure() ?? transportError(cause, call);
  }
  if (response.status >= 200 && response.status < 300) return response;
  const body = await readText(response, call, guard, maxErrorBytes);
  throw classifyHttpFailure({
    status: response.status,
    body,
    retryAfterMs: parseRetryAfter(response.headers.get('retry-after'), deps.now()),
    secrets: call.secrets,
  });
}

/** The body as text; an error body is cut at the limit, an answer over it is refused. */
async function readText(response: Response, call: HttpCall, guard: Guard, limit: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  await readChunks(response, call, guard, Number.POSITIVE_INFINITY, (chunk) => {
    text += decoder.decode(chunk, { stream: true });
    size += chunk.byteLength;
    if (size > limit && response.ok) throw tooLarge();
    return size <= limit;
  });
  return text + decoder.decode();
}

/** Gives the chunks of a body to `onChunk` until the body ends or `onChunk` wants no more. */
async function readChunks(
  response: Response,
  call: HttpCall,
  guard: Guard,
  limit: number,
  onChunk: (chunk: Uint8Array) => boolean,
): Promise<void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  // why: cancelling the reader ends a pending read even when the body ignores the signal of its request
  const stop = (): void => void reader.cancel().catch(() => {});
  guard.signal.addEventListener('abort', stop, { once: true });
  let size = 0;
  let isOver = false;
  let wantsMore = true;
  try {
    while (wantsMore) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        isOver = true;
        throw guard.failure() ?? transportError(cause, call);
      });
      const failure = guard.failure();
      if (failure !== undefined) throw failure;
      isOver = done;
      if (value === undefined) return;
      guard.sawBytes();
      size += value.byteLength;
      if (size > limit) throw tooLarge();
      wantsMore = onChunk(value);
    }
  } finally {
    guard.signal.removeEventListener('abort', stop);
    if (!isOver) {
      if (wantsMore) stop();
      else void drain(reader);
    }
  }
}

/** Reads a stream that has said all to its end, for a moment; never rejects. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), drainMs);
  timer.unref();
  try {
    while (!(await reader.read()).done);
  } catch {
    // the answer is complete: how its connection ends does not matter
  } finally {
    clearTimeout(timer);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw malformedJson(text, cause);
  }
}

function tooLarge(): EngineError {
  return new EngineError('server_error', `the answer is larger than ${maxAnswerBytes} bytes`);
}

function seconds(ms: number): string {
  return `${ms / 1000} seconds`;
}
