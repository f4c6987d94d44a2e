import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { discoverPlugins } from '../../src/plugins/discovery.ts';
import { fuzzPlugin } from '../../src/plugins/fault-kit.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import type { PluginToolResult } from '../../src/protocol/vpp.ts';
import { openStage, type Stage, toContext } from './support.ts';

const folder = path.join(import.meta.dirname, '../../examples/plugins');
let stage: Stage;
let workspace: string;

function has(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const hasPython = has('python3');
const hasCompiler = process.platform !== 'win32' && has('cc');

/** Compiles the C example where it leaves nothing in the tree; the folder of the program. */
function compile(): string {
  const built = path.join(workspace, '..', `${path.basename(workspace)}-built`);
  mkdirSync(built);
  const strict = ['-std=c11', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-O2'];
  const source = path.join(folder, 'text-stats/text_stats.c');
  execFileSync('cc', [...strict, '-o', path.join(built, 'text-stats'), source], { stdio: 'inherit' });
  return built;
}

beforeAll(async () => {
  workspace = await realpath(await mkdtemp(path.join(tmpdir(), 'examples-')));
  await mkdir(path.join(workspace, 'src'));
  await mkdir(path.join(workspace, 'node_modules'));
  await writeFile(path.join(workspace, 'src/a.py'), 'x = 1\n# TODO: name this\n# not a TODOLIST\n');
  await writeFile(path.join(workspace, 'src/b.js'), '// FIXME(ann) rounding\n');
  await writeFile(path.join(workspace, 'node_modules/c.js'), '// TODO not ours\n');
  await writeFile(path.join(workspace, 'data.json'), JSON.stringify({ items: [{ id: 7, tags: ['x'] }], 'a/b': null }));
  await symlink('/etc', path.join(workspace, 'etc'));
  stage = await openStage();
  const declarations = await discoverPlugins({
    projectRoot: workspace,
    inline: [],
    folders: [folder],
    logger: { trace() {}, debug() {}, info() {}, warn: (message) => expect.fail(message), error() {} },
  });
  expect(declarations.map((declaration) => declaration.name)).toEqual([
    'guard',
    'json-tools',
    'text-stats',
    'todo-scan',
  ]);
  const isMissing: { readonly [name: string]: boolean } = { 'todo-scan': !hasPython, 'text-stats': !hasCompiler };
  const runnable = declarations.filter(({ name }) => isMissing[name] !== true);
  const cwd = hasCompiler ? compile() : undefined;
  await stage.host.load(
    runnable.map((entry) => ({ ...entry, ...(entry.name === 'text-stats' ? { cwd } : {}), required: true })),
  );
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await rm(workspace, { recursive: true, force: true });
  await rm(`${workspace}-built`, { recursive: true, force: true });
});

async function call(tool: string, input: JsonObject): Promise<PluginToolResult> {
  const context = { ...toContext(), workspace_root: workspace };
  return (await stage.tools.get(tool)?.call(input, context)) as PluginToolResult;
}

describe.skipIf(!hasPython)(`todo-scan, in Python${hasPython ? '' : ' (skipped: there is no python3)'}`, () => {
  test('finds the notes of the workspace, in order, and nothing of others', async () => {
    expect(await call('todo_scan', {})).toEqual({
      content: 'src/a.py:2: TODO: name this\nsrc/b.js:1: FIXME(ann) rounding',
      is_error: false,
    });
  });

  test('keeps to the tags, the path and the limit it is given', async () => {
    expect((await call('todo_scan', { tags: ['HACK'] })).content).toBe('no HACK notes found');
    expect((await call('todo_scan', { path: 'src/b.js' })).content).toBe('src/b.js:1: FIXME(ann) rounding');
    expect((await call('todo_scan', { limit: 1 })).content).toContain('(stopped at 1 notes)');
  });

  test.each(['..', '/etc', 'etc'])('refuses to look at %s', async (place) => {
    expect(await call('todo_scan', { path: place })).toEqual({
      content: `\`${place}\` is outside the workspace`,
      is_error: true,
    });
  });

  test('offers its agent', () => {
    expect(stage.agents.get('todo_triage')).toMatchObject({ tools: { named: ['todo_scan', 'read_file', 'grep'] } });
  });
});

describe.skipIf(!hasCompiler)(`text-stats, in C${hasCompiler ? '' : ' (skipped: there is no C compiler)'}`, () => {
  test('counts a file', async () => {
    expect(await call('text_stats', { file: 'src/a.py' })).toEqual({
      content: '3 lines, 11 words, 41 bytes; the longest line is 2 with 17 bytes',
      is_error: false,
    });
  });

  test('reads texts as JSON writes them', async () => {
    const name = 'a "b" \\ \u00e9你🚀\t.txt';
    await writeFile(path.join(workspace, name), '');

    expect((await call('text_stats', { file: name })).content).toMatch(/^0 lines, 0 words, 0 bytes/);
    expect((await call('text_stats', { file: `${'🚀'.repeat(60)}` })).content).toContain('No such file');
  });

  test.each(['..', '/etc/passwd', 'etc/passwd'])('refuses to look at %s', async (file) => {
    expect(await call('text_stats', { file })).toEqual({
      content: `\`${file}\` is outside the workspace`,
      is_error: true,
    });
  });

  test.each([
    [{ file: 'src' }, '`src` is no regular file'],
    [{}, '`file` must be a string'],
    [{ file: 'a\u0000b' }, '`file` must be a string'],
  ])('answers %j with a reason', async (input, content) => {
    expect(await call('text_stats', input)).toEqual({ content, is_error: true });
  });

  test('survives everything', { timeout: 120_000 }, async () => {
    const command = [path.join(`${workspace}-built`, 'text-stats')];
    const tool = { name: 'text_stats', input: { file: 'src/a.py' } };

    const results = await fuzzPlugin({ name: 'text-stats', command }, { tool, timeoutMs: 20_000 });

    expect(results.filter((result) => result.outcome === 'failed')).toEqual([]);
    expect(results.length).toBeGreaterThan(20);
  });
});

describe('guard, in plain Node', () => {
  test.each([
    ['bash', { command: 'rm -rf /' }, 'recursive forced deletion'],
    ['bash', { command: 'git push origin main --force' }, 'rewriting a shared branch'],
    ['write_file', { path: 'config/.env' }, 'holds secrets'],
    ['edit_file', { path: 'package-lock.json' }, 'is written by the package manager'],
  ])('refuses %s %j', async (tool, input, reason) => {
    const decision = await stage.ask(tool, input);

    expect(decision).toMatchObject({ kind: 'abort', hook: 'guard', reason: expect.stringContaining(reason) as string });
  });

  test.each([
    ['bash', { command: 'ls -la' }],
    ['bash', { command: 'git push origin main' }],
    ['write_file', { path: 'src/environment.ts' }],
    ['read_file', { path: '.env' }],
    ['bash', {}],
  ])('lets %s %j pass', async (tool, input) => {
    expect(await stage.ask(tool, input)).toEqual({ kind: 'continue' });
  });

  test('tells its rules', async () => {
    expect((await call('guard_rules', {})).content).toContain('- commands: publishing a package');
  });
});

describe('json-tools, on the kit', () => {
  test('shows the shape of a file', async () => {
    const { content } = await call('json_outline', { file: 'data.json' });

    expect(content).toBe('items: array of 1\n  id: number\n  tags: array of 1\n    string\na/b: null');
  });

  test('picks a value by its pointer', async () => {
    expect((await call('json_pick', { file: 'data.json', pointer: '/items/0/id' })).content).toBe('7');
    expect((await call('json_pick', { file: 'data.json', pointer: '/a~1b' })).content).toBe('null');
    expect(await call('json_pick', { file: 'data.json', pointer: '/items/3' })).toEqual({
      content: 'there is nothing at `/items/3`: no `3`',
      is_error: true,
    });
  });

  test('stays in the workspace', async () => {
    expect(await call('json_outline', { file: 'etc/passwd' })).toEqual({
      content: '`etc/passwd` is outside the workspace',
      is_error: true,
    });
  });
});
