// npm run conformance [-- --verbose]: the official MCP conformance suite with our host as the client program.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');
const folder = path.join(root, 'test', 'conformance');
const client = [process.execPath, path.join(folder, 'turn.mjs')];

/** Sets of the suite, each with what we know to fail there. */
const sets: readonly (readonly string[])[] = [
  ['--requirements', '2026-07-28'],
  ['--requirements', '2025-11-25'],
  ['--suite', 'backcompat'],
];

let failed = 0;
using turns = await openTurns(availableParallelism());
for (const set of sets) {
  process.stdout.write(`\n== ${set.join(' ')}\n`);
  // why the long limit: all scenarios of a set start at the same time and wait for their turn
  const limits = ['--timeout', '180000', '--expected-failures', path.join(folder, 'expected-failures.yaml')];
  const args = ['client', '--command', client.map(quote).join(' '), ...set, ...limits, ...process.argv.slice(2)];
  const [program = '', ...rest] = [...runner(), suite, ...args];
  const env = { ...process.env, CONFORMANCE_TURNS: String(turns.port) };
  const [status] = await once(spawn(program, rest, { cwd: root, stdio: 'inherit', env }), 'close');
  if (status !== 0) failed += 1;
}
process.stdout.write(`\n${sets.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

/** Lets so many scenarios run at once: each holds a connection for as long as it lives. */
async function openTurns(places: number): Promise<Disposable & { readonly port: number }> {
  const waiting: Socket[] = [];
  let free = places;
  const next = (): void => {
    while (free > 0 && waiting.length > 0) {
      free -= 1;
      waiting.shift()?.write('go');
    }
  };
  const server = createServer((socket) => {
    waiting.push(socket);
    // a scenario that was cut off resets its connection; what follows is the same
    socket.on('error', () => {});
    socket.once('close', () => {
      const place = waiting.indexOf(socket);
      if (place < 0) free += 1;
      else waiting.splice(place, 1);
      next();
    });
    socket.resume();
    next();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    [Symbol.dispose]: () => void server.close(),
  };
}

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
