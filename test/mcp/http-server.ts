import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import { createSignalBox, onCleanup } from './support.ts';

export interface HttpRequest {
  readonly verb: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The client's end of the connection. */
  readonly port: number | undefined;
  readonly body: string;
  /** The JSON-RPC message of a POST; empty otherwise. */
  readonly message: JsonObject;
  readonly rpc: string;
  /** How many requests of this verb and RPC method came before. */
  readonly count: number;
}

export type HttpAnswer = (request: HttpRequest, response: ServerResponse) => void | Promise<void>;

export interface HttpServer {
  readonly url: string;
  readonly requests: readonly HttpRequest[];
  /** The RPC methods received, in order. */
  rpcs(): readonly string[];
  /** Streams the client has closed before they ended. */
  readonly aborted: readonly HttpRequest[];
  /** Settles when the condition holds; looked at whenever a request arrives or a stream is closed. */
  until(condition: () => boolean): Promise<void>;
}

/** A web server on this machine that answers with `answer`; closed after the test. */
export async function startHttp(answer: HttpAnswer): Promise<HttpServer> {
  const requests: HttpRequest[] = [];
  const aborted: HttpRequest[] = [];
  const counts = new Map<string, number>();
  const changes = createSignalBox();
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const isJson = incoming.headers['content-type']?.includes('json') === true;
      const parsed: unknown = text === '' || !isJson ? {} : JSON.parse(text);
      const message = isJsonObject(parsed) ? parsed : {};
      const rpc = typeof message['method'] === 'string' ? message['method'] : '';
      const verb = incoming.method ?? '';
      const count = counts.get(`${verb} ${rpc}`) ?? 0;
      counts.set(`${verb} ${rpc}`, count + 1);
      const port = incoming.socket.remotePort;
      const request = {
        verb,
        path: incoming.url ?? '',
        headers: incoming.headers,
        port,
        body: text,
        message,
        rpc,
        count,
      };
      requests.push(request);
      response.on('close', () => {
        if (!response.writableFinished) aborted.push(request);
        changes.notify();
      });
      void Promise.resolve(answer(request, response));
      changes.notify();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    aborted,
    until: changes.until,
    rpcs: () => requests.filter((request) => request.rpc !== '').map((request) => request.rpc),
  };
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

export function page(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers });
  response.end('<html>hello</html>');
}

/** Writes messages as events; `isOpen` leaves the stream open. */
export function stream(response: ServerResponse, messages: readonly unknown[], isOpen = false): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const message of messages) {
    response.write(`event: message\ndata: ${typeof message === 'string' ? message : JSON.stringify(message)}\n\n`);
  }
  if (!isOpen) response.end();
}

export function result(request: HttpRequest, body: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id: request.message['id'] ?? null, result: body };
}

export function rpcError(request: HttpRequest, code: number, data?: JsonObject): JsonObject {
  const error = { code, message: 'no', ...(data === undefined ? {} : { data }) };
  return { jsonrpc: '2.0', id: request.message['id'] ?? null, error };
}

const tools = [{ name: 'work', inputSchema: { type: 'object' } }];

/** A server of the modern era; `more` answers first and returns whether it did. */
export function modernHttp(
  more: (request: HttpRequest, response: ServerResponse) => boolean = () => false,
): HttpAnswer {
  return (request, response) => {
    if (more(request, response)) return;
    if (request.verb !== 'POST') return page(response, 405);
    switch (request.rpc) {
      case 'server/discover':
        return json(
          response,
          result(request, {
            resultType: 'complete',
            supportedVersions: ['2026-07-28'],
            capabilities: { tools: {} },
            ttlMs: 0,
            cacheScope: 'private',
          }),
        );
      case 'tools/list':
        return json(response, result(request, { resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' }));
      case 'tools/call':
        return json(response, result(request, { resultType: 'complete', content: [{ type: 'text', text: 'done' }] }));
      default:
        return json(response, rpcError(request, -32_601), 404);
    }
  };
}

export function legacyHttp(
  more: (request: HttpRequest, response: ServerResponse) => boolean = () => false,
): HttpAnswer {
  return (request, response) => {
    if (more(request, response)) return;
    if (request.verb === 'DELETE') {
      response.writeHead(204).end();
      return;
    }
    if (request.verb !== 'POST') return page(response, 405);
    switch (request.rpc) {
      case 'initialize':
        return json(
          response,
          result(request, {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 'web', version: '1' },
          }),
          200,
          { 'mcp-session-id': 'session-1' },
        );
      case 'tools/list':
        return json(response, result(request, { tools }));
      case 'tools/call':
        return json(response, result(request, { content: [{ type: 'text', text: 'done' }] }));
      case 'server/discover':
        return json(response, rpcError(request, -32_601));
      default:
        response.writeHead(202).end();
    }
  };
}

/** A server of the deprecated transport only: answers come over the one event stream, which `end` breaks. */
export function sseHttp(): { readonly answer: HttpAnswer; end(): void } {
  let events: ServerResponse | undefined;
  const bodies: Record<string, JsonObject> = {
    initialize: {
      protocolVersion: '2024-11-05',
      capabilities: { tools: {} },
      serverInfo: { name: 'old', version: '1' },
    },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: 'over sse' }] },
  };
  const answer: HttpAnswer = (request, response) => {
    if (request.verb === 'GET') {
      events = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: /messages?session=1\n\n');
      return;
    }
    if (!request.path.startsWith('/messages')) return page(response, 404);
    response.writeHead(202).end('Accepted');
    const body = bodies[request.rpc];
    const isSilent = request.rpc === 'tools/call' && JSON.stringify(request.message).includes('silent');
    if (body !== undefined && !isSilent)
      events?.write(`event: message\ndata: ${JSON.stringify(result(request, body))}\n\n`);
  };
  return { answer, end: () => events?.destroy() };
}
