import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { discoverPlugins } from '../../src/plugins/discovery.ts';
import { parsePluginManifest } from '../../src/plugins/manifest.ts';
import { type LogLine, recordLogs } from './support.ts';

let root: string;
let logs: LogLine[];

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'discovery-')));
  logs = [];
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function plant(name: string, text: string): Promise<string> {
  const file = path.join(root, 'plugins', name, 'vibe-plugin.toml');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

const discover = (): ReturnType<typeof discoverPlugins> =>
  discoverPlugins({ projectRoot: root, inline: [], folders: [path.join(root, 'plugins')], logger: recordLogs(logs) });

test('a found plugin names the manifest it came from', async () => {
  const file = await plant(
    'a',
    'name = "a"\ncommand = ["x"]\nrestart = "on-failure"\nenv_policy = "minimal"\ncancel = false\n',
  );

  expect(await discover()).toMatchObject([
    { name: 'a', source: file, cwd: path.dirname(file), restart: 'on-failure', env_policy: 'minimal', cancel: false },
  ]);
});

test.each([
  ['restart = "always"', '`restart` must be one of never, on-failure'],
  ['env_policy = "none"', '`env_policy` must be one of inherit, minimal'],
  ['cancel = 1', '`cancel` must be true or false'],
  ['capabilities = { tools = "yes" }', '`capabilities.tools` must be true or false'],
  ['name = "b"', 'Invalid TOML document: trying to redefine an already defined table or value (line 3, column 1)'],
])('%s is refused with its reason on one line', (line, reason) => {
  expect(() => parsePluginManifest(`name = "a"\ncommand = ["x"]\n${line}\n`, '/d')).toThrow(
    expect.objectContaining({ kind: 'config', message: `TOML error: ${reason}` }) as Error,
  );
});

test('keys that name prototypes are data', () => {
  const manifest = parsePluginManifest('name = "__proto__"\ncommand = ["x"]\n[env]\n__proto__ = "e"\n', '/d');

  expect(manifest.name).toBe('__proto__');
  expect(Object.entries(manifest.env ?? {})).toEqual([['__proto__', 'e']]);
});

test.skipIf(process.platform === 'win32')(
  'a pipe in the place of a manifest is passed over without waiting',
  async () => {
    await mkdir(path.join(root, 'plugins/pipe'), { recursive: true });
    execFileSync('mkfifo', [path.join(root, 'plugins/pipe/vibe-plugin.toml')]);
    await plant('real', 'name = "real"\ncommand = ["x"]\n');

    expect((await discover()).map((found) => found.name)).toEqual(['real']);
  },
);

test.skipIf(process.platform === 'win32')('a manifest that cannot be read is named', async () => {
  const file = path.join(root, 'plugins/loop/vibe-plugin.toml');
  await mkdir(path.dirname(file), { recursive: true });
  await symlink('vibe-plugin.toml', file);

  expect(await discover()).toEqual([]);
  expect(logs[0]?.message).toContain(`skipping invalid plugin manifest: Config: ${file}: ELOOP`);
});

test('a huge manifest is refused', async () => {
  await plant('a', `# ${'x'.repeat(300_000)}\nname = "a"\ncommand = ["x"]\n`);

  expect(await discover()).toEqual([]);
  expect(logs.map((line) => line.level)).toEqual(['warn']);
});
