import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Envelope } from '../../src/bus/envelope.ts';
import type { Engine } from '../../src/engine.ts';
import type { Placement } from '../../src/engine/options.ts';
import type { Drill } from '../../test/fixtures/runs/drill.ts';
import { openCrowdEngine, placements, startDrill } from './crowd.ts';
import type { LoadReport } from './report.ts';

const steps = 5;
const readOnlyCalls = 2;
/** `agent_started`, two events for each call, the last answer's `agent_text`, `agent_finished`. */
const eventsOfARun = 1 + steps * (readOnlyCalls + 1) * 2 + 2;

/** L1: many runs at once, each reads, greps and writes files step after step; nothing of them is lost or out of order. */
export async function loadRuns(report: LoadReport, runs = 1_000): Promise<void> {
  for (const placement of placements) await loadPlaced(report, placement, runs);
}

async function loadPlaced(report: LoadReport, placement: Placement, runs: number): Promise<void> {
  await using opened = await openCrowdEngine({ placement });
  const { engine } = opened;
  await writeFile(path.join(engine.root, 'notes.txt'), 'one\ntwo\nthree\n');
  const order = watchOrder(engine);
  const memory = watchMemory();
  engine.stats(); // the delay is measured from here
  const startedAt = performance.now();

  const outcomes = await Promise.all(
    Array.from({ length: runs }, (_, index) => startDrill(engine, toDrill(index)).outcome),
  );

  const seconds = (performance.now() - startedAt) / 1_000;
  const { loop } = engine.stats();
  const completed = outcomes.filter(({ stop, steps: taken }) => stop.reason === 'completed' && taken === steps + 1);
  report.atMost(`${placement}: runs that did not complete`, runs - completed.length, 0);
  report.atMost(`${placement}: events lost`, runs * eventsOfARun - order.seen(), 0);
  report.atMost(`${placement}: events out of order`, order.misplaced(), 0);
  report.atMost(`${placement}: calls that failed`, order.failed(), 0);
  report.note(`${placement}: loop delay p50`, loop.p50_ms, 'ms');
  report.atMost(`${placement}: loop delay p99`, loop.p99_ms, 100, 'ms');
  report.atMost(`${placement}: memory`, memory.stop(), 600, 'MiB');
  report.atMost(`${placement}: time`, seconds, 120, 's');
}

function toDrill(index: number): Drill {
  return {
    steps,
    delay_ms: 20,
    calls: [
      { name: 'read_file', input: { path: 'notes.txt' } },
      { name: 'grep', input: { pattern: 'two', path: 'notes.txt' } },
      { name: 'write_file', input: { path: `out/${index}.txt`, content: 'done\n' } },
    ],
  };
}

/** Looks at every event: numbers without gaps, and no return before its call. */
function watchOrder(engine: Engine): { seen(): number; misplaced(): number; failed(): number } {
  const last = new Map<string, number>();
  const open = new Set<string>();
  let seen = 0;
  let misplaced = 0;
  let failed = 0;
  engine.bus.on('*', ({ seq, event }: Envelope) => {
    if (seq === undefined || !('run' in event) || typeof event.run !== 'string') return;
    seen += 1;
    if (seq !== (last.get(event.run) ?? 0) + 1) misplaced += 1;
    last.set(event.run, seq);
    if (event.type === 'tool_called') open.add(event.call);
    if (event.type !== 'tool_returned') return;
    if (!open.delete(event.call)) misplaced += 1;
    if (event.is_error) failed += 1;
  });
  return { seen: () => seen, misplaced: () => misplaced, failed: () => failed };
}

/** The most the process held, in MiB, all threads included. */
function watchMemory(): { stop(): number } {
  let most = 0;
  const look = (): void => void (most = Math.max(most, process.memoryUsage.rss()));
  const timer = setInterval(look, 50);
  return {
    stop() {
      clearInterval(timer);
      look();
      return most / 1024 ** 2;
    },
  };
}
