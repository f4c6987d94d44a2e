// npm run load -- [name…]
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { compileAround } from '../compiled.ts';
import { loads } from './loads.ts';

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(loads, name));

if (unknown.length > 0) {
  process.stderr.write(`unknown: ${unknown.join(' ')}\nusage: npm run load -- [name…]\n`);
  process.stderr.write(`names: ${Object.keys(loads).join(' ')}\n`);
  process.exitCode = 2;
} else {
  const copied = ['scripts/load/pool-tools.mjs', 'test/fixtures/plugins/odd.mjs', 'test/fixtures/plugins/faulty.mjs'];
  const built = compileAround('vibe-bus-load', path.join(import.meta.dirname, 'tsconfig.json'), copied);
  const run = built === undefined ? undefined : path.join(built, 'scripts', 'load', 'run.js');
  const { status } =
    run === undefined ? { status: 1 } : spawnSync(process.execPath, [run, ...asked], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
