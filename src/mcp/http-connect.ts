import type { Transport } from '@modelcontextprotocol/client';
import { type EngineError, isEngineError } from '../protocol/error.ts';
import type { McpExit } from '../protocol/mcp.ts';
import { childSignal, untilAborted } from '../protocol/signal.ts';
import type { Bearer } from './bearer.ts';
import type { McpClient } from './client.ts';
import type { Connected, ConnectStart, Link } from './connect-deps.ts';
import { connectError, mcpError } from './errors.ts';
import { findEra, shakeHands } from './handshake.ts';
import { createServerFetch } from './http-fetch.ts';
import { readHttpError, toHttpFailure } from './http-failure.ts';
import type { Sdk } from './oauth/discovery.ts';
import { settingInvalid } from './oauth/errors.ts';
import { createMcpTransport } from './transport.ts';

/** Requests of one server at a time (mcp-host section 7). */
const maxRequests = 16;
const farewellMs = 2_000;

/**
 * Connects to a web server: Streamable HTTP in both eras, then the deprecated HTTP+SSE transport where the table of
 * mcp-host 4.2 says so.
 * @throws EngineError
 */
export async function connectHttp(start: ConnectStart): Promise<Connected> {
  const { record } = start;
  if (record.type === 'sse') return await connectWith(start, 'sse');
  try {
    return await connectWith(start, 'http');
  } catch (error) {
    const status = statusOf(error);
    const isOlder = status === 400 || status === 404 || status === 405;
    if (!isOlder || record.type_is_fixed || record.protocol === 'modern') throw error;
    try {
      return await connectWith(start, 'sse');
    } catch {
      // why: what the address answered as the newer transport says more than that it is not the older one
      throw error;
    }
  }
}

async function connectWith(start: ConnectStart, kind: 'http' | 'sse'): Promise<Connected> {
  const link = await openLink(start, kind);
  try {
    const client = await greet(link, start, kind);
    return { client, carrier: link.carrier };
  } catch (error) {
    await link.carrier.stop();
    throw toConnectFailure(error);
  }
}

async function greet(link: Link, start: ConnectStart, kind: 'http' | 'sse'): Promise<McpClient> {
  // why: the deprecated transport exists in the legacy era only
  if (kind === 'sse' || start.record.protocol === 'legacy') return await shakeHands(link, { kind: 'legacy' }, start);
  const { verdict } = await findEra(link, start, 'http');
  return await shakeHands(link, verdict, start);
}

async function openLink(start: ConnectStart, kind: 'http' | 'sse'): Promise<Link> {
  const { record, timeouts, input, deps } = start;
  const url = new URL(record.url ?? '');
  const sdk = await import('@modelcontextprotocol/client');
  const { SSEClientTransport, StreamableHTTPClientTransport } = sdk;
  const bearer = await openBearer(start, kind, url, sdk);
  const end = createEnd();
  const closedError = (): EngineError => mcpError('closed', 'connection ended');
  const options = {
    fetch: createServerFetch({
      url,
      headers: record.headers,
      fetch: deps.fetch,
      onStatus: forgetSession,
      // why: without a request it is a stream of notices, unless all answers come over the one stream
      onOversized: (id) => {
        if (id !== undefined || kind === 'sse') transport.dropOversized(id);
      },
      answersElsewhere: kind === 'sse',
      ...(bearer === undefined ? {} : { bearer }),
    }),
    requestInit: { redirect: 'manual' },
  } as const;
  const inner: Transport =
    kind === 'sse' ? new SSEClientTransport(url, options) : new StreamableHTTPClientTransport(url, options);
  const transport = createMcpTransport({
    server: record.name,
    kind,
    inner,
    client: deps.identity,
    input,
    clock: deps.clock,
    taskMaxMs: timeouts.task_max_ms,
    maxInFlight: maxRequests,
    closedError,
    onError: endBrokenStream,
    onClosed: () => end.settle(false),
  });
  let stopping: Promise<McpExit> | undefined;

  /** A legacy server that no longer knows the session: only a new connection helps. */
  function forgetSession(status: number): void {
    if (status === 404 && inner.sessionId !== undefined) close();
  }

  /** In the deprecated transport every answer comes over the one stream: without it nothing pending can end. */
  function endBrokenStream(error: Error): void {
    if (kind === 'sse' && readHttpError(error)?.kind !== undefined && 'event' in error) close();
  }

  function close(): void {
    transport.close().catch(() => {
      // why: it is over either way
    });
  }

  return {
    transport,
    closedError,
    carrier: {
      kind,
      sandbox: 'none',
      exited: end.settled,
      stderrTail: () => [],
      stop: () =>
        (stopping ??= (async () => {
          if (inner instanceof StreamableHTTPClientTransport) await sayFarewell(() => inner.terminateSession());
          end.settle(true);
          await transport.close();
          return await end.settled;
        })()),
    },
  };
}

/** @throws EngineError `config_invalid` for a record that has both a token and a header of its own in its place */
async function openBearer(start: ConnectStart, kind: 'http' | 'sse', url: URL, sdk: Sdk): Promise<Bearer | undefined> {
  const { record, deps } = start;
  const credentials = deps.credentials?.(record);
  if (credentials === undefined) return undefined;
  if (Object.keys(record.headers).some((name) => name.toLowerCase() === 'authorization')) {
    if ((await credentials.token()) === undefined) return undefined;
    throw settingInvalid(record.name, 'headers.Authorization is refused while a token is stored for the server');
  }
  return {
    credentials,
    // why: in the older transport the server names another path of its own for requests
    covers: (target) => target.origin === url.origin && (kind === 'sse' || target.pathname === url.pathname),
    readChallenge(response) {
      const { resourceMetadataUrl, scope, error } = sdk.extractWWWAuthenticateParams(response);
      return {
        isInsufficient: response.status === 403 && error === 'insufficient_scope',
        ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
        ...(scope === undefined ? {} : { scope }),
      };
    },
  };
}

/** Tells a legacy server that the session is over (DELETE), if it has one; it need not answer. */
async function sayFarewell(terminate: () => Promise<void>): Promise<void> {
  using limit = childSignal(undefined, farewellMs);
  try {
    await untilAborted(terminate(), limit.signal);
  } catch {
    // why: the session ends on the server's side by itself
  }
}

function createEnd(): { readonly settled: Promise<McpExit>; settle(expected: boolean): void } {
  let resolve: (exit: McpExit) => void = () => {};
  const settled = new Promise<McpExit>((settle) => {
    resolve = settle;
  });
  return {
    settled,
    settle: (expected) => resolve({ exit_code: null, signal: null, strays_killed: 0, stderr_tail: [], expected }),
  };
}

function statusOf(error: unknown): number | undefined {
  const failure = readHttpError(error);
  return failure?.kind === 'status' ? failure.status : undefined;
}

/** What the exchange failed with, in the words of a connect. */
function toConnectFailure(error: unknown): unknown {
  if (!isEngineError(error))
    return toHttpFailure(error) ?? connectError('connect_failed', 'the connection broke.', { cause: error });
  if (error.code !== 'closed') return error;
  const text = 'the connection broke. The program ended or refused before speaking MCP.';
  return connectError('connect_failed', text, { cause: error });
}
