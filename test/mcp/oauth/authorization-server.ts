import { createHash, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../../src/protocol/json.ts';
import { type HttpRequest, json, modernHttp, page, startHttp, type HttpServer } from '../http-server.ts';

/** Answers in the place of the well-behaved server; returns whether it did. */
type Instead = (request: HttpRequest, response: ServerResponse) => boolean;

/** What is different from a server that does everything right. */
export interface Faults {
  /** Changes the metadata of the resource; undefined: there is none. */
  readonly resource?: (metadata: JsonObject, origin: string) => JsonObject | undefined;
  /** Changes the metadata of the authorization server; undefined: there is none. */
  readonly metadata?: (metadata: JsonObject, origin: string) => JsonObject | undefined;
  /** Answers of the MCP server to requests with a good token. */
  readonly mcp?: Instead;
  readonly register?: Instead;
  readonly token?: Instead;
  /** More members of a token answer, or others in their place. */
  readonly tokenMembers?: JsonObject;
  /** More parameters of the address the browser is sent to. */
  readonly callback?: (given: URLSearchParams, origin: string) => void;
  /** Scope without which tools cannot be called. */
  readonly callScope?: string;
  readonly challengeScope?: string;
}

export interface ProtectedServer {
  readonly url: string;
  readonly origin: string;
  readonly http: HttpServer;
  /** Queries of the authorization requests, in order. */
  readonly asked: readonly URLSearchParams[];
  /** Bodies of the token requests, in order. */
  readonly exchanges: readonly URLSearchParams[];
  readonly registrations: readonly JsonObject[];
  readonly revoked: readonly URLSearchParams[];
  /** The MCP requests that came with a good token. */
  served(): readonly HttpRequest[];
  /** From now on every token issued so far is refused. */
  expireAll(): void;
}

/** An MCP server that wants a token, and its authorization server, both real and on one port of this machine. */
export async function startProtected(faults: Faults = {}): Promise<ProtectedServer> {
  const asked: URLSearchParams[] = [];
  const exchanges: URLSearchParams[] = [];
  const registrations: JsonObject[] = [];
  const revoked: URLSearchParams[] = [];
  const served: HttpRequest[] = [];
  const codes = new Map<string, URLSearchParams>();
  const access = new Map<string, string>();
  const refresh = new Map<string, string>();
  const mcp = modernHttp(faults.mcp);

  const server = await startHttp(async (request, response) => {
    const { origin } = new URL(server.url);
    const url = new URL(request.path, origin);
    switch (url.pathname) {
      case '/mcp':
        return await serve(request, response, origin);
      case '/.well-known/oauth-protected-resource/mcp':
        return answer(
          response,
          change(faults.resource, { resource: server.url, authorization_servers: [origin] }, origin),
        );
      case '/.well-known/oauth-authorization-server':
        return answer(response, change(faults.metadata, metadata(origin), origin));
      case '/register':
        registrations.push(request.message);
        if (faults.register?.(request, response) === true) return;
        return json(response, { ...request.message, client_id: `client-${registrations.length}` }, 201);
      case '/authorize':
        return authorize(url, response, origin);
      case '/token':
        exchanges.push(new URLSearchParams(request.body));
        if (faults.token?.(request, response) === true) return;
        return exchange(new URLSearchParams(request.body), response);
      case '/revoke':
        revoked.push(new URLSearchParams(request.body));
        response.writeHead(200).end();
        return;
      default:
        return page(response, 404);
    }
  });

  async function serve(request: HttpRequest, response: ServerResponse, origin: string): Promise<void> {
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const scope = access.get(token);
    const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    if (scope === undefined) {
      const wanted = faults.challengeScope === undefined ? '' : `, scope="${faults.challengeScope}"`;
      return page(response, 401, { 'www-authenticate': `Bearer ${where}${wanted}` });
    }
    if (
      request.rpc === 'tools/call' &&
      faults.callScope !== undefined &&
      !scope.split(' ').includes(faults.callScope)
    ) {
      const error = `error="insufficient_scope", scope="${faults.callScope}"`;
      return page(response, 403, { 'www-authenticate': `Bearer ${error}, ${where}` });
    }
    served.push(request);
    await mcp(request, response);
  }

  function authorize(url: URL, response: ServerResponse, origin: string): void {
    asked.push(url.searchParams);
    const target = new URL(url.searchParams.get('redirect_uri') ?? '');
    const code = randomUUID();
    codes.set(code, url.searchParams);
    target.searchParams.set('code', code);
    target.searchParams.set('state', url.searchParams.get('state') ?? '');
    faults.callback?.(target.searchParams, origin);
    response.writeHead(302, { location: target.href }).end();
  }

  function exchange(given: URLSearchParams, response: ServerResponse): void {
    const request = codes.get(given.get('code') ?? '');
    const granted = request?.get('scope') ?? refresh.get(given.get('refresh_token') ?? '');
    const isProven =
      request === undefined
        ? refresh.delete(given.get('refresh_token') ?? '')
        : request.get('code_challenge') === s256(given.get('code_verifier') ?? '') &&
          request.get('redirect_uri') === given.get('redirect_uri');
    codes.delete(given.get('code') ?? '');
    if (!isProven) return json(response, { error: 'invalid_grant', error_description: 'no <b>such</b> grant' }, 400);
    const [access_token, refresh_token] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    access.set(access_token, granted ?? '');
    refresh.set(refresh_token, granted ?? '');
    json(response, { access_token, token_type: 'Bearer', expires_in: 3_600, refresh_token, ...faults.tokenMembers });
  }

  const { origin } = new URL(server.url);
  return {
    url: server.url,
    origin,
    http: server,
    asked,
    exchanges,
    registrations,
    revoked,
    served: () => served,
    expireAll: () => access.clear(),
  };
}

function metadata(origin: string): JsonObject {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/revoke`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  };
}

function change(fault: Faults['metadata'], value: JsonObject, origin: string): JsonObject | undefined {
  return fault === undefined ? value : fault(value, origin);
}

function answer(response: ServerResponse, body: JsonObject | undefined): void {
  if (body === undefined) page(response, 404);
  else json(response, body);
}

function s256(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}
