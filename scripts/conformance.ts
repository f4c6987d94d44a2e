// npm run conformance [-- --verbose]: the official MCP conformance suite with our host as the client program.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');
const folder = path.join(root, 'test', 'conformance');
const client = [process.execPath, '--import', 'tsx', path.join(folder, 'client.ts')];

/** Sets of the suite, each with what we know to fail there. */
const sets: readonly (readonly string[])[] = [
  ['--requirements', '2026-07-28'],
  ['--requirements', '2025-11-25'],
  ['--suite', 'backcompat'],
];

let failed = 0;
for (const set of sets) {
  process.stdout.write(`\n== ${set.join(' ')}\n`);
  // why the long limit: all scenarios of a set start at the same time, and each is a process of its own
  const limits = ['--timeout', '180000', '--expected-failures', path.join(folder, 'expected-failures.yaml')];
  const args = ['client', '--command', client.map(quote).join(' '), ...set, ...limits, ...process.argv.slice(2)];
  const [program = '', ...rest] = [...runner(), suite, ...args];
  const { status } = spawnSync(program, rest, { cwd: root, stdio: 'inherit' });
  if (status !== 0) failed += 1;
}
process.stdout.write(`\n${sets.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

/** The suite itself needs Node 22: a package that is nothing but that program, fetched when it is needed. */
function runner(): readonly string[] {
  const [major = '0'] = process.versions.node.split('.');
  if (Number(major) >= 22) return [process.execPath];
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  return ['npx', '--yes', `--package=node-${platform}-${process.arch}@22`, '--', 'node'];
}

function quote(word: string): string {
  return /[\s"]/.test(word) ? `"${word}"` : word;
}
