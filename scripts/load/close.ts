import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { placements } from './crowd.ts';
import type { LoadReport } from './report.ts';

export interface CloseLoadSize {
  readonly runs: number;
  /** Processes of plugins and as many of MCP servers. */
  readonly peers: number;
}

/** What the program prints when its engine is closed. */
const Closed = z.object({ busy_peers: z.number(), children: z.array(z.number()), closed_ms: z.number() });

/** L10: an engine is closed while runs and peers are busy; then its process ends by itself and nothing of it stays. */
export async function loadClose(report: LoadReport, { runs, peers }: CloseLoadSize = { runs: 100, peers: 10 }) {
  for (const placement of placements) {
    const args = [...toProgram('close-program'), placement, String(runs), String(peers)];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 100_000,
      killSignal: 'SIGKILL',
    });
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    let closedAt = Number.NaN;
    child.stdout.once('data', () => (closedAt = performance.now()));
    const printed = await text(child.stdout);
    const code = await ended;
    const { busy_peers: busy, children, closed_ms: closedMs } = Closed.parse(JSON.parse(printed));
    report.note(`${placement}: processes of the engine`, children.length);
    report.atMost(`${placement}: peers that were not busy`, peers * 2 - busy, 0);
    report.atMost(`${placement}: time of close`, closedMs / 1_000, 5, 's');
    report.atMost(`${placement}: until the process had ended`, (performance.now() - closedAt) / 1_000, 2, 's');
    report.atMost(`${placement}: exit code`, code ?? 1, 0);
    report.atMost(`${placement}: processes left`, (await leftOf(children, closedAt + graceMs)).length, 0);
  }
}

/** A program beside this file, as Node starts it: compiled as this one is, or from source. */
function toProgram(name: string): readonly string[] {
  const isSource = import.meta.filename.endsWith('.ts');
  const file = path.join(import.meta.dirname, name);
  return isSource ? ['--import', 'tsx', `${file}.ts`] : [`${file}.js`];
}

/** The kernel ends what is confined a moment after its guard; nothing may be there 5 s later (reliability PL1). */
const graceMs = 5_000;

async function leftOf(pids: readonly number[], until: number): Promise<readonly number[]> {
  for (;;) {
    const left = pids.filter(isAlive);
    if (left.length === 0 || performance.now() > until) return left;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A process that has ended and that nobody asked how is not alive. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}
