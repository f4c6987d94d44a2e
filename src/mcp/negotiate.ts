import { isEngineError } from '../protocol/error.ts';
import { type McpServerRecord, mcpModernVersion } from '../protocol/mcp.ts';
import { childSignal } from '../protocol/signal.ts';
import type { EraVerdict } from './client.ts';
import { connectError, mcpError, toSeconds } from './errors.ts';
import { needsAuth } from './oauth/errors.ts';
import { httpError, readHttpError, toHttpFailure } from './http-failure.ts';
import { classifyProbe, type ProbeOutcome, type ProbeVerdict, showVersions } from './probe.ts';
import { readRpcError } from './rpc-body.ts';
import type { McpTransport } from './transport.ts';

export interface NegotiateOptions {
  readonly record: McpServerRecord;
  readonly transport: McpTransport;
  readonly via: 'stdio' | 'http';
  readonly probeMs: number;
  readonly signal: AbortSignal;
}

/** The era of a server; `cause` and `restart` only for the legacy one. */
export type Negotiated =
  | { readonly verdict: EraVerdict & { readonly kind: 'modern' } }
  | {
      readonly verdict: { readonly kind: 'legacy' };
      readonly restart: boolean;
      readonly cause: 'answer' | 'silence' | 'exit';
    };

/**
 * Asks the server for its era: one `server/discover`, a second one where the table says so (mcp-host 4.2).
 * @throws EngineError for every verdict that is no era
 */
export async function negotiate(options: NegotiateOptions): Promise<Negotiated> {
  for (const isSecond of [false, true]) {
    const outcome = await probe(options);
    const verdict = classifyProbe(outcome, { transport: options.via, isSecond });
    switch (verdict.kind) {
      case 'modern':
        return { verdict };
      case 'legacy':
        if (options.record.protocol === 'modern') throw notModern(verdict.cause, options.probeMs);
        return { verdict: { kind: 'legacy' }, restart: verdict.restart, cause: verdict.cause };
      case 'refuse':
        throw refusal(verdict, options.probeMs);
      case 'again':
        break;
    }
  }
  throw connectError('version_mismatch', `the server refused ${mcpModernVersion} twice.`);
}

async function probe(options: NegotiateOptions): Promise<ProbeOutcome> {
  using limit = childSignal(options.signal, options.probeMs);
  try {
    const answer = await options.transport.request('server/discover', {}, limit.signal);
    switch (answer.kind) {
      case 'result':
        return { kind: 'result', result: answer.result };
      case 'error':
        return { kind: 'rpc_error', code: answer.error.code, data: answer.error.data };
      case 'malformed':
        return { kind: 'malformed' };
    }
  } catch (error) {
    if (limit.timedOut) return { kind: 'silence' };
    options.signal.throwIfAborted();
    if (isEngineError(error) && error.code === 'closed') return { kind: 'closed' };
    if (options.via === 'stdio') throw error;
    return httpOutcome(error);
  }
}

/** An HTTP answer without a message for us: an older server may answer the request in the body of its refusal. */
function httpOutcome(error: unknown): ProbeOutcome {
  const failure = readHttpError(error);
  if (failure?.kind === 'malformed') return { kind: 'malformed' };
  if (failure?.kind !== 'status') throw toHttpFailure(error) ?? error;
  // why: the error says when to come back, the verdict would not
  if (isEngineError(error) && (failure.status >= 500 || failure.status === 429)) throw error;
  const answered = failure.status < 500 ? readRpcError(failure.body) : undefined;
  if (answered !== undefined && failure.status !== 401 && failure.status !== 403) {
    return { kind: 'rpc_error', code: answered.code, data: answered.data };
  }
  return { kind: 'status', status: failure.status, content_type: failure.contentType };
}

function refusal(verdict: ProbeVerdict & { kind: 'refuse' }, probeMs: number): Error {
  const { code } = verdict;
  switch (code) {
    case 'version_mismatch':
      return connectError(
        code,
        verdict.offered?.includes(mcpModernVersion) === true
          ? `the server offers ${mcpModernVersion} and refuses requests of it.`
          : `the server speaks only ${showVersions(verdict.offered ?? [])}; this client speaks ${mcpModernVersion}.`,
      );
    case 'connect_timeout':
      return connectError(code, `no answer within ${toSeconds(probeMs)} s.`);
    case 'http_error':
      return httpError(verdict.status ?? 0, verdict.content_type);
    case 'needs_auth':
      return needsAuth();
    case 'auth_forbidden':
      return mcpError(code, 'The server refused this account.');
    case 'connect_failed':
      return connectError(code, 'the connection broke. The program ended or refused before speaking MCP.');
  }
}

/** The record rules out the older protocol, and this server knows no other. */
function notModern(cause: 'answer' | 'silence' | 'exit', probeMs: number): Error {
  switch (cause) {
    case 'silence':
      return connectError('connect_timeout', `no answer within ${toSeconds(probeMs)} s.`);
    case 'exit':
      return connectError('connect_failed', 'the program ended. The program ended or refused before speaking MCP.');
    case 'answer':
      return connectError(
        'version_mismatch',
        `the server does not speak ${mcpModernVersion}, and its record allows nothing else.`,
      );
  }
}
