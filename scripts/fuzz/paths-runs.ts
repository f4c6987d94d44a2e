import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { createRandomIds } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { defaultPermissions, type ToolOutput } from '../../src/protocol/tool.ts';
import { createBuiltinTools } from '../../src/tools/builtin.ts';
import { checkInput } from '../../src/tools/check-input.ts';

export interface PathFuzzReport {
  readonly paths: number;
  /** Calls that found something to read, list or write. */
  readonly served: number;
  /** How often directories were swapped for links meanwhile. */
  readonly swaps: number;
  readonly violations: readonly string[];
}

/** Stands in every file outside; no output may hold it. */
const mark = 'outside-of-the-workspace';

/**
 * F4 (reliability section 14): path strings of all kinds for the tools that read, list, search and write, in a tree with links
 * out of it, loops and odd names, while another thread swaps its directories for links and back. Nothing outside is shown
 * or changed.
 */
export async function fuzzPaths(options: { readonly count: number; readonly seed: number }): Promise<PathFuzzReport> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'vibe-paths-')));
  const tree = plant(base);
  const swaps = new Int32Array(new SharedArrayBuffer(4));
  const swapper = new Worker(swapperCode, { eval: true, workerData: { ...tree, swaps } });
  const violations: string[] = [];
  let served = 0;
  try {
    const call = createCalls(tree.root);
    for (const path of fc.sample(paths(tree), { numRuns: options.count, seed: options.seed })) {
      for (const [name, more] of Object.entries(inputs)) {
        const output = await call(name, { path, ...more });
        if (!output.is_error) served += 1;
        if (output.content.includes(mark)) violations.push(`${name} ${JSON.stringify(path)} showed what lies outside`);
      }
      const kept = readdirSync(tree.outside).join();
      if (kept !== 'marker.txt,secret.txt') violations.push(`${JSON.stringify(path)} left ${kept} outside`);
      if (violations.length > 20) break;
    }
    for (const file of ['marker.txt', 'secret.txt']) {
      if (readFileSync(join(tree.outside, file), 'utf8') !== mark) violations.push(`${file} outside was changed`);
    }
  } finally {
    await swapper.terminate();
    rmSync(base, { recursive: true, force: true });
  }
  return { paths: options.count, served, swaps: Atomics.load(swaps, 0), violations };
}

interface Tree {
  readonly root: string;
  readonly outside: string;
}

function plant(base: string): Tree {
  const [root, outside] = [join(base, 'repo'), join(base, 'repo-evil')];
  mkdirSync(join(root, 'a/b'), { recursive: true });
  mkdirSync(join(root, 'swapped/b'), { recursive: true });
  mkdirSync(outside);
  for (const file of ['marker.txt', 'secret.txt']) writeFileSync(join(outside, file), mark);
  for (const file of ['a/b/file.txt', 'swapped/secret.txt', 'swapped/b/file.txt', '"quoted"', '-rf', 'two\nlines']) {
    writeFileSync(join(root, file), 'inside');
  }
  const links = {
    up: '..',
    out: '../repo-evil',
    'a/abs': outside,
    'a/b/up': '../../..',
    loop: 'loop',
    dang: '../repo-evil/new',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  return { root, outside };
}

/** Moves a directory away, puts a link in its place, and back, as fast as it can; the calls may get in its way. */
const swapperCode = `
  const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
  const { workerData: { root, outside, swaps } } = require('node:worker_threads');
  const attempt = (step) => { try { step(); } catch {} };
  for (let round = 0; ; round += 1) {
    const name = root + (round % 2 === 0 ? '/swapped' : '/swapped/b');
    attempt(() => renameSync(name, root + '/away' + round));
    attempt(() => symlinkSync(outside, name));
    attempt(() => unlinkSync(name));
    attempt(() => renameSync(root + '/away' + round, name));
    Atomics.add(swaps, 0, 1);
  }`;

function paths({ root, outside }: Tree): fc.Arbitrary<string> {
  const names =
    'a b up out abs loop dang swapped secret.txt file.txt new .. . .git .GIT .vibe ~ "a" "quoted" a\\b %2e%2e ... -rf';
  const step = fc.constantFrom(
    ...names.split(' '),
    '',
    ' ',
    '\u200b',
    '\0',
    'marker.txt',
    'two\nlines',
    '"two\\nlines"',
  );
  const start = fc.constantFrom(
    '',
    '',
    '/',
    './',
    '//',
    `${root}/`,
    `${outside}/`,
    `${root}/../repo-evil/`,
    '/proc/self/cwd/',
  );
  return fc.tuple(start, fc.array(step, { maxLength: 6 })).map(([front, steps]) => front + steps.join('/'));
}

const inputs: { readonly [tool: string]: JsonObject } = {
  read_file: {},
  list_dir: {},
  glob: { pattern: '**/{marker,secret}.txt' },
  grep: { pattern: 'outside', output_mode: 'content' },
  write_file: { content: 'planted' },
  edit_file: { old_string: 'outside', new_string: 'changed' },
};

function createCalls(root: string): (name: string, input: JsonObject) => Promise<ToolOutput> {
  const ids = createRandomIds();
  const tools = createBuiltinTools({ bash: { checkCommand: () => ({ allow: true }) } });
  return async (name, input) => {
    const tool = tools.find((entry) => entry.name === name);
    if (tool === undefined) throw new Error(`there is no tool \`${name}\``);
    const { signal } = new AbortController();
    const context = { workspace_root: root, permissions: defaultPermissions, agent: 'fuzz', call: ids.call(), signal };
    const checked = await checkInput(tool, input, context);
    return checked.ok ? ((await tool.call(checked.value, context)) as ToolOutput) : checked.output;
  };
}
