// npm run bench [-- <name>…] [--json]
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { figureNames } from './names.ts';
import { toHeader } from './report.ts';

const root = path.join(import.meta.dirname, '..');
const built = path.join(root, 'node_modules', '.cache', 'vibe-bus-bench');
const args = process.argv.slice(2);
const isJson = args.includes('--json');
const asked = args.filter((arg) => arg !== '--json');

const unknown = asked.filter((name) => !figureNames.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`unknown: ${unknown.join(' ')}\nusage: npm run bench [-- <name>…] [--json]\n`);
  process.stderr.write(`names: ${figureNames.join(' ')}\n`);
  process.exitCode = 2;
} else if (compile()) measure();

/**
 * Compiles product and benchmark together as a release is compiled: the source loader wraps every function it meets, which
 * costs ours more than the peers, who come compiled.
 */
function compile(): boolean {
  rmSync(built, { recursive: true, force: true });
  mkdirSync(built, { recursive: true });
  // why: the product reads its version and prompts beside its folder
  cpSync(path.join(root, 'package.json'), path.join(built, 'package.json'));
  symlinkSync(path.join(root, 'prompts'), path.join(built, 'prompts'));
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  const { status } = spawnSync(tsc, ['-p', path.join(import.meta.dirname, 'tsconfig.json')], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) process.exitCode = 1;
  return status === 0;
}

/** One process a figure: what one of them teaches the compiler must not slow down the next. */
function measure(): void {
  if (!isJson) process.stdout.write(`${toHeader()}\n`);
  const runner = path.join(built, 'bench', 'run.js');
  for (const name of figureNames) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const format = isJson ? ['--json'] : [];
    const { status } = spawnSync(process.execPath, [runner, import.meta.dirname, name, ...format], {
      stdio: 'inherit',
    });
    if (status !== 0) process.exitCode = 1;
  }
}
