// npm run bench [-- <name>…] [--json]
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { compileAround } from '../scripts/compiled.ts';
import { figureNames } from './names.ts';
import { toHeader } from './report.ts';

const args = process.argv.slice(2);
const isJson = args.includes('--json');
const asked = args.filter((arg) => arg !== '--json');

const unknown = asked.filter((name) => !figureNames.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`unknown: ${unknown.join(' ')}\nusage: npm run bench [-- <name>…] [--json]\n`);
  process.stderr.write(`names: ${figureNames.join(' ')}\n`);
  process.exitCode = 2;
} else {
  const built = compileAround('vibe-bus-bench', path.join(import.meta.dirname, 'tsconfig.json'));
  if (built === undefined) process.exitCode = 1;
  else measure(built);
}

/** One process a figure: what one of them teaches the compiler must not slow down the next. */
function measure(built: string): void {
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
