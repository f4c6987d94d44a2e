// mcp-host 10.1, row by row, against a real authorization server.
import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json.ts';
import { createManualClock } from '../../../src/testing/manual-clock.ts';
import { json, page } from '../http-server.ts';
import { failureOf, onCleanup } from '../support.ts';
import { type Faults, startProtected } from './authorization-server.ts';
import { agree, elsewhere, freePort, startHost, tokenRow, visit } from './support.ts';

describe('a server that does everything right', () => {
  test('is used after the user agreed once, by S256, state and resource', async () => {
    const server = await startProtected();
    const { host, logger, secrets } = await startHost(server.url);

    const tools = await host.tools('web');
    await host.call('web', 'work', {});

    expect(tools.map((tool) => tool.name)).toEqual(['work']);
    expect(server.asked).toHaveLength(1);
    expect(Object.fromEntries(server.asked[0] ?? [])).toMatchObject({
      response_type: 'code',
      client_id: 'client-1',
      code_challenge_method: 'S256',
      redirect_uri: elsewhere,
      resource: server.url,
      state: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(server.asked[0]?.has('scope')).toBe(false);
    expect(
      server.exchanges.map((sent) => [sent.get('grant_type'), sent.get('resource'), sent.get('redirect_uri')]),
    ).toEqual([['authorization_code', server.url, elsewhere]]);
    expect(await tokenRow(secrets)).toMatchObject({
      v: 1,
      server_url: server.url,
      issuer: server.origin,
      client_id: 'client-1',
      token_type: 'Bearer',
      obtained_at: expect.any(Number),
      expires_at: expect.any(Number),
    });
    expect(logger.find('mcp.oauth.start')).toEqual([{ target: 'vibe::mcp', server_name: 'web' }]);
    expect(logger.find('mcp.oauth.ok')).toEqual([{ target: 'vibe::mcp', server_name: 'web' }]);
  });

  test('is registered as a native client without a secret, once', async () => {
    const server = await startProtected();
    const { host } = await startHost(server.url);
    await host.tools('web');
    await host.signOut('web');
    await host.tools('web');

    expect(server.asked).toHaveLength(2);
    expect(server.registrations).toHaveLength(1);
    expect(server.registrations[0]).toMatchObject({
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      redirect_uris: [elsewhere],
    });
  });

  test('without anyone to ask it needs authorization and says so', async () => {
    const server = await startProtected();
    const { host, events } = await startHost(server.url, {}, { onAuthorization: undefined as never });

    const failure = await failureOf(host.tools('web'));

    expect(failure).toMatchObject({ code: 'needs_auth', message: 'Authorization needed: use Connect via OAuth.' });
    expect(events.ofType('mcp_auth_needed')).toHaveLength(1);
    expect(host.servers()[0]?.state).toBe('needs_auth');
  });
});

/** What the whole operation fails with, and what was sent to whom before. */
async function failWith(faults: Faults, oauth: JsonObject = {}) {
  const server = await startProtected(faults);
  const { host, secrets, logger } = await startHost(server.url, oauth);
  const failure = await failureOf(host.tools('web'));
  return { server, failure, row: await tokenRow(secrets), logger };
}

describe('metadata', () => {
  const as = (more: JsonObject) => (metadata: JsonObject) => ({ ...metadata, ...more });
  const prm = as;

  test.each<[string, Faults, string]>([
    ['another issuer', { metadata: as({ issuer: 'https://other.example' }) }, 'oauth_issuer_mismatch'],
    [
      'an issuer with a slash more',
      { metadata: (m, origin) => ({ ...m, issuer: `${origin}/` }) },
      'oauth_issuer_mismatch',
    ],
    ['another resource', { resource: prm({ resource: 'https://other.example/mcp' }) }, 'oauth_issuer_mismatch'],
    [
      'a longer path as the resource',
      { resource: (m, origin) => ({ ...m, resource: `${origin}/mcp/x` }) },
      'oauth_issuer_mismatch',
    ],
    [
      'no announced PKCE',
      { metadata: as({ code_challenge_methods_supported: undefined as never }) },
      'oauth_pkce_unsupported',
    ],
    ['plain PKCE only', { metadata: as({ code_challenge_methods_supported: ['plain'] }) }, 'oauth_pkce_unsupported'],
    ['no code flow', { metadata: as({ response_types_supported: ['token'] }) }, 'oauth_pkce_unsupported'],
    ['http to another host', { resource: prm({ authorization_servers: ['http://as.example'] }) }, 'oauth_insecure_url'],
    ['a private address', { resource: prm({ authorization_servers: ['https://10.0.0.7'] }) }, 'oauth_insecure_url'],
    [
      'a link-local address',
      { resource: prm({ authorization_servers: ['https://169.254.169.254'] }) },
      'oauth_insecure_url',
    ],
    [
      'a user name in an address',
      { resource: prm({ authorization_servers: ['https://a:b@as.example'] }) },
      'oauth_insecure_url',
    ],
    [
      'http in the page to open',
      { metadata: as({ authorization_endpoint: 'http://as.example/a' }) },
      'oauth_insecure_url',
    ],
    ['no registration', { metadata: as({ registration_endpoint: undefined as never }) }, 'oauth_client_id_needed'],
  ])('%s is refused before anything is asked', async (_, faults, code) => {
    const { server, failure } = await failWith(faults);

    expect(failure.code).toBe(code);
    expect(server.asked).toEqual([]);
    expect(server.exchanges).toEqual([]);
  });

  test('a name that resolves to this machine is refused for a server elsewhere', async () => {
    const server = await startProtected();
    const calls: string[] = [];
    const { host } = await startHost(
      'https://mcp.example/mcp',
      {},
      {
        lookup: async () => ['127.0.0.1'],
        async fetch(input) {
          const url = new URL(input instanceof Request ? input.url : input);
          calls.push(url.host);
          if (url.pathname === '/mcp') return new Response('', { status: 401 });
          return Response.json({
            resource: 'https://mcp.example/mcp',
            authorization_servers: ['https://inside.example'],
          });
        },
      },
    );

    expect(await failureOf(host.tools('web'))).toMatchObject({ code: 'oauth_insecure_url' });
    expect(new Set(calls)).toEqual(new Set(['mcp.example']));
    expect(server.asked).toEqual([]);
  });

  test('a refused registration is told without a word of the answer', async () => {
    const { failure } = await failWith({
      register: (_, response) => {
        json(response, { error: 'invalid_client_metadata', error_description: 'CANARY' }, 400);
        return true;
      },
    });

    expect(failure.code).toBe('oauth_registration_failed');
    expect(JSON.stringify(failure)).not.toContain('CANARY');
  });
});

describe('the client id', () => {
  const announces: Faults = { metadata: (m) => ({ ...m, client_id_metadata_document_supported: true }) };
  const described = { client_metadata_url: 'https://client.example/client.json' };

  test.each<[string, Faults, JsonObject, string]>([
    ['is the configured one', announces, { client_id: 'mine', ...described }, 'mine'],
    ['is the address of its description where announced', announces, described, 'https://client.example/client.json'],
    ['is registered where such addresses are not announced', {}, described, 'client-1'],
    ['is registered without a description', announces, {}, 'client-1'],
  ])('%s', async (_, faults, oauth, expected) => {
    const server = await startProtected(faults);
    const { host } = await startHost(server.url, oauth);

    await host.tools('web');

    expect(server.asked[0]?.get('client_id')).toBe(expected);
  });

  test('a secret from the form is kept with its issuer and used, and is in no file', async () => {
    const server = await startProtected();
    const { host, secrets } = await startHost(server.url);

    const authorization = await host.authorize('web', { client_id: 'mine', client_secret: 'hush' });
    await agree(authorization);
    await authorization.done;

    const stored = await secrets.read('mcp.client.web');
    expect(stored.kind === 'found' && JSON.parse(stored.value)).toEqual({
      v: 1,
      issuer: server.origin,
      client_id: 'mine',
      client_secret: 'hush',
    });
    const request = server.http.requests.find(({ path }) => path === '/token');
    expect(request?.headers.authorization).toBe(`Basic ${Buffer.from('mine:hush').toString('base64')}`);
  });
});

describe('the scope', () => {
  const supported: Faults = { resource: (m) => ({ ...m, scopes_supported: ['a', 'b'] }) };
  const offline: Faults = { ...supported, metadata: (m) => ({ ...m, scopes_supported: ['a', 'offline_access'] }) };

  test.each<[string, Faults, JsonObject, string | null]>([
    ['of the refusal comes first', { ...supported, challengeScope: 'c' }, { scopes: 'mine' }, 'c'],
    ['of the record is next', supported, { scopes: ['mine', 'too'] }, 'mine too'],
    ['the server supports is next', supported, {}, 'a b'],
    ['is left out when nothing names one', {}, {}, null],
    ['has offline_access added where announced', offline, {}, 'a b offline_access'],
  ])('%s', async (_, faults, oauth, expected) => {
    const server = await startProtected(faults);
    const { host } = await startHost(server.url, oauth);

    await host.tools('web');

    expect(server.asked[0]?.get('scope')).toBe(expected);
  });
});

describe('the answer of the browser', () => {
  test('of another flow, doubled, without a state or without a code is refused and the flow still waits (OA1)', async () => {
    const server = await startProtected();
    const { host } = await startHost(server.url);
    const authorization = await host.authorize('web');
    const good = await visit(authorization);
    const change = (edit: (query: URLSearchParams) => void): string => {
      const url = new URL(good);
      edit(url.searchParams);
      return url.href;
    };

    for (const bad of [
      change((query) => query.set('state', 'x'.repeat(43))),
      change((query) => query.append('state', query.get('state') ?? '')),
      change((query) => query.append('code', 'other')),
      change((query) => query.delete('state')),
      change((query) => query.delete('code')),
      good.replace('client.example', 'evil.example'),
    ]) {
      expect(await failureOf(authorization.complete(bad))).toMatchObject({ code: 'oauth_state_mismatch' });
    }
    await authorization.complete(good);
    await authorization.done;

    expect(await failureOf(authorization.complete(good))).toMatchObject({ code: 'oauth_state_mismatch' });
    expect(server.exchanges).toHaveLength(1);
  });

  test('two flows of one server at once each use their own verifier (OA2)', async () => {
    const server = await startProtected();
    const { host } = await startHost(server.url);
    const [first, second] = [await host.authorize('web'), await host.authorize('web')];
    const [firstAnswer, secondAnswer] = [await visit(first), await visit(second)];

    expect(await failureOf(first.complete(secondAnswer))).toMatchObject({ code: 'oauth_state_mismatch' });
    await second.complete(secondAnswer);
    await first.complete(firstAnswer);

    await Promise.all([first.done, second.done]);
  });

  const announced: Faults['metadata'] = (m) => ({ ...m, authorization_response_iss_parameter_supported: true });
  test.each<[string, Faults]>([
    ['missing though announced', { metadata: announced }],
    ['another one', { metadata: announced, callback: (query) => query.set('iss', 'https://other.example') }],
    ['another one, not announced', { callback: (query) => query.set('iss', 'https://other.example') }],
    ['one that differs by a slash', { callback: (query, origin) => query.set('iss', `${origin}/`) }],
  ])('with an issuer that is %s is refused before the code is sent (OA5)', async (_, faults) => {
    const { server, failure } = await failWith(faults);

    expect(failure.code).toBe('oauth_issuer_mismatch');
    expect(server.exchanges).toEqual([]);
  });

  test('its error is shown by its code, and not at all when the issuer is wrong', async () => {
    const denied = (query: URLSearchParams): void => {
      query.delete('code');
      query.set('error', 'access_denied');
      query.set('error_description', 'CANARY');
    };
    const shown = await failWith({ callback: denied });
    const hidden = await failWith({
      callback: (query) => {
        denied(query);
        query.set('iss', 'https://other.example');
      },
    });

    expect(shown.failure).toMatchObject({
      code: 'oauth_callback_error',
      message: 'The authorization server refused: access_denied.',
    });
    expect(hidden.failure.code).toBe('oauth_issuer_mismatch');
    expect(hidden.failure.message).not.toContain('access_denied');
    expect(JSON.stringify([shown.logger.lines, hidden.logger.lines, shown.failure])).not.toContain('CANARY');
  });

  test('a bare code will do, unless the server says where its answers come from', async () => {
    const plain = await startProtected();
    const { host } = await startHost(plain.url);
    const authorization = await host.authorize('web');
    await authorization.complete(new URL(await visit(authorization)).searchParams.get('code') ?? '');
    await authorization.done;

    const strict = await startProtected({ metadata: announced });
    const other = await startHost(strict.url);
    const careful = await other.host.authorize('web');

    const failure = await failureOf(careful.complete('a-code'));

    expect(failure.message).toContain('Paste the whole address');
    expect(strict.exchanges).toEqual([]);
    careful.cancel();
  });

  test('after 10 minutes nothing is taken any more', async () => {
    const server = await startProtected();
    const clock = createManualClock();
    const { host } = await startHost(server.url, {}, { clock });
    const authorization = await host.authorize('web');
    const answer = await visit(authorization);
    const ended = failureOf(authorization.done);

    clock.advance(600_000);

    expect(await ended).toMatchObject({ code: 'oauth_flow_expired' });
    expect(await failureOf(authorization.complete(answer))).toMatchObject({ code: 'oauth_flow_expired' });
    expect(server.exchanges).toEqual([]);
  });
});

describe('the callback listener', () => {
  async function waiting() {
    const server = await startProtected();
    const redirect_uri = `http://localhost:${await freePort()}/oauth/callback`;
    const { host } = await startHost(server.url, { redirect_uri });
    return { server, host, redirect_uri, authorization: await host.authorize('web') };
  }

  test('takes the answer, shows fixed text, and closes', async () => {
    const { authorization, redirect_uri, server } = await waiting();

    const response = await fetch(await visit(authorization));
    await authorization.done;

    expect(response.status).toBe(200);
    expect(response.headers.get('content-security-policy')).toBe("default-src 'none'");
    expect(await response.text()).toContain('Authorization finished.');
    await expect(fetch(redirect_uri)).rejects.toThrow();
    expect(server.exchanges[0]?.get('redirect_uri')).toBe(redirect_uri);
  });

  test('listens on both addresses of this machine for its path and authority only (OA8)', async () => {
    const { authorization, redirect_uri } = await waiting();
    const { port } = new URL(redirect_uri);
    const query = '?code=1&state=<script>alert(1)</script>';

    const page = await fetch(`${redirect_uri}${query}`);
    const text = await page.text();

    expect(page.status).toBe(400);
    expect(text).toContain('does not belong to a waiting authorization');
    expect(text).not.toContain('script');
    expect((await fetch(`http://127.0.0.1:${port}/oauth/callback${query}`)).status).toBe(403);
    expect((await fetch(`http://[::1]:${port}/oauth/callback${query}`)).status).toBe(403);
    expect((await fetch(`http://localhost:${port}/other${query}`)).status).toBe(404);
    expect((await fetch(`${redirect_uri}${query}`, { method: 'POST' })).status).toBe(404);
    const ended = failureOf(authorization.done);
    authorization.cancel();
    expect(await ended).toMatchObject({ code: 'cancelled' });
  });

  test('a taken port is an error at once that names the port and the variable', async () => {
    const port = await freePort();
    const squatter = createServer().listen(port, '127.0.0.1');
    onCleanup(() => void squatter.close());
    await new Promise((resolve) => squatter.once('listening', resolve));
    const server = await startProtected();
    const { host } = await startHost(
      server.url,
      { redirect_uri: undefined as never },
      { env: { VIBE_OAUTH_PORT: String(port) } },
    );

    const failure = await failureOf(host.authorize('web'));

    expect(failure).toMatchObject({ code: 'oauth_port_in_use' });
    expect(failure.message).toContain(String(port));
    expect(failure.message).toContain('VIBE_OAUTH_PORT');
  });
});

describe('the token answer', () => {
  const body = (text: string, status: number, type = 'application/json'): Faults => ({
    token: (_, response) => {
      response.writeHead(status, { 'content-type': type, location: '/elsewhere' }).end(text);
      return true;
    },
  });
  const html: Faults = {
    token: (_, response) => {
      page(response, 200);
      return true;
    },
  };

  test.each<[string, Faults, string]>([
    ['HTML', html, 'HTTP 200, text/html'],
    ['an outage with a body', body('CANARY', 500, 'text/plain'), 'HTTP 500, text/plain'],
    ['no JSON', body('CANARY', 200), 'HTTP 200, application/json'],
    ['no object', body('["CANARY"]', 200), 'HTTP 200, application/json'],
    ['a redirect', body('CANARY', 302), 'HTTP 302, application/json'],
    ['a redirect that keeps the method', body('CANARY', 307), 'HTTP 307, application/json'],
    ['an empty token', { tokenMembers: { access_token: '' } }, 'HTTP 200, application/json'],
    ['a token of another type', { tokenMembers: { token_type: 'mac' } }, 'HTTP 200, application/json'],
    ['no type', { tokenMembers: { token_type: undefined as never } }, 'HTTP 200, application/json'],
    ['an endless body', body(`"${'C'.repeat(1_100_000)}"`, 200), 'HTTP 200, application/json'],
    ['an error', body('{"error":"invalid_grant","error_description":"CANARY"}', 400), 'invalid_grant'],
    ['an error that is no code', body('{"error":"CANARY <b>"}', 400), 'HTTP 400, application/json'],
  ])('%s is told by status and type, never by its text', async (_, faults, facts) => {
    const { failure, row, logger } = await failWith(faults);

    expect(failure.code).toBe('oauth_token_exchange_failed');
    expect(failure.message).toBe(
      `Token exchange failed: ${facts}. Most often the redirect URI differs from the registered one; register exactly ${elsewhere}.`,
    );
    expect(JSON.stringify([failure, logger.lines])).not.toContain('CANARY');
    expect(row).toBeUndefined();
  });

  test.each<[unknown]>([[undefined], [0], [-5], ['soon'], [null], [true]])(
    'a lifetime of %s is an unknown one (OA4)',
    async (expires_in) => {
      const server = await startProtected({ tokenMembers: { expires_in: expires_in as never } });
      const { host, secrets } = await startHost(server.url);

      await host.tools('web');

      expect(Object.hasOwn((await tokenRow(secrets)) ?? {}, 'expires_at')).toBe(false);
      expect(await host.tokenStatus('web')).toMatchObject({ connected: true, expired: false });
    },
  );
});

test('a server that is never content is asked for 3 times', async () => {
  const server = await startProtected({ tokenMembers: { access_token: 'of no use' } });
  const { host } = await startHost(server.url);

  expect(await failureOf(host.tools('web'))).toMatchObject({ code: 'needs_auth' });
  expect(server.asked).toHaveLength(3);
});

test('20 calls that need a token wait for one answer of the user', async () => {
  const server = await startProtected();
  const { host } = await startHost(server.url);

  await Promise.all(Array.from({ length: 20 }, () => host.call('web', 'work', {})));

  expect(server.asked).toHaveLength(1);
});
