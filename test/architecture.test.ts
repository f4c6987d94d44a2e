import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findViolations } from './architecture/check.ts';
import { readModules, type SourceModule } from './architecture/modules.ts';
import { exceptions, layers } from './architecture/table.ts';

const root = path.join(import.meta.dirname, '..');
const source = path.join(root, 'src');
const tree = readModules(source);
const dependencies = new Set(listDependencies());

function listDependencies(): string[] {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    peerDependencies?: Record<string, string>;
  };
  return [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies ?? {})];
}

describe('the walker', () => {
  const folders = readdirSync(source, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && readdirSync(path.join(source, entry.name)).length > 0)
    .map((entry) => entry.name);

  test.each(folders)('sees a module in src/%s and the import table has a row for it', (folder) => {
    const seen = tree.filter((module) => module.folder === folder);

    expect(seen.length).toBeGreaterThan(0);
    expect(Object.keys(layers)).toContain(folder);
  });

  test('sees imports, not only files', () => {
    const edges = tree.flatMap((module) => module.imports);

    expect(edges.filter((edge) => edge.isRelative).length).toBeGreaterThan(50);
    expect(edges.some((edge) => edge.target === 'zod')).toBe(true);
    expect(edges.some((edge) => edge.isTypeOnly)).toBe(true);
  });
});

test('the source tree follows the import table and the rules of the house', () => {
  expect(findViolations(tree, dependencies)).toEqual([]);
});

test('ARCHITECTURE.md has a row for every row of the table', () => {
  const page = readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const places = Object.keys(layers).map((place) => place.split('/').at(-1) ?? place);

  expect(places.filter((place) => !rows.some((row) => row.includes(`\`${place}`)))).toEqual([]);
});

test('every exception names a file that exists and a reason', () => {
  const files = new Set(tree.map((module) => module.file));

  expect(exceptions.filter((exception) => !files.has(exception.file) || exception.why.length < 20)).toEqual([]);
});

describe('a planted bad file is caught', () => {
  let planted: string;

  beforeAll(() => {
    planted = mkdtempSync(path.join(tmpdir(), 'architecture-'));
  });

  afterAll(() => {
    rmSync(planted, { recursive: true, force: true });
  });

  function plant(name: string, files: { readonly [file: string]: string }): readonly SourceModule[] {
    const folder = path.join(planted, name);
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    return readModules(folder);
  }

  const long = `export const a = [\n${'  1,\n'.repeat(299)}];\n`;
  const a = { 'protocol/a.ts': 'export const a = 1;\n' };

  test.each([
    ['a folder outside the table', { 'helpers/a.ts': 'export const a = 1;' }, 'no row of the import table'],
    ['an upward import', { ...a, 'tools/b.ts': '', 'protocol/c.ts': "import '../tools/b.ts';" }, 'tools/b.ts'],
    ['a sideways import', { 'tools/b.ts': '', 'providers/c.ts': "import '../tools/b.ts';" }, 'does not allow'],
    ['an upward dynamic import', { 'tools/b.ts': '', 'bus/c.ts': "void import('../tools/b.ts');" }, 'does not allow'],
    [
      'an upward type import',
      { 'tools/b.ts': '', 'bus/c.ts': "import type { b } from '../tools/b.ts';" },
      'bus/c.ts:1',
    ],
    [
      'a value of the bus in the agent',
      { 'bus/events.ts': '', 'agent/c.ts': "import '../bus/events.ts';" },
      'agent/c.ts',
    ],
    ['host code in the plugin kit', { 'plugins/b.ts': '', 'plugins/server.ts': "import './b.ts';" }, 'plugins/b.ts'],
    ['a kernel that knows an actor', { 'actors/b.ts': '', 'actors/actor.ts': "import './b.ts';" }, 'actors/b.ts'],
    ['a module that is not there', { 'bus/c.ts': "import './gone.ts';" }, 'no module of the source folder'],
    ['a reserved package', { 'tools/c.ts': "import 'piscina';" }, 'reserved to workers'],
    ['a reserved package as a dynamic import', { 'bus/c.ts': "void import('execa');" }, 'reserved to transport'],
    ['a package nobody listed', { 'tools/c.ts': "import 'left-pad';" }, 'package.json does not list'],
    ['a thread outside workers', { 'agent/c.ts': "import 'node:worker_threads';" }, 'reserved to workers'],
    ['files in the protocol', { 'protocol/c.ts': "import 'node:fs';" }, 'protocol must not'],
    ['a timer in the protocol', { 'protocol/c.ts': 'export const c = () => setTimeout(() => {}, 1);' }, 'setTimeout()'],
    ['files in the bus', { 'bus/c.ts': "import 'node:fs/promises';" }, 'bus must not'],
    ['output of library code', { 'tools/c.ts': "export const c = () => process.stdout.write('');" }, 'process.stdout'],
    ['an exit of library code', { 'engine.ts': 'export const c = () => process.exit(1);' }, 'process.exit'],
    [
      'a handler of library code',
      { 'engine.ts': "export const c = () => process.on('exit', () => {});" },
      'process.on',
    ],
    ['301 code lines', { 'bus/c.ts': long }, 'has 301 code lines'],
    ['a default export', { 'bus/c.ts': 'export default 1;' }, 'default export'],
    ['a default function', { 'bus/c.ts': 'export default function c() {}' }, 'default export'],
    ['a renamed default export', { 'bus/c.ts': 'const c = 1;\nexport { c as default };' }, 'default export'],
    ['a barrel', { 'bus/index.ts': 'export const c = 1;' }, 'index.ts inside a folder'],
    ['a re-export', { ...a, 'protocol/c.ts': "export { a } from './a.ts';" }, 're-exports protocol/a.ts'],
    ['a cycle', { 'bus/b.ts': "import './c.ts';", 'bus/c.ts': "import './b.ts';" }, 'import cycle: bus/b.ts'],
    [
      'a cycle of types',
      { 'bus/b.ts': "import type { c } from './c.ts';", 'bus/c.ts': "import type { b } from './b.ts';" },
      'import cycle',
    ],
    [
      'top-level await below a thread',
      { 'workers/run-worker.ts': "import '../tools/b.ts';", 'tools/b.ts': 'await 1;\nexport {};' },
      'tools/b.ts, which has top-level await',
    ],
    [
      'top-level await of a disposable',
      { 'workers/run-worker.ts': 'await using c = { async [Symbol.asyncDispose]() {} };\nexport {};' },
      'has top-level await',
    ],
    [
      'a provider in a tool thread',
      { 'workers/tool-worker.ts': "import '../providers/b.ts';", 'providers/b.ts': '' },
      'a tool thread must not',
    ],
    [
      'execa in a thread tool',
      { 'transport/c.ts': "import 'execa';", 'tools/grep.ts': "import '../transport/c.ts';" },
      'execa',
    ],
    [
      'a heavy package at import',
      { 'mcp/b.ts': "import '@modelcontextprotocol/client';", 'index.ts': "import './mcp/b.ts';" },
      'loaded at its first use',
    ],
  ])('%s', (name, files, expected) => {
    const violations = findViolations(plant(name.replaceAll(' ', '-'), files), dependencies);

    expect(violations.filter((violation) => violation.includes(expected))).not.toEqual([]);
  });

  test('and the same shapes within the rules are not', () => {
    const modules = plant('good', {
      'protocol/a.ts': '/** A comment.\n *\n */\nexport const a = 1;\n',
      'bus/events.ts': "import { a } from '../protocol/a.ts';\nexport const events = a;\n",
      'agent/c.ts': "import type { events } from '../bus/events.ts';\nexport type C = typeof events;\n",
      'mcp/b.ts': "export const b = async () => await import('@modelcontextprotocol/client');\n",
      'workers/tool-worker.ts': 'export default async function run() {\n  await 1;\n}\n',
      'index.ts': "export { b } from './mcp/b.ts';\n",
      'bus/long.ts': long.replace('  1,\n', '\n  // only a comment\n'),
    });

    expect(findViolations(modules, dependencies)).toEqual([]);
  });
});
