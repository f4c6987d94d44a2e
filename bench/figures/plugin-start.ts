import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Series } from '../measure.ts';
import { openHost } from '../plugin-host.ts';
import { openRawPeer } from '../raw-peer.ts';
import { type Row, toRow } from '../report.ts';

/** What the start of plugins costs the host, and what the author kit costs a plugin. */
export async function measurePluginStart(folder: string): Promise<readonly Row[]> {
  const command = [process.execPath, path.join(folder, 'fixtures', 'echo-plugin.mjs')] as const;
  return [await measureStarts(command), await measureKit(folder)];
}

const plugins = 20;
const startRounds = 4;

/** All of them ready, against as many processes of the same program that answered one request. */
async function measureStarts(command: readonly [string, ...string[]]): Promise<Row> {
  const names = Array.from({ length: plugins }, (_, index) => `echo-${index}`);
  const [ours, bare] = await alternate(startRounds, [
    async () => {
      const host = openHost();
      await host.load(names.map((name) => ({ name, command, required: true })));
      return () => host.stop();
    },
    async () => {
      const peers = await Promise.all(names.map(() => openRawPeer(command)));
      return async () => void (await Promise.all(peers.map((peer) => peer.close())));
    },
  ]);
  const reference = { name: 'bare processes', series: bare };
  return toRow({ name: 'plugin-start.20', unit: 'ms', goal: 1.3, ours, reference });
}

const kitRounds = 20;

/** A plugin on the author kit from its start to its end, against an empty module. */
async function measureKit(folder: string): Promise<Row> {
  const kit = fileURLToPath(new URL('../../src/plugins/server.js', import.meta.url));
  const run = async (...args: readonly string[]): Promise<() => Promise<void>> => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const [code] = (await once(child, 'exit')) as [number];
    if (code !== 0) throw new Error(`exit code ${code}`);
    return () => Promise.resolve();
  };
  const [ours, empty] = await alternate(kitRounds, [
    () => run(path.join(folder, 'fixtures', 'kit-plugin.mjs'), kit),
    () => run(path.join(folder, 'fixtures', 'empty.mjs')),
  ]);
  const reference = { name: 'empty module', series: empty };
  return toRow({ name: 'plugin-start.kit', unit: 'ms', goal: 1.25, ours, reference });
}

/** Each does its work, timed, and returns what cleans up, untimed. The first round of each warms up. */
async function alternate(
  rounds: number,
  works: readonly [() => Promise<() => Promise<void>>, () => Promise<() => Promise<void>>],
): Promise<readonly [Series, Series]> {
  const series: readonly [number[], number[]] = [[], []];
  for (let round = -1; round < rounds; round += 1) {
    for (const turn of [0, 1]) {
      const index = (round + turn) % 2 === 0 ? 0 : 1;
      const startedAt = performance.now();
      const cleanUp = await works[index]();
      const tookNs = (performance.now() - startedAt) * 1_000_000;
      await cleanUp();
      if (round >= 0) series[index].push(tookNs);
    }
  }
  return series;
}
