import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openBrowser } from '../../src/cli/browser.ts';
import { startProtected } from '../mcp/oauth/authorization-server.ts';
import { freePort } from '../mcp/oauth/support.ts';
import { buildCommandLine } from './built.ts';
import { openStage, type Stage } from './command.ts';

beforeAll(async () => void (await buildCommandLine()), 180_000);

let stage: Stage;
let env: Record<string, string>;

beforeEach(async () => {
  stage = await openStage();
  // a browser whose user agrees at once
  await stage.write(
    'bin/xdg-open',
    `#!${process.execPath}\nfetch(process.argv[2]).then((page) => process.exit(page.ok && process.argv.length === 3 ? 0 : 1));\n`,
  );
  await chmod(path.join(stage.root, 'bin', 'xdg-open'), 0o755);
  env = {
    VIBE_KEYRING: 'off',
    VIBE_OAUTH_PORT: String(await freePort()),
    PATH: `${path.join(stage.root, 'bin')}:${process.env['PATH'] ?? ''}`,
  };
});

afterEach(async () => {
  const leftovers = await stage.leftovers();
  await stage[Symbol.asyncDispose]();
  expect(leftovers).toEqual([]);
});

async function put(url: string): Promise<void> {
  await stage.write('../user/mcp.json', JSON.stringify([{ name: 'web', url }]));
}

test('a server is used after login, also by the next process, until logout', async () => {
  const server = await startProtected();
  await put(server.url);

  const before = await stage.run(['mcp', 'call', 'web', 'work'], env);
  const login = await stage.run(['mcp', 'login', 'web'], env);
  const call = await stage.run(['mcp', 'call', 'web', 'work'], env);
  const logout = await stage.run(['mcp', 'logout', 'web', '--json'], env);
  const after = await stage.run(['mcp', 'call', 'web', 'work'], env);

  expect(before).toMatchObject({ code: 1, out: '' });
  expect(before.err).toContain('`vibe-bus mcp login <name>`');
  expect(login).toMatchObject({ code: 0 });
  expect(login.err).toContain(`${server.origin}/authorize?`);
  expect(login.out).toMatch(/^web is connected until .*, and renewed on use\.\n$/);
  expect(call).toMatchObject({ code: 0, out: 'done\n' });
  expect(logout).toMatchObject({ code: 0, out: '{"name":"web","connected":false}\n' });
  expect(server.revoked).toHaveLength(1);
  expect(after.code).toBe(1);
});

test('removing a server removes its token: another one of its name does not inherit it', async () => {
  const server = await startProtected();
  await put(server.url);
  await stage.run(['mcp', 'login', 'web'], env);

  await stage.run(['mcp', 'remove', 'web'], env);
  await put(server.url);

  expect((await stage.run(['mcp', 'call', 'web', 'work'], env)).code).toBe(1);
});

test('what the authorization server refuses is an error with its code', async () => {
  const server = await startProtected({
    callback: (query) => {
      query.delete('code');
      query.set('error', 'access_denied');
    },
  });
  await put(server.url);

  const started = stage.start(['mcp', 'login', 'web', '--no-browser'], env);
  const shown = once(started.child.stderr ?? started.child, 'data');
  const [address = ''] = String(await shown).match(/http:\S+/) ?? [];
  const page = await fetch(address);
  const login = await started.finished;

  expect(page.status).toBe(400);
  expect(login.code).toBe(1);
  expect(login.err).toContain('access_denied');
});

test('import-tokens moves a file of tokens and says what it did', async () => {
  await put('https://mcp.example/mcp');
  await stage.write('tokens.json', '{"web": "old"}');
  await stage.write('odd.json', '{"other": "old", "odd": 1}');
  await stage.write('list.json', '[]');

  const moved = await stage.run(['mcp', 'import-tokens', 'tokens.json'], env);
  const odd = await stage.run(['mcp', 'import-tokens', 'odd.json', '--json'], env);
  const list = await stage.run(['mcp', 'import-tokens', 'list.json'], env);

  expect(moved).toMatchObject({ code: 0, out: '1 tokens were moved to the store; the file is deleted.\n' });
  expect(existsSync(path.join(stage.root, 'tokens.json'))).toBe(false);
  expect(odd).toMatchObject({ code: 1, out: '{"migrated":1,"file_deleted":false}\n' });
  expect(list.code).toBe(2);
  expect(existsSync(path.join(stage.configDir, 'secrets.db'))).toBe(true);
});

test.each(['http://as.example/a', 'file:///etc/passwd', 'javascript:alert(1)'])('%s is not opened', async (url) => {
  await stage.write('bin/xdg-open', `#!/bin/sh\ntouch ${path.join(stage.root, 'opened')}\n`);

  openBrowser(url, env, 'linux');

  expect(existsSync(path.join(stage.root, 'opened'))).toBe(false);
});
