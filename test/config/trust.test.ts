import { mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { checkTrust, grantTrust, revokeTrust, type TrustCheck } from '../../src/config/trust.ts';

let folder: string;
let root: string;
let configDir: string;
const now = new Date('2026-01-02T03:04:05.000Z');

beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'trust-')));
  root = path.join(folder, 'project');
  configDir = path.join(folder, 'user');
  await mkdir(path.join(root, '.vibe'), { recursive: true });
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function check(at = root): Promise<TrustCheck> {
  return await checkTrust({ root: at, configDir, loaded: await loadConfig({ root: at, configDir }) });
}

async function write(file: string, text: string): Promise<void> {
  const target = path.join(root, '.vibe', file);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, text);
}

const plugin = '[[plugins]]\nname = "p"\ncommand = ["x"]\n';

test('a project with nothing to start needs no trust', async () => {
  await write('config.toml', 'model = "a/1"\n');
  await write('mcp.json', '{"mcpServers": {}}');

  expect(await check()).toMatchObject({ state: 'not_needed', parts: [] });
});

test('each part is named, also from files the engine has not loaded yet', async () => {
  await write('config.toml', plugin);
  await write('mcp.json', '{"mcpServers": {"github": {"command": "x"}}}');
  await write('plugins/lint/vibe-plugin.toml', 'name = "linter"\ncommand = ["x"]\nrequired = true\n');
  await write('plugins/odd/vibe-plugin.toml', 'name = \n');

  const result = await check();

  expect(result.state).toBe('unknown');
  expect(result.parts).toEqual([
    { name: 'plugin `p`', required: false },
    { name: 'MCP server `github`', required: false },
    { name: 'plugin `linter`', required: true },
    { name: 'plugin `odd`', required: false },
  ]);
  expect(Object.keys(result.files)).toEqual([
    '.vibe/config.toml',
    '.vibe/mcp.json',
    '.vibe/plugins/lint/vibe-plugin.toml',
    '.vibe/plugins/odd/vibe-plugin.toml',
  ]);
});

test('an agent file needs trust when it makes the engine read outside of the project, links followed', async () => {
  await writeFile(path.join(folder, 'secret'), 'key');
  await write('agents/a.toml', `role = "a"\nsystem_prompt_file = '${path.join(folder, 'secret')}'`);
  await write('agents/b.toml', 'role = "b"\nsystem_prompt_file = "../../../secret"');
  await write('agents/c.toml', 'role = "c"\nsystem_prompt_file = "link.md"');
  await symlink('../../../secret', path.join(root, '.vibe/agents/link.md'));
  await write('agents/d.toml', 'role = "d"\nsystem_prompt_file = "../../../nobody-knows-whether-this-exists"');
  await writeFile(path.join(folder, 'e.toml'), 'role = "e"\nsystem_prompt = "E"');
  await symlink('../../../e.toml', path.join(root, '.vibe/agents/e.toml'));
  await write('agents/harmless.toml', 'role = "f"\nsystem_prompt_file = "../../README.md"');
  await write('agents/broken.toml', 'role = ');

  const result = await check();

  expect(result.state).toBe('unknown');
  expect(result.parts.map(({ name }) => name)).toEqual(
    ['a', 'b', 'c', 'd', 'e'].map((name) => `agent file \`${name}.toml\`, which reads outside of the project`),
  );
  await grantTrust({ root, configDir }, result, now);
  expect((await check()).state).toBe('granted');
  await write('README.md', 'once a file, now');
  await symlink('../secret', path.join(root, 'README.md'));
  expect(await check()).toMatchObject({ state: 'changed', changed: ['.vibe/agents/harmless.toml'] });
});

test('an agents folder that is none does not keep the rest from being judged', async () => {
  await write('config.toml', plugin);
  await write('agents', 'a file');

  expect((await check()).parts).toEqual([{ name: 'plugin `p`', required: false }]);
});

test('a grant holds until one of the files changes, and names what changed (PD7)', async () => {
  await write('config.toml', plugin);
  await grantTrust({ root, configDir }, await check(), now);

  const granted = await check();
  await write('config.toml', plugin.replace('"x"', '"y"'));
  await write('plugins/new/vibe-plugin.toml', 'name = "new"\ncommand = ["x"]\n');
  const changed = await check();

  expect(granted.state).toBe('granted');
  expect(changed.state).toBe('changed');
  expect(changed.changed).toEqual(['.vibe/config.toml', '.vibe/plugins/new/vibe-plugin.toml']);
});

test('a grant covers what was shown, not what was written in between', async () => {
  await write('config.toml', plugin);
  const shown = await check();
  await write('config.toml', plugin.replace('"x"', '"evil"'));

  await grantTrust({ root, configDir }, shown, now);

  expect((await check()).state).toBe('changed');
});

test('a removed part does not ask again', async () => {
  await write('config.toml', plugin);
  await write('mcp.json', '[{"name": "a", "command": "x"}]');
  await grantTrust({ root, configDir }, await check(), now);

  await rm(path.join(root, '.vibe', 'mcp.json'));

  expect((await check()).state).toBe('granted');
});

test.skipIf(process.platform === 'win32')('a project is the same behind a symbolic link', async () => {
  await write('config.toml', plugin);
  await grantTrust({ root, configDir }, await check(), now);
  await symlink(root, path.join(folder, 'link'));

  expect((await check(path.join(folder, 'link'))).state).toBe('granted');
});

test('trust can be taken back', async () => {
  await write('config.toml', plugin);
  await grantTrust({ root, configDir }, await check(), now);

  expect(await revokeTrust({ root, configDir })).toBe(true);
  expect(await revokeTrust({ root, configDir })).toBe(false);
  expect((await check()).state).toBe('unknown');
});

test('the file is private, holds hashes only, and a damaged one is an error instead of trust', async () => {
  await write('config.toml', plugin);
  await grantTrust({ root, configDir }, await check(), now);
  const file = path.join(configDir, 'trust.json');
  const stored = JSON.parse(await readFile(file, 'utf8')) as { projects: Record<string, unknown> };

  expect(stored.projects[root]).toEqual({
    granted_at: '2026-01-02T03:04:05.000Z',
    files: { '.vibe/config.toml': expect.stringMatching(/^[0-9a-f]{64}$/) as unknown },
  });
  if (process.platform !== 'win32') expect((await stat(file)).mode & 0o777).toBe(0o600);
  await writeFile(file, '{"projects": ');
  await expect(check()).rejects.toMatchObject({ kind: 'config' });
});

test('without a user folder nothing is trusted and nothing can be granted', async () => {
  await write('config.toml', plugin);
  const loaded = await loadConfig({ root });

  const result = await checkTrust({ root, configDir: undefined, loaded });

  expect(result.state).toBe('unknown');
  await expect(grantTrust({ root, configDir: undefined }, result, now)).rejects.toThrow('VIBE_CONFIG_HOME');
});
