// node close-program.ts <placement> <runs> <peers>: opens an engine with that many runs, plugins and MCP servers, closes it
// while all are busy, prints how long that took, and then has nothing left to do.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { listDescendants } from '../../src/cli/descendants.ts';
import type { Placement } from '../../src/engine/options.ts';
import { openCrowdEngine, startDrill } from './crowd.ts';

const [placement, runs, peers] = process.argv.slice(2);
const count = Number(peers);
const odd = path.join(import.meta.dirname, '../../test/fixtures/plugins/odd.mjs');
const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
const slowTool = 'trigger-long-running-operation';
const before = new Set(listDescendants());

await using opened = await openCrowdEngine({
  placement: placement as Placement,
  plugins: Array.from({ length: count }, (_, index) => ({
    name: `plugin-${index}`,
    command: [process.execPath, odd, `tools=hang-${index}`],
  })),
  mcpServers: Array.from({ length: count }, (_, index) => ({
    name: `server-${index}`,
    command: process.execPath,
    args: [everything, 'stdio'],
    tools: { eager: [slowTool] },
    sandbox: { read: [path.join(path.dirname(everything), '../../..')] },
  })),
});
const { engine } = opened;
const tools = Array.from({ length: count }, (_, index) => [
  { name: `hang-${index}`, input: {} },
  { name: `mcp__server-${index}__${slowTool}`, input: { duration: 60, steps: 60 } },
]).flat();
engine.bus.on('mcp_server_failed', ({ event }) => {
  process.stderr.write(`server \`${event.server_name}\` failed: ${event.error_code}\n`);
  process.exit(1);
});
// servers start in the background
while (tools.some(({ name }) => engine.tools.get(name) === undefined)) {
  await new Promise<void>((resolve) => {
    const off = engine.bus.on('*', () => {
      off();
      resolve();
    });
  });
}
const busy = new Set<string>();
const allBusy = new Promise<void>((resolve) => {
  engine.bus.on('tool_called', ({ event }) => {
    busy.add(event.tool);
    if (busy.size === tools.length) resolve();
  });
  engine.bus.on('tool_returned', ({ event }) => void busy.delete(event.tool));
});
for (const call of tools) startDrill(engine, { steps: 1, calls: [call] });
for (let started = tools.length; started < Number(runs); started += 1) startDrill(engine, { delay_ms: 60_000 });
await allBusy;
const children = listDescendants().filter((pid) => !before.has(pid) && !isTranslator(pid));
const busyPeers = busy.size;

/** Each thread that reads TypeScript has a helper process, which ends with ours and is not the engine's. */
function isTranslator(pid: number): boolean {
  return spawnSync('ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim() === 'esbuild';
}

const startedAt = performance.now();
await engine.close();
const closed = { busy_peers: busyPeers, children, closed_ms: performance.now() - startedAt };
process.stdout.write(`${JSON.stringify(closed)}\n`);
