import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openMcpConnection } from '../../src/mcp/connect.ts';
import { requireServerRecord } from '../../src/mcp/record.ts';
import { isEngineError } from '../../src/protocol/error.ts';
import type { Json, JsonObject } from '../../src/protocol/json.ts';
import type { McpServerInput } from '../../src/protocol/mcp.ts';
import {
  type HttpAnswer,
  type HttpRequest,
  json,
  legacyHttp,
  page,
  rpcError,
  sseHttp,
  startHttp,
  stream,
} from './http-server.ts';
import {
  connect,
  connectDeps,
  failureOf,
  isAlive,
  legacyScript,
  onCleanup,
  type Script,
  scriptedServer,
  type Step,
  textOf,
  tool,
} from './support.ts';

/** What came of a connect: the era, or the code and text of its failure; and what the server was asked for. */
interface Outcome {
  readonly verdict: string;
  readonly message: string;
  readonly asked: readonly string[];
}

const ours = '2026-07-28';
const mismatch = (list: string): string =>
  `Connect failed: the server speaks only ${list}; this client speaks 2026-07-28.`;

function discover(supportedVersions: Json, more: JsonObject = {}): Step {
  return {
    result: {
      resultType: 'complete',
      supportedVersions,
      capabilities: { tools: {} },
      ttlMs: 0,
      cacheScope: 'private',
      ...more,
    },
  };
}

function refusal(data?: Json): Step {
  return { error: { code: -32_022, message: 'no', ...(data === undefined ? {} : { data }) } };
}

async function outcomeOf(record: McpServerInput, asked: () => readonly string[]): Promise<Outcome> {
  try {
    const connection = await openMcpConnection(requireServerRecord(record), connectDeps());
    onCleanup(async () => void (await connection.stop()));
    // the first call proves that the era is one the server can be used in
    await connection.callTool('work', {});
    return { verdict: connection.era, message: '', asked: asked().filter((method) => method !== 'tools/call') };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return { verdict: error.code, message: error.message, asked: asked() };
  }
}

async function overStdio(probe: readonly Step[], more: JsonObject = {}) {
  const server = scriptedServer(legacyScript({ 'server/discover': probe }), more);
  const outcome = await outcomeOf(server.record, server.methods);
  return { ...outcome, starts: server.starts().length };
}

/** The answers of a script over HTTP; the status of errors is `status`. */
async function overHttp(probe: readonly Step[], status = 200): Promise<Outcome> {
  const server = await startHttp(
    onDiscover((request, response) => {
      const step = probe[Math.min(request.count, probe.length - 1)] ?? {};
      json(response, { jsonrpc: '2.0', id: request.message['id'] ?? null, ...step }, 'result' in step ? 200 : status);
    }),
  );
  return await outcomeOf({ name: 'web', url: server.url }, server.rpcs);
}

function onDiscover(answer: (request: HttpRequest, response: ServerResponse) => void): HttpAnswer {
  return legacyHttp((request, response) => {
    if (request.rpc !== 'server/discover') return false;
    answer(request, response);
    return true;
  });
}

const probes = (count: number): readonly string[] => Array<string>(count).fill('server/discover');
const modern = (count = 1): Outcome => ({ verdict: 'modern', message: '', asked: probes(count) });
const legacy: Outcome = {
  verdict: 'legacy',
  message: '',
  asked: ['server/discover', 'initialize', 'notifications/initialized'],
};
const refused = (message: string, count = 1): Outcome => ({
  verdict: 'version_mismatch',
  message,
  asked: probes(count),
});

/** The rows of mcp-host 4.2 whose answer is a message, so that they are the same on every transport. */
const answers: readonly (readonly [string, readonly Step[], Outcome])[] = [
  ['discover result, list contains 2026-07-28', [discover([ours])], modern()],
  ['discover result, list contains 2026-07-28 and others', [discover(['2025-11-25', ours, '2027-01-01'])], modern()],
  ['discover result, list without 2026-07-28', [discover(['2027-01-01'])], refused(mismatch('2027-01-01'))],
  ['discover result, older version only', [discover(['2025-11-25'])], refused(mismatch('2025-11-25'))],
  [
    'discover result, older versions only',
    [discover(['2025-06-18', '2024-11-05'])],
    refused(mismatch('2025-06-18, 2024-11-05')),
  ],
  ['-32022 with 2026-07-28, then a result', [refusal({ supported: [ours] }), discover([ours])], modern(2)],
  [
    '-32022 with 2026-07-28 twice',
    [refusal({ supported: [ours], requested: ours })],
    refused('Connect failed: the server offers 2026-07-28 and refuses requests of it.', 2),
  ],
  [
    '-32022 with another list',
    [refusal({ supported: ['2027-01-01', '2028-01-01'] })],
    refused(mismatch('2027-01-01, 2028-01-01')),
  ],
  ['-32022 with an older list', [refusal({ supported: ['2025-11-25'] })], refused(mismatch('2025-11-25'))],
  ['-32022 without a list', [refusal()], legacy],
  ['-32022 with an empty list', [refusal({ supported: [] })], legacy],
  ['-32022 with a list that is none', [refusal({ supported: 'x' })], legacy],
  ['-32022 with a list of numbers', [refusal({ supported: [1] })], legacy],
  ...[-32_601, -32_602, -32_600, -32_000, -32_020, -32_021, 1].map(
    (code) => [`error ${code}`, [{ error: { code, message: 'no' } }], legacy] as const,
  ),
  ['malformed result: null', [{ result: null }], legacy],
  ['malformed result: a text', [{ result: 'x' }], legacy],
  ['malformed result: a list', [{ result: [] }], legacy],
  ['malformed result: no versions', [{ result: { hello: 'world' } }], legacy],
  ['malformed result: an empty list of versions', [discover([])], legacy],
  ['malformed result: versions that are no texts', [discover([20_260_728])], legacy],
  ['malformed result: no capabilities', [discover([ours], { capabilities: null })], legacy],
  ['malformed result: an unknown kind', [discover([ours], { resultType: 'banana' })], legacy],
  ['an error that is no object', [{ error: 'what?' }], legacy],
];

describe('4.2, MP2: what a message says, stdio', () => {
  test.each(answers)('%s', async (_, steps, expected) => {
    expect(await overStdio(steps)).toEqual({ ...expected, starts: 1 });
  });
});

describe('4.2, MP2: what a message says, HTTP', () => {
  test.each(answers)('%s', async (_, steps, expected) => {
    expect(await overHttp(steps)).toEqual(expected);
  });

  test.each(answers.filter(([, [first]]) => first !== undefined && 'error' in first))(
    '%s, inside HTTP 400',
    async (_, steps, expected) => {
      expect(await overHttp(steps, 400)).toEqual(expected);
    },
  );
});

describe('4.2, MP2: what only a process can do', () => {
  const quickProbe = { timeouts: { probe_ms: 250 } };

  test('no answer within the probe time: legacy, same process; a later answer is ignored', async () => {
    const late = { jsonrpc: '2.0', id: 'vibe:1', ...discover([ours]) };
    const server = scriptedServer(
      legacyScript({
        'server/discover': [{ silent: true }],
        'tools/list': [{ before: [late], result: { tools: [tool('work')] } }],
      }),
      quickProbe,
    );

    const outcome = await outcomeOf(server.record, server.methods);

    expect(outcome).toEqual(legacy);
    expect(server.starts()).toHaveLength(1);
  });

  test.each<[string, Step]>([
    ['the process exits', { exit: 1 }],
    ['the stream closes', { closeOutput: true, stayAlive: true }],
  ])('%s: one restart, then legacy without a probe', async (_, step) => {
    expect(await overStdio([step])).toEqual({ ...legacy, starts: 2 });
  });

  test('an exit after the restart too: failed with exit code and stderr as fields, nothing left', async () => {
    const server = scriptedServer({
      'server/discover': [{ exit: 1 }],
      initialize: [{ stderr: ['one', '', 'the end'], exit: 7 }],
    });

    expect(await failureOf(openMcpConnection(requireServerRecord(server.record), connectDeps()))).toEqual({
      code: 'connect_failed',
      message: 'Connect failed: the program ended (exit code 7). The program ended or refused before speaking MCP.',
      data: { exit_code: 7, signal: null, stderr_tail: ['one', 'the end'] },
    });
    expect(server.starts()).toHaveLength(2);
    expect(server.starts().filter(isAlive)).toEqual([]);
  });

  test.each<[string, Script, string]>([
    ['silence', { 'server/discover': [{ silent: true }] }, 'connect_timeout'],
    ['an exit', { 'server/discover': [{ exit: 1 }] }, 'connect_failed'],
    ['-32601', {}, 'version_mismatch'],
  ])('protocol = modern never sends initialize: %s fails', async (_, more, code) => {
    const quick = code === 'connect_timeout' ? quickProbe : {};
    const server = scriptedServer(legacyScript(more), { protocol: 'modern', ...quick });

    expect(await outcomeOf(server.record, server.methods)).toMatchObject({ verdict: code, asked: probes(1) });
  });
});

test('4.2: protocol = legacy is the way out of a mismatch, on stdio and HTTP', async () => {
  const server = scriptedServer(legacyScript({ 'server/discover': [discover(['2027-01-01'])] }), {
    protocol: 'legacy',
  });
  const web = await startHttp(legacyHttp());
  const withoutProbe = { ...legacy, asked: legacy.asked.slice(1) };

  expect(await outcomeOf(server.record, server.methods)).toEqual(withoutProbe);
  expect(await outcomeOf({ name: 'web', url: web.url, protocol: 'legacy' }, web.rpcs)).toEqual(withoutProbe);
});

describe('4.2, MP2: what only a web server can do', () => {
  const rows: readonly (readonly [string, (request: HttpRequest, response: ServerResponse) => void, string, string])[] =
    [
      ['no answer within the probe time', () => {}, 'connect_timeout', 'Connect failed: no answer within 0.3 s.'],
      [
        'the connection breaks',
        (_, response) => response.socket?.destroy(),
        'connect_failed',
        'Connect failed: the server cannot be reached (UND_ERR_SOCKET). The program ended or refused before speaking MCP.',
      ],
      [
        'a stream that ends without an answer',
        (_, response) => stream(response, []),
        'connect_failed',
        'Connect failed: the connection broke. The program ended or refused before speaking MCP.',
      ],
      [
        'a request that is accepted and never answered',
        (_, response) => void response.writeHead(202).end(),
        'connect_failed',
        'Connect failed: the connection broke. The program ended or refused before speaking MCP.',
      ],
      ['401', (_, response) => page(response, 401), 'needs_auth', 'Authorization needed: use Connect via OAuth.'],
      ['403', (_, response) => page(response, 403), 'auth_forbidden', 'The server refused this account.'],
      ['500', (_, response) => page(response, 500), 'http_error', 'Connect failed: HTTP 500 (text/html).'],
      ['503', (_, response) => page(response, 503), 'http_error', 'Connect failed: HTTP 503 (text/html).'],
      ['HTML with 200', (_, response) => page(response, 200), 'http_error', 'Connect failed: HTTP 200 (text/html).'],
    ];

  test.each(rows)('%s: never legacy', async (_, answer, verdict, message) => {
    const server = await startHttp(onDiscover(answer));

    const quick = verdict === 'connect_timeout' ? { timeouts: { probe_ms: 300 } } : {};

    expect(await outcomeOf({ name: 'web', url: server.url, ...quick }, server.rpcs)).toEqual({
      verdict,
      message,
      asked: probes(1),
    });
  });

  test.each<[string, (request: HttpRequest, response: ServerResponse) => void]>([
    ['a redirect, not followed', (_, response) => page(response, 307, { location: '/elsewhere' })],
    ['404 with a page', (_, response) => page(response, 404)],
    ['405 with a page', (_, response) => page(response, 405)],
    ['400 with a page', (_, response) => page(response, 400)],
    ['an error without an id in 400', (_, response) => json(response, '{"error":{"code":-32000,"message":"x"}}', 400)],
    ['JSON of something else in 200', (_, response) => json(response, '{"hello":"world"}')],
    ['broken JSON in 200', (_, response) => json(response, '{ nope')],
    [
      'an error in an event stream',
      (request, response) =>
        stream(response, [{ jsonrpc: '2.0', id: request.message['id'] ?? null, error: { code: 1, message: 'no' } }]),
    ],
  ])('%s: legacy', async (_, answer) => {
    const server = await startHttp(onDiscover(answer));

    expect(await outcomeOf({ name: 'web', url: server.url }, server.rpcs)).toEqual(legacy);
    expect(server.requests.map((request) => request.path)).not.toContain('/elsewhere');
  });

  test('nobody listens: named', async () => {
    const port = await listening((socket) => socket.destroy(), true);

    expect(await outcomeOf({ name: 'web', url: `http://127.0.0.1:${port}/mcp` }, () => [])).toMatchObject({
      verdict: 'connect_failed',
      message: 'Connect failed: Connection refused. The program ended or refused before speaking MCP.',
    });
  });

  test('not HTTP', async () => {
    const port = await listening((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));

    expect(await outcomeOf({ name: 'web', url: `http://127.0.0.1:${port}/mcp` }, () => [])).toMatchObject({
      verdict: 'http_error',
      message: 'Connect failed: the answer is not HTTP.',
    });
  });

  test.each([404, 405, 400])(
    '%d also on initialize: HTTP+SSE is tried, and its failure hides nothing',
    async (status) => {
      const server = await startHttp((_, response) => page(response, status));

      const outcome = await outcomeOf({ name: 'web', url: server.url }, () =>
        server.requests.map(({ verb, rpc }) => `${verb} ${rpc}`),
      );

      expect(outcome).toEqual({
        verdict: 'http_error',
        message: `Connect failed: HTTP ${status} (text/html).`,
        asked: ['POST server/discover', 'POST initialize', 'GET '],
      });
    },
  );

  test('400 on initialize with an error of the protocol: HTTP+SSE is tried', async () => {
    const server = await startHttp((request, response) => json(response, rpcError(request, -32_600), 400));

    const outcome = await outcomeOf({ name: 'web', url: server.url }, server.rpcs);

    expect(outcome.verdict).toBe('http_error');
    expect(server.requests.at(-1)?.verb).toBe('GET');
  });

  test.each([404, 405, 400])('%d also on initialize, but type = http: http_error without a GET', async (status) => {
    const server = await startHttp((_, response) => page(response, status));

    const outcome = await outcomeOf({ name: 'web', url: server.url, type: 'http' }, server.rpcs);

    expect(outcome.verdict).toBe('http_error');
    expect(server.requests.some((request) => request.verb === 'GET')).toBe(false);
  });

  test.each([{}, { type: 'sse' }])('HTTP+SSE is found with %j', async (more) => {
    const server = await startHttp(sseHttp().answer);

    const connection = await connect({ name: 'web', url: server.url, ...more });

    expect(connection).toMatchObject({ era: 'legacy', transport: 'sse', protocol_version: '2024-11-05' });
    expect((await connection.listTools()).tools).toHaveLength(1);
    expect(textOf((await connection.callTool('work', {})).content)).toBe('over sse');
    expect(server.rpcs().includes('server/discover')).toBe(more.type !== 'sse');
  });
});

async function listening(onSocket: (socket: Socket) => void, isClosed = false): Promise<number> {
  const server = createServer((socket) => {
    // what was sent has to be read for the socket to close
    socket.resume();
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  if (isClosed) await close();
  else onCleanup(close);
  return port;
}
