import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openMcpConnection } from '../../src/mcp/connect.ts';
import { requireServerRecord } from '../../src/mcp/record.ts';
import type { EngineError } from '../../src/protocol/error.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import {
  type HttpAnswer,
  type HttpRequest,
  type HttpServer,
  json,
  legacyHttp,
  modernHttp,
  page,
  result,
  rpcError,
  sseHttp,
  startHttp,
  stream,
} from './http-server.ts';
import { connect, connectDeps, failureOf, textOf } from './support.ts';

const web = (url: string, more: JsonObject = {}) => ({ name: 'web', url, ...more });

function onDiscover(answer: (request: HttpRequest, response: ServerResponse) => void): HttpAnswer {
  return legacyHttp((request, response) => {
    if (request.rpc !== 'server/discover') return false;
    answer(request, response);
    return true;
  });
}

describe('verdicts over HTTP (mcp-host 4.2, MP2)', () => {
  test('modern: one POST per request, headers as the revision says, no initialize, no GET, no session', async () => {
    const server = await startHttp(modernHttp());

    const connection = await connect(web(server.url, { headers: { 'X-Key': 'abc' } }));
    await connection.listTools();
    const answer = await connection.callTool('work', {});
    await connection.stop();

    expect(connection).toMatchObject({ era: 'modern', transport: 'http', sandbox: 'none' });
    expect(textOf(answer.content)).toBe('done');
    expect(server.requests.map(({ verb, rpc }) => `${verb} ${rpc}`)).toEqual([
      'POST server/discover',
      'POST tools/list',
      'POST tools/call',
    ]);
    expect(
      server.requests.map(({ headers }) => [
        headers['mcp-protocol-version'],
        headers['mcp-method'],
        headers['mcp-name'],
        headers['x-key'],
      ]),
    ).toEqual([
      ['2026-07-28', 'server/discover', undefined, 'abc'],
      ['2026-07-28', 'tools/list', undefined, 'abc'],
      ['2026-07-28', 'tools/call', 'work', 'abc'],
    ]);
  });

  test.each([
    ['7', 7_000],
    ['-1', undefined],
    ['0x10', undefined],
    ['soon', undefined],
  ])('503 with Retry-After %s', async (header, retryAfterMs) => {
    const server = await startHttp(onDiscover((_, response) => page(response, 503, { 'retry-after': header })));

    const error = await openMcpConnection(requireServerRecord(web(server.url)), connectDeps()).catch(
      (cause: unknown) => cause as EngineError,
    );

    expect(error).toMatchObject({ code: 'http_error', retryAfterMs });
  });
});

describe('the deprecated HTTP+SSE transport', () => {
  test('when its stream breaks, pending calls fail at once and the connection has ended', async () => {
    const sse = sseHttp();
    const server = await startHttp(sse.answer);
    const connection = await connect(web(server.url, { type: 'sse' }));
    const call = failureOf(connection.callTool('silent', {}));
    await server.until(() => server.rpcs().includes('tools/call'));

    sse.end();

    expect((await call).code).toBe('closed');
    expect(await connection.exited).toMatchObject({ exit_code: null, expected: false });
  });
});

describe('calls over HTTP (mcp-host 5.6, 7)', () => {
  const onCall = (answer: (request: HttpRequest, response: ServerResponse) => void): HttpAnswer =>
    modernHttp((request, response) => {
      if (request.rpc !== 'tools/call') return false;
      answer(request, response);
      return true;
    });

  test('progress and result in an event stream', async () => {
    const server = await startHttp(
      onCall((request, response) => {
        const token = (request.message['params'] as JsonObject)['_meta'] as JsonObject;
        stream(response, [
          {
            jsonrpc: '2.0',
            method: 'notifications/progress',
            params: { progressToken: token['progressToken'] ?? null, progress: 1, message: 'half' },
          },
          result(request, { resultType: 'complete', content: [{ type: 'text', text: 'streamed' }] }),
        ]);
      }),
    );
    const connection = await connect(web(server.url));
    const progress: unknown[] = [];

    const answer = await connection.callTool('work', {}, { onProgress: (entry) => progress.push(entry) });

    expect(textOf(answer.content)).toBe('streamed');
    expect(progress).toEqual([{ progress: 1, message: 'half' }]);
  });

  test('cancelling closes the stream and sends nothing', async () => {
    const server = await startHttp(onCall((_, response) => stream(response, [], true)));

    const { code } = await cancelCall(server);

    expect(code).toBe('call_cancelled');
    await server.until(() => server.aborted.length > 0);
    expect(server.rpcs()).not.toContain('notifications/cancelled');
  });

  test('cancelling a call of the legacy era closes the stream too', async () => {
    const server = await startHttp(
      legacyHttp((request, response) => {
        if (request.rpc !== 'tools/call') return false;
        stream(response, [], true);
        return true;
      }),
    );

    const { code } = await cancelCall(server);

    expect(code).toBe('call_cancelled');
    await server.until(() => server.aborted.length > 0);
    await server.until(() => server.rpcs().includes('notifications/cancelled'));
  });

  test.each<[string, (request: HttpRequest, response: ServerResponse) => void, string]>([
    ['a stream that ends without the result', (_, response) => stream(response, []), 'closed'],
    [
      'a stream with another answer',
      (_, response) => stream(response, [{ jsonrpc: '2.0', id: 999, result: {} }]),
      'closed',
    ],
    [
      'a stream that breaks',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"jsonrpc"');
        setImmediate(() => response.destroy());
      },
      'closed',
    ],
    ['broken JSON', (_, response) => json(response, '{ nope'), 'result_invalid'],
    ['JSON of something else', (_, response) => json(response, '{"hello":1}'), 'result_invalid'],
    ['a page', (_, response) => page(response, 200), 'http_error'],
    ['a server error', (_, response) => page(response, 502), 'http_error'],
    [
      '404 with an error of the protocol',
      (request, response) => json(response, rpcError(request, -32_601), 404),
      'remote',
    ],
    ['404 with a page', (_, response) => page(response, 404), 'http_error'],
    ['401', (_, response) => page(response, 401), 'needs_auth'],
    ['403', (_, response) => page(response, 403), 'auth_forbidden'],
    ['a redirect', (_, response) => page(response, 302, { location: '/other' }), 'http_error'],
    ['an accepted request without an answer', (_, response) => void response.writeHead(202).end(), 'closed'],
    [
      'an event over 16 MiB',
      (request, response) =>
        stream(response, [result(request, { resultType: 'complete', content: [], pad: 'x'.repeat(17 * 1024 * 1024) })]),
      'result_invalid',
    ],
    [
      'too much at once',
      (request, response) =>
        json(response, result(request, { resultType: 'complete', content: [], pad: 'x'.repeat(17 * 1024 * 1024) })),
      'result_invalid',
    ],
  ])('%s', async (_, answer, code) => {
    const server = await startHttp(
      onCall((request, response) =>
        request.count === 0
          ? answer(request, response)
          : json(response, result(request, { resultType: 'complete', content: [] })),
      ),
    );
    const connection = await connect(web(server.url));

    expect((await failureOf(connection.callTool('work', {}))).code).toBe(code);
    expect((await connection.callTool('work', {})).content).toEqual([]);
    expect(server.rpcs().filter((rpc) => rpc === 'tools/call')).toHaveLength(2);
  });

  test.each([
    [1, undefined],
    [9, 'closed'],
  ])('a list whose stream ended %d times is asked for once more, with a new id', async (failing, code) => {
    const server = await startHttp(
      modernHttp((request, response) => {
        if (request.rpc !== 'tools/list' || request.count >= failing) return false;
        stream(response, []);
        return true;
      }),
    );
    const listing = (await connect(web(server.url))).listTools();

    if (code === undefined) expect((await listing).tools).toHaveLength(1);
    else expect((await failureOf(listing)).code).toBe(code);
    const [first, second, ...more] = server.requests.filter((request) => request.rpc === 'tools/list');
    expect(more).toEqual([]);
    expect(second?.message['id']).not.toBe(first?.message['id']);
  });

  test.each([429, 503])(
    'a call that meets %d with Retry-After fails with that time and is not repeated',
    async (status) => {
      const server = await startHttp(onCall((_, response) => page(response, status, { 'retry-after': '7' })));
      const connection = await connect(web(server.url));

      const error = await connection.callTool('work', {}).catch((cause: unknown) => cause as EngineError);

      expect(error).toMatchObject({ code: 'http_error', retryAfterMs: 7_000 });
      expect(server.rpcs().filter((rpc) => rpc === 'tools/call')).toHaveLength(1);
    },
  );

  test('requests of one server share connections', async () => {
    const ports = new Set<number | undefined>();
    const server = await startHttp(modernHttp());
    const connection = await connect(web(server.url));

    for (let call = 0; call < 20; call += 1) await connection.callTool('work', {});
    for (const request of server.requests) ports.add(request.port);

    expect(ports.size).toBeLessThan(4);
  });

  test('parameters are mirrored in headers, tools with bad declarations are left out, -32020 is repaired once', async () => {
    const header = (name: string): JsonObject => ({
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': name } },
    });
    const server = await startHttp(
      modernHttp((request, response) => {
        if (request.rpc === 'tools/list') {
          const tools = [
            { name: 'work', inputSchema: header(request.count === 0 ? 'Old' : 'Region') },
            { name: 'bad', inputSchema: header('no good') },
          ];
          json(response, result(request, { resultType: 'complete', tools, ttlMs: 60_000, cacheScope: 'private' }));
          return true;
        }
        if (request.rpc === 'tools/call' && request.headers['mcp-param-region'] === undefined) {
          json(response, rpcError(request, -32_020), 400);
          return true;
        }
        return false;
      }),
    );
    const connection = await connect(web(server.url));
    expect((await connection.listTools()).rejected).toEqual([{ name: 'bad', reason: 'header_declaration' }]);

    expect(textOf((await connection.callTool('work', { region: 'eu' })).content)).toBe('done');

    const calls = server.requests.filter((request) => request.rpc === 'tools/call');
    expect(calls.map((request) => request.headers['mcp-param-region'])).toEqual([undefined, 'eu']);
  });

  test('at most 16 requests of a server are on their way; one that gives up while waiting is never sent', async () => {
    const held: (() => void)[] = [];
    const server = await startHttp(
      onCall((request, response) =>
        held.push(() => json(response, result(request, { resultType: 'complete', content: [] }))),
      ),
    );
    const connection = await connect(web(server.url));
    const caller = new AbortController();
    const calls = Array.from({ length: 20 }, () => connection.callTool('work', {}));
    const impatient = failureOf(connection.callTool('work', {}, { signal: caller.signal }));
    await server.until(() => held.length === 16);
    caller.abort();
    expect((await impatient).code).toBe('call_cancelled');
    expect(held).toHaveLength(16);

    for (let index = 0; index < 20; index += 1) {
      await server.until(() => held[index] !== undefined);
      held[index]?.();
    }

    expect(await Promise.all(calls)).toHaveLength(20);
    expect(held).toHaveLength(20);
  });

  test('a legacy session is ended with DELETE, and one the server forgot is a closed connection', async () => {
    const server = await startHttp(
      legacyHttp((request, response) => {
        if (request.rpc !== 'tools/call') return false;
        json(response, rpcError(request, -32_001), 404);
        return true;
      }),
    );
    const first = await connect(web(server.url));
    await first.listTools();
    await first.stop();
    expect(server.requests.at(-1)).toMatchObject({ verb: 'DELETE', headers: { 'mcp-session-id': 'session-1' } });

    const second = await connect(web(server.url));
    await failureOf(second.callTool('work', {}));
    expect(await second.exited).toMatchObject({ expected: false });
  });

  test('headers of the record go to its own origin only (OA10)', async () => {
    const seen: [string, string | null][] = [];
    const server = await startHttp(modernHttp());
    const fetchSeen: typeof fetch = async (input, init) => {
      seen.push([
        new URL(input instanceof Request ? input.url : input).origin,
        new Headers(init?.headers).get('x-secret'),
      ]);
      return await fetch(input, init);
    };

    const connection = await connect(web(server.url, { headers: { 'X-Secret': 's' } }), { fetch: fetchSeen });
    await connection.listTools();

    expect(new Set(seen.map((entry) => entry.join()))).toEqual(new Set([`${new URL(server.url).origin},s`]));
  });

  test('tasks work the same, and the task id is the name in the header', async () => {
    const task = { taskId: 'task-7', createdAt: 'x', lastUpdatedAt: 'x', ttlMs: null, pollIntervalMs: 1 };
    const server = await startHttp(
      modernHttp((request, response) => {
        if (request.rpc === 'tools/call')
          json(response, result(request, { resultType: 'task', status: 'working', ...task }));
        else if (request.rpc === 'tasks/get') {
          json(
            response,
            result(request, {
              resultType: 'complete',
              status: 'completed',
              result: { content: [{ type: 'text', text: 'later' }] },
              ...task,
            }),
          );
        } else return false;
        return true;
      }),
    );
    const connection = await connect(web(server.url));

    expect(textOf((await connection.callTool('work', {})).content)).toBe('later');
    expect(server.requests.find((request) => request.rpc === 'tasks/get')?.headers['mcp-name']).toBe('task-7');
  });

  test('questions inside results are answered over HTTP too', async () => {
    const server = await startHttp(
      onCall((request, response) =>
        json(
          response,
          request.count === 0
            ? result(request, {
                resultType: 'input_required',
                requestState: 's',
                inputRequests: { r: { method: 'roots/list' } },
              })
            : result(request, { resultType: 'complete', content: [] }),
        ),
      ),
    );

    await (await connect(web(server.url))).callTool('work', {});

    expect(server.requests.at(-1)?.message).toMatchObject({
      params: { requestState: 's', inputResponses: { r: { roots: [] } } },
    });
  });
});

/** Gives a call up once the server has it. */
async function cancelCall(server: HttpServer): ReturnType<typeof failureOf> {
  const connection = await connect(web(server.url));
  const caller = new AbortController();
  const call = failureOf(connection.callTool('work', {}, { signal: caller.signal }));
  await server.until(() => server.rpcs().includes('tools/call'));
  caller.abort(new Error('enough'));
  return await call;
}
