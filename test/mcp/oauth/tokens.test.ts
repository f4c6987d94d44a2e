// mcp-host 10.2 to 10.6: tokens in use.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/protocol/deps.ts';
import type { JsonObject } from '../../../src/protocol/json.ts';
import { systemClock } from '../../../src/protocol/signal.ts';
import { createMemorySecrets } from '../../../src/store/memory-secrets.ts';
import type { SecretStore } from '../../../src/store/secret-store.ts';
import { createUserSecrets } from '../../../src/store/user-secrets.ts';
import { json, modernHttp, page, startHttp } from '../http-server.ts';
import { failureOf, fixtures, modernScript, onCleanup, scriptedServer, tempFolder } from '../support.ts';
import { type Faults, type ProtectedServer, startProtected } from './authorization-server.ts';
import { agree, elsewhere, startHost, tokenRow } from './support.ts';

/** A host that has its token and will not ask for another one. */
async function startConnected(faults: Faults = {}) {
  const server = await startProtected(faults);
  const secrets = createMemorySecrets();
  const first = await startHost(server.url, {}, { secrets });
  await first.host.tools('web');
  await first.host.stop();
  const quiet = await startHost(server.url, {}, { secrets, onAuthorization: undefined as never });
  return { server, ...quiet };
}

async function changeRow(secrets: SecretStore, change: JsonObject): Promise<void> {
  await secrets.write('mcp.oauth.web', JSON.stringify({ ...(await tokenRow(secrets)), ...change }));
}

function grants(server: ProtectedServer): readonly (string | null)[] {
  return server.exchanges.map((sent) => sent.get('grant_type'));
}

describe('a token', () => {
  test('goes to the path of the record only, and not across a redirect (OA10)', async () => {
    const stranger = await startHttp((_, response) => page(response, 200));
    const { server, host } = await startConnected();
    await host.call('web', 'work', {});

    const withToken = server.http.requests.filter(
      ({ headers }) => headers.authorization?.startsWith('Bearer ') === true,
    );
    expect(new Set(withToken.map(({ path: where }) => where))).toEqual(new Set(['/mcp']));

    const redirecting = await startHttp((_, response) => page(response, 307, { location: stranger.url }));
    const secrets = createMemorySecrets();
    await secrets.write('mcp.oauth.web', JSON.stringify({ ...row, server_url: redirecting.url }));
    const other = await startHost(redirecting.url, {}, { secrets });
    await failureOf(other.host.tools('web'));

    expect(redirecting.requests[0]?.headers.authorization).toBe('Bearer CANARY-token');
    expect(stranger.requests).toEqual([]);
  });

  test('is not used once the record has another address', async () => {
    const { secrets } = await startConnected();
    const elsewhereServer = await startHttp(modernHttp());
    const { host } = await startHost(elsewhereServer.url, {}, { secrets });

    await host.tools('web');

    expect(elsewhereServer.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true);
    expect(await host.tokenStatus('web')).toEqual({ connected: false, expired: true, renews: false });
  });

  test('and an Authorization header of the record exclude each other', async () => {
    const { server, secrets } = await startConnected();
    const { host } = await startHost(
      server.url,
      {},
      {
        secrets,
        records: [{ name: 'web', url: server.url, headers: { authorization: 'Bearer mine' } }],
      },
    );

    const failure = await failureOf(host.tools('web'));

    expect(failure).toMatchObject({ code: 'config_invalid' });
    expect(failure.message).toContain('headers.Authorization');
  });

  test('of unknown lifetime is used until it is refused, then replaced', async () => {
    const { server, host, secrets } = await startConnected({ tokenMembers: { expires_in: undefined as never } });
    const before = await tokenRow(secrets);
    server.expireAll();

    await host.call('web', 'work', {});

    expect(grants(server)).toEqual(['authorization_code', 'refresh_token']);
    expect(server.exchanges[1]?.get('resource')).toBe(server.url);
    const after = await tokenRow(secrets);
    expect(after?.['access_token']).not.toBe(before?.['access_token']);
    expect(after?.['refresh_token']).not.toBe(before?.['refresh_token']);
  });

  test.each([
    [59_000, 2],
    [120_000, 1],
  ])('that ends in %i ms makes %i exchanges', async (leftMs, count) => {
    const { server, host, secrets, logger } = await startConnected();
    await changeRow(secrets, { expires_at: Date.now() + leftMs });

    await host.call('web', 'work', {});

    expect(server.exchanges).toHaveLength(count);
    expect(logger.find('mcp.oauth.refresh')).toHaveLength(count - 1);
  });

  test('is replaced once for 20 calls that find it refused (OA3)', async () => {
    const { server, host } = await startConnected();
    await host.tools('web');
    server.expireAll();

    await Promise.all(Array.from({ length: 20 }, () => host.call('web', 'work', {})));

    expect(grants(server)).toEqual(['authorization_code', 'refresh_token']);
  });

  test('keeps its refresh token when the answer brings no new one', async () => {
    const { server, host, secrets } = await startConnected();
    const before = await tokenRow(secrets);
    const silent = await startProtected({
      token: (_, response) => {
        json(response, { access_token: 'next', token_type: 'bearer' });
        return true;
      },
    });
    await changeRow(secrets, { server_url: silent.url, issuer: silent.origin });
    const other = await startHost(silent.url, {}, { secrets, onAuthorization: undefined as never });

    await failureOf(other.host.tools('web'));

    expect(await tokenRow(secrets)).toMatchObject({ access_token: 'next', refresh_token: before?.['refresh_token'] });
    expect(Object.hasOwn((await tokenRow(secrets)) ?? {}, 'expires_at')).toBe(false);
    expect(server.exchanges).toHaveLength(1);
    await host.stop();
  });

  test('whose grant is gone is deleted, and authorization is needed', async () => {
    const { server, host, secrets, logger } = await startConnected({});
    await changeRow(secrets, { refresh_token: 'unknown' });
    server.expireAll();

    expect(await failureOf(host.call('web', 'work', {}))).toMatchObject({ code: 'needs_auth' });

    expect(await tokenRow(secrets)).toBeUndefined();
    expect(logger.find('mcp.oauth.failed')[0]).toMatchObject({ error_code: 'oauth_token_exchange_failed' });
  });

  test('is kept through an outage of the authorization server', async () => {
    let isDown = false;
    const { server, host, secrets } = await startConnected({
      token: (_, response) => {
        if (isDown) page(response, 503);
        return isDown;
      },
    });
    isDown = true;
    server.expireAll();

    expect(await failureOf(host.call('web', 'work', {}))).toMatchObject({ code: 'oauth_token_exchange_failed' });
    isDown = false;
    await host.call('web', 'work', {});

    expect((await tokenRow(secrets))?.['client_id']).toBe('client-1');
  });

  test('is never shown to another authorization server than its own', async () => {
    const { secrets } = await startConnected();
    const moved = await startProtected();
    await changeRow(secrets, { server_url: moved.url });
    const { host } = await startHost(moved.url, {}, { secrets });

    await host.tools('web');

    expect(grants(moved)).toEqual(['authorization_code']);
    expect(moved.registrations).toHaveLength(1);
    expect((await tokenRow(secrets))?.['issuer']).toBe(moved.origin);
  });
});

test('more permissions are asked for together with those in hand, and the call is made again', async () => {
  const server = await startProtected({ challengeScope: 'read', callScope: 'write' });
  const { host, events } = await startHost(server.url);
  await host.tools('web');

  await host.call('web', 'work', {});

  expect(server.asked.map((query) => query.get('scope'))).toEqual(['read', 'read write']);
  expect(events.ofType('mcp_auth_needed')).toHaveLength(2);
  expect(server.served().filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(1);
});

test('lists kept from before more permissions were given are asked for anew (MP12)', async () => {
  const server = await startProtected({
    callScope: 'write',
    mcp(request, response) {
      if (request.rpc !== 'tools/list') return false;
      const tools = [{ name: 'work', inputSchema: { type: 'object' } }];
      json(response, {
        jsonrpc: '2.0',
        id: request.message['id'] ?? null,
        result: { resultType: 'complete', tools, ttlMs: 60_000, cacheScope: 'private' },
      });
      return true;
    },
  });
  const { host } = await startHost(server.url);
  const lists = (): number => server.served().filter(({ rpc }) => rpc === 'tools/list').length;
  await host.tools('web');
  await host.tools('web');
  expect(lists()).toBe(1);

  await host.call('web', 'work', {});
  await host.tools('web');

  expect(lists()).toBe(2);
});

test('two processes that find the token refused at once make one refresh (OA3)', async () => {
  const server = await startProtected();
  const configDir = tempFolder();
  const shared = { configDir, env: { VIBE_KEYRING: 'off' }, clock: systemClock, logger: silentLogger };
  const secrets = createUserSecrets(shared);
  onCleanup(() => secrets.close());
  const { host } = await startHost(server.url, {}, { secrets });
  await host.tools('web');
  server.expireAll();
  const program = path.join(fixtures, 'token-user.ts');
  const children = [0, 1].map(() => spawn(process.execPath, ['--import', 'tsx', program, server.url, configDir]));
  onCleanup(() => children.forEach((child) => void child.kill('SIGKILL')));
  const outputs = children.map((child) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    return () => text;
  });

  await Promise.all(children.map((child) => once(child.stdout, 'data')));
  for (const child of children) child.stdin.write('go\n');
  await Promise.all(children.map((child) => once(child, 'close')));

  expect(outputs.map((text) => text())).toEqual(['ready\ndone\n', 'ready\ndone\n']);
  expect(grants(server)).toEqual(['authorization_code', 'refresh_token']);
});

const row = {
  v: 1,
  server_url: '',
  issuer: 'https://as.example',
  client_id: 'mine',
  access_token: 'CANARY-token',
  token_type: 'Bearer',
  obtained_at: 1,
};

describe('the status (mcp-host 10.4, 18)', () => {
  const url = 'https://mcp.example/mcp';
  const now = Date.now();

  test.each<[string, string | undefined, JsonObject]>([
    [
      'past',
      JSON.stringify({ ...row, server_url: url, expires_at: now - 1 }),
      { connected: true, expired: true, renews: false },
    ],
    [
      'to come',
      JSON.stringify({ ...row, server_url: url, expires_at: now + 60_000 }),
      { connected: true, expired: false },
    ],
    ['unknown', JSON.stringify({ ...row, server_url: url }), { connected: true, expired: false }],
    [
      'past with a refresh token',
      JSON.stringify({ ...row, server_url: url, expires_at: now - 1, refresh_token: 'r' }),
      { connected: true, expired: true, renews: true },
    ],
    ['of no row', undefined, { connected: false, expired: true }],
    ['of an unreadable row', 'no json', { connected: false, expired: true }],
    [
      'of a row for another address',
      JSON.stringify({ ...row, server_url: `${url}/x` }),
      { connected: false, expired: true },
    ],
  ])('of an end that is %s', async (_, stored, expected) => {
    const secrets = createMemorySecrets();
    if (stored !== undefined) await secrets.write('mcp.oauth.web', stored);
    const { host } = await startHost(url, {}, { secrets });

    const status = await host.tokenStatus('web');

    expect(status).toMatchObject(expected);
    expect(JSON.stringify(status)).not.toContain('CANARY');
  });
});

describe('signing out', () => {
  test('revokes the token, deletes it and ends the connection', async () => {
    const { server, host, secrets, events, logger } = await startConnected();
    await host.tools('web');
    const before = await tokenRow(secrets);

    await host.signOut('web');

    expect(server.revoked.map((sent) => [sent.get('token'), sent.get('client_id')])).toEqual([
      [before?.['refresh_token'], 'client-1'],
    ]);
    expect(await tokenRow(secrets)).toBeUndefined();
    expect(host.servers()[0]?.state).toBe('stopped');
    expect(events.ofType('mcp_server_stopped')).toHaveLength(1);
    expect(logger.find('mcp.oauth.token.revoked')).toHaveLength(1);
  });

  test('deletes it also where the authorization server is gone', async () => {
    const secrets = createMemorySecrets();
    await secrets.write('mcp.oauth.web', JSON.stringify({ ...row, server_url: 'http://127.0.0.1:9/mcp' }));
    const { host } = await startHost('http://127.0.0.1:9/mcp', {}, { secrets });

    await host.signOut('web');

    expect(await tokenRow(secrets)).toBeUndefined();
  });
});

describe('old plaintext tokens (mcp-host 10.5, OA9)', () => {
  async function startWith(text: string, stored: JsonObject = {}) {
    const configDir = tempFolder();
    const file = path.join(configDir, 'mcp-tokens.json');
    writeFileSync(file, text);
    const secrets = createMemorySecrets();
    for (const [key, value] of Object.entries(stored)) await secrets.write(key, JSON.stringify(value));
    return { file, ...(await startHost('https://mcp.example/mcp', {}, { configDir, secrets })) };
  }

  test('are moved at the first look for a token, and the file is deleted', async () => {
    const { host, file, secrets, logger } = await startWith('{"web": "old", "other": {"access_token": "too"}}');
    expect(existsSync(file)).toBe(true);

    expect(await host.tokenStatus('web')).toMatchObject({ connected: true, expired: false });

    expect(existsSync(file)).toBe(false);
    expect(await tokenRow(secrets)).toMatchObject({ access_token: 'old', server_url: 'https://mcp.example/mcp' });
    expect((await secrets.read('mcp.oauth.other')).kind).toBe('found');
    expect(logger.find('mcp.oauth.token.migrated')).toEqual([{ target: 'vibe::mcp', count: 2 }]);
  });

  test('never replace a token of the store', async () => {
    const { host, file, secrets } = await startWith('{"web": "old"}', { 'mcp.oauth.web': row });

    await host.tokenStatus('web');

    expect(await tokenRow(secrets)).toEqual(row);
    expect(existsSync(file)).toBe(false);
  });

  test.each<[string, boolean]>([
    ['{}', false],
    ['["web"]', true],
    ['{"web": ', true],
    ['{"web": "good", "odd": 5}', true],
  ])('in a file %s: it stays %s', async (text, stays) => {
    const { host, file } = await startWith(text);

    await host.tokenStatus('web');

    expect(existsSync(file)).toBe(stays);
    if (stays) expect(readFileSync(file, 'utf8')).toBe(text);
  });

  test('are kept when the store cannot take them', async () => {
    const secrets: SecretStore = { ...createMemorySecrets(), write: () => Promise.reject(new Error('full')) };
    const configDir = tempFolder();
    const file = path.join(configDir, 'mcp-tokens.json');
    writeFileSync(file, '{"web": "old"}');
    const { host } = await startHost('https://mcp.example/mcp', {}, { configDir, secrets });

    await expect(host.tokenStatus('web')).rejects.toThrow();

    expect(readFileSync(file, 'utf8')).toBe('{"web": "old"}');
  });

  test('of another path are imported the same way, and not through a link', async () => {
    const { host } = await startHost('https://mcp.example/mcp');
    const folder = tempFolder();
    const [file, link] = [path.join(folder, 'a.json'), path.join(folder, 'b.json')];
    writeFileSync(file, '{"web": "old"}');
    symlinkSync(file, link);

    expect(await host.importTokens(link)).toBeUndefined();
    expect(await host.importTokens(file)).toEqual({ migrated: 1, isDone: true });
    expect(await host.importTokens(file)).toBeUndefined();
  });
});

describe('a program', () => {
  test('gets the token of a form by hand through its placeholder, and secrets by theirs', async () => {
    const server = await startProtected();
    const program = scriptedServer(modernScript(), {
      name: 'web',
      env: { TOKEN: '${oauth.access_token}', DB: '${secret:db}' },
    });
    const { host, secrets } = await startHost('', {}, { records: [program.record] });
    await secrets.write('mcp.secret.db', 'hush');
    expect(await failureOf(host.tools('web'))).toMatchObject({ code: 'config_invalid' });

    const authorization = await host.authorize('web', {
      client_id: 'mine',
      auth_url: `${server.origin}/authorize`,
      token_url: `${server.origin}/token`,
      redirect_uri: elsewhere,
    });
    await agree(authorization);
    await authorization.done;

    expect(server.asked[0]?.get('scope')).toBe('read');
    expect(server.asked[0]?.has('resource')).toBe(false);
    expect(await tokenRow(secrets)).toMatchObject({ server_url: '', issuer: server.origin, scope: 'read' });
    expect((await host.tools('web')).map(({ name }) => name)).toEqual(['work']);
  });
});

test('nothing secret of an authorization reaches a log, an event or an error', async () => {
  const server = await startProtected({ callScope: 'write' });
  const { host, logger, events, secrets } = await startHost(server.url);
  await host.tools('web');
  await host.call('web', 'work', {});
  server.expireAll();
  await host.call('web', 'work', {});
  await changeRow(secrets, { refresh_token: 'unknown' });
  server.expireAll();
  await host.call('web', 'work', {});
  const failed = await failureOf(
    (await host.authorize('web')).complete('https://client.example/callback?code=c&state=s'),
  );
  await host.signOut('web');

  const sent = [...server.asked, ...server.exchanges].flatMap((query) => [...query]);
  const isSecret = new Set(['code', 'code_verifier', 'code_challenge', 'state', 'refresh_token', 'token']);
  const texts = sent.filter(([name]) => isSecret.has(name)).map(([, value]) => value);
  const tokens = server.http.requests.flatMap(({ headers }) => headers.authorization?.split(' ')[1] ?? []);
  const shown = JSON.stringify([logger.lines, events.events, failed]);

  expect(texts.length).toBeGreaterThan(10);
  expect([...texts, ...tokens].filter((text) => shown.includes(text))).toEqual([]);
});
