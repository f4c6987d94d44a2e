// npm run bench [-- <name>…] [--json]
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { figureNames } from './names.ts';

const root = path.join(import.meta.dirname, '..');
const built = path.join(root, 'node_modules', '.cache', 'vibe-bus-bench');
const args = process.argv.slice(2);

const unknown = args.filter((arg) => arg !== '--json' && !figureNames.includes(arg));
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

function measure(): void {
  const runner = path.join(built, 'bench', 'run.js');
  const child = spawn(process.execPath, ['--expose-gc', runner, import.meta.dirname, ...args], { stdio: 'inherit' });
  child.on('close', (code) => {
    process.exitCode = code ?? 1;
  });
}
