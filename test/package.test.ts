// Slow: packs the project, installs it the way a user does, and runs what the README promises.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

let folder: string;
/** Where the package is installed: a path that breaks code which takes paths for URLs (reliability DI1). */
let project: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'package-')));
  project = path.join(folder, 'a project #1 100% für');
  await mkdir(project);
  await run(npm, ['pack', '--silent', '--pack-destination', folder], { cwd: root });
  const [archive = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await writeFile(path.join(project, 'package.json'), '{"name": "embedder", "version": "3.2.1", "private": true}\n');
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--silent'];
  await run(npm, ['install', ...options, path.join(folder, archive)], { cwd: project });
}, 300_000);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Runs a script of the project with Node; ends by itself or the test does not. */
async function node(file: string, cwd = project): Promise<{ readonly out: string; readonly err: string }> {
  const { stdout, stderr } = await run(process.execPath, [path.join(project, file)], { cwd, timeout: 60_000 });
  return { out: stdout, err: stderr };
}

async function readExample(): Promise<string> {
  const page = await readFile(path.join(root, 'README.md'), 'utf8');
  const code = /<!-- compiled and run by test\/package\.test\.ts -->\n```ts\n([\s\S]*?)```/.exec(page)?.[1];
  if (code === undefined) throw new Error('README.md has no embedding example');
  return code;
}

/** Compiles `example.ts` against the installed package, libraries included. */
async function compile(): Promise<void> {
  const config = {
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      skipLibCheck: false,
      lib: ['es2023', 'esnext.disposable'],
      types: ['node'],
      typeRoots: [path.join(root, 'node_modules', '@types')],
    },
    files: ['example.mts'],
  };
  await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify(config));
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  await run(process.execPath, [tsc, '-p', project]).catch((error: { stdout?: string }) => {
    throw new Error(`the embedding example does not compile:\n${error.stdout ?? ''}`);
  });
}

const expectedOutput = `1 agent_started
2 tool_called
3 tool_returned
4 tool_called
5 tool_returned
6 agent_text
7 agent_finished
completed I read the manifest. Publishing was refused.
`;

describe('the packed and installed package', () => {
  test('runs the embedding example of the README by import, types checked strictly', async () => {
    const example = await readExample();
    await writeFile(path.join(project, 'example.mts'), example);

    await compile();
    const { out, err } = await node('example.mjs');

    expect(example.trim().split('\n').length).toBeLessThanOrEqual(20);
    expect({ out, err }).toEqual({ out: expectedOutput, err: '' });
  }, 120_000);

  test('runs it by require, from another current folder', async () => {
    const example = (await readExample())
      .replace(/^import \{ (.*) \} from ('.*');$/gm, 'const { $1 } = require($2);')
      .replace(/process\.cwd\(\)/, '__dirname');
    await writeFile(path.join(project, 'example.cjs'), `(async () => {\n${example}\n})();\n`);

    const { out } = await node('example.cjs', folder);

    expect(out).toBe(expectedOutput);
  }, 120_000);

  test('starts nothing and prints nothing when it is imported, and the process ends by itself (DI2)', async () => {
    await writeFile(
      path.join(project, 'idle.mjs'),
      `await Promise.all(['vibe-bus', 'vibe-bus/testing', 'vibe-bus/plugin'].map((name) => import(name)));\n`,
    );

    expect(await node('idle.mjs')).toEqual({ out: '', err: '' });
  }, 120_000);

  test('brings the command line', async () => {
    const command = path.join('node_modules', 'vibe-bus', 'dist', 'cli', 'main.js');

    const version = await node(path.join(command, '..', 'main.js'));
    const { stdout } = await run(process.execPath, [path.join(project, command), 'tools'], { cwd: folder });

    expect(version.out).toContain('Usage: vibe-bus');
    expect(stdout).toMatch(/^read_file {3}reads only {6}worker thread/);
    expect(
      (await readdir(path.join(project, 'node_modules', '.bin'))).some((name) => name.startsWith('vibe-bus')),
    ).toBe(true);
  }, 120_000);

  test('holds what it needs and nothing of the workshop', async () => {
    const installed = path.join(project, 'node_modules', 'vibe-bus');
    const names = (await readdir(installed)).sort();
    const prompts = await readdir(path.join(installed, 'prompts'));

    expect(names).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json', 'prompts', 'templates']);
    expect(prompts.length).toBeGreaterThan(10);
  });
});
