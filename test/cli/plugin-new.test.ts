import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { buildCommandLine } from './built.ts';
import { callCommandLine } from './in-process.ts';
import { useStage } from './stage.ts';

const modules = path.join(import.meta.dirname, '../../node_modules');
let main: string;
// the first build may take longer than a test may
beforeAll(async () => void (main = await buildCommandLine()), 180_000);

const stage = useStage();

beforeEach(async () => {
  await stage.write('notes.txt', 'one two\nthree');
});

/** What `npm install` would bring. */
async function install(): Promise<void> {
  await mkdir(path.join(stage.root, 'node_modules'));
  await symlink(path.join(path.dirname(main), '../..'), path.join(stage.root, 'node_modules/vibe-bus'));
  for (const name of ['tsx', 'zod'])
    await symlink(path.join(modules, name), path.join(stage.root, 'node_modules', name));
}

function hasPython(): boolean {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test.each(['ts', 'js', 'py'])('a new plugin in %s works and survives as it is', { timeout: 180_000 }, async (lang) => {
  if (lang === 'py' && !hasPython()) return;
  if (lang === 'ts') await install();

  const made = await stage.run(['plugins', 'new', 'my-plugin', '--lang', lang]);
  const tested = await stage.run(['plugins', 'test', './my-plugin', 'word_count', '{"file": "notes.txt"}']);
  const outside = await callCommandLine(['plugins', 'call', './my-plugin', 'word_count', '{"file": ".."}'], stage);
  const args = ['--tool', 'word_count', '--input', '{"file": "notes.txt"}', '--timeout', '20'];
  // the kit itself is fuzzed elsewhere, and this one is slow to start
  if (lang === 'ts') args.push('--only', 'calls at once', 'the end of its stdin');
  const fuzzed = await callCommandLine(['plugins', 'fuzz', './my-plugin', ...args], stage);

  expect({ code: made.code, err: made.err }).toEqual({ code: 0, err: '' });
  expect(made.out).toContain('  vibe-bus plugins test ./my-plugin\n');
  expect(made.out).not.toContain('npm install');
  expect({ code: tested.code, err: tested.err }).toEqual({ code: 0, err: '' });
  expect(tested.out).toMatch(/^plugin {2}my-plugin 0\.1\.0\ntools {3}word_count\n/);
  expect(tested.out).toMatch(/\ncall {4}word_count answered in \d+ ms\n2 lines, 3 words\n$/);
  expect(outside).toMatchObject({ code: 1, err: '`..` is outside the workspace\n' });
  expect(fuzzed.out).not.toContain('FAIL');
  expect(fuzzed.out).toMatch(/\nplugin \.\/my-plugin survived\n$/);
});

test('what the TypeScript plugin needs and does not have is said', async () => {
  const { out } = await callCommandLine(['plugins', 'new', '.vibe/plugins/mine'], stage);

  expect(out).toContain('  npm install --prefix ./.vibe/plugins/mine\n');
  expect(JSON.parse(await readFile(path.join(stage.root, '.vibe/plugins/mine/package.json'), 'utf8'))).toMatchObject({
    name: 'mine',
    dependencies: { 'vibe-bus': expect.stringMatching(/^\^\d+\.\d+\.\d+$/) as string },
  });
});

test.each([
  [['taken'], 'error: taken exists and is not empty; choose another folder\n'],
  [['notes.txt'], 'error: notes.txt exists and is not empty; choose another folder\n'],
  [['a b'], 'error: `a b` is no name for a plugin; use letters, digits, `.`, `_` and `-`\n'],
  [['x', '--lang', 'cobol'], /^error: option '--lang <language>' argument 'cobol' is invalid/],
])('plugins new %j is refused', async (args, message) => {
  await stage.write('taken/file.txt', 'mine');

  const { code, err } = await callCommandLine(['plugins', 'new', ...args], stage);

  expect(code).toBe(2);
  expect(err).toMatch(message);
  expect(await readFile(path.join(stage.root, 'taken/file.txt'), 'utf8')).toBe('mine');
});

test('a fault is told by the name of the case, with exit code 1', async () => {
  await cp(path.join(import.meta.dirname, '../fixtures/plugins/faulty.mjs'), path.join(stage.root, 'f/faulty.mjs'));
  await stage.write('f/vibe-plugin.toml', 'name = "f"\ncommand = ["node", "faulty.mjs", "takes-any-tool"]\n');

  const told = await callCommandLine(['plugins', 'fuzz', './f', '--only', 'a tool it does not have'], stage);
  const json = await callCommandLine(['plugins', 'fuzz', 'f/', '--json', '--only', 'every kind of id'], stage);
  const useless = await callCommandLine(['plugins', 'fuzz', './f', '--input', '{}'], stage);

  expect(told).toMatchObject({ code: 1, err: '' });
  expect(told.out).toBe(
    'ok    start and handshake\n' +
      'FAIL  a tool it does not have: answered a call of an unknown tool as if all were well; it should be the error -32602\n' +
      'plugin ./f failed 1 of 2\n',
  );
  expect(json.code).toBe(0);
  expect(JSON.parse(json.out)).toMatchObject({ failed: 0, cases: [{ outcome: 'survived' }, { outcome: 'survived' }] });
  expect(useless).toMatchObject({ code: 2, err: 'error: `--input` needs `--tool`\n' });
});
