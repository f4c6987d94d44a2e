import { listDescendants } from '../../src/cli/descendants.ts';
import type { Placement } from '../../src/engine/options.ts';
import type { Drill } from '../../test/fixtures/runs/drill.ts';
import { openCrowdEngine, placements, startDrill } from './crowd.ts';
import type { LoadReport } from './report.ts';

const minuteMs = 60_000;
/** Runs with a process of their own; the others wait for a model or for a tool that heeds its signal, in turn. */
const withProcess = 16;

/** L7: many runs cancelled in one tick, in the middle of model calls, tool calls and processes. */
export async function loadCancel(report: LoadReport, runs = 1_000): Promise<void> {
  for (const placement of placements) await loadPlaced(report, placement, runs);
}

async function loadPlaced(report: LoadReport, placement: Placement, runs: number): Promise<void> {
  let waiting = 0;
  let tell: () => void = () => {};
  await using opened = await openCrowdEngine({
    placement,
    // bash calls are mutating, and so alone in their step, but not among runs
    tools: [
      {
        name: 'wait',
        description: 'Waits.',
        input_schema: { type: 'object' },
        call: (_input, { signal }) =>
          new Promise((_resolve, reject) => {
            waiting += 1;
            tell();
            signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
          }),
      },
    ],
  });
  const { engine } = opened;
  const before = new Set(listDescendants());
  const drills = Array.from({ length: runs }, (_, index) => toDrill(index));
  const waiters = drills.filter(({ calls }) => calls?.[0]?.name === 'wait').length;
  const handles = drills.map((drill) => startDrill(engine, drill));
  let shells = 0;
  engine.bus.on('tool_called', ({ event }) => {
    if (event.tool === 'bash') shells += 1;
    tell();
  });
  while (waiting < waiters || shells < Math.min(withProcess, runs))
    await new Promise<void>((resolve) => (tell = resolve));

  const cancelledAt = performance.now();
  for (const handle of handles) void handle.cancel();
  const outcomes = await Promise.all(handles.map((handle) => handle.outcome));

  const seconds = (performance.now() - cancelledAt) / 1_000;
  const processes = listDescendants().filter((pid) => !before.has(pid));
  report.atMost(
    `${placement}: runs with another end`,
    outcomes.filter(({ stop }) => stop.reason !== 'cancelled').length,
    0,
  );
  report.atMost(`${placement}: time until the last had ended`, seconds, 2, 's');
  report.atMost(`${placement}: runs left`, engine.runs().length, 0);
  report.atMost(`${placement}: processes left`, processes.length, 0);
}

function toDrill(index: number): Drill {
  if (index < withProcess) return { steps: 1, calls: [{ name: 'bash', input: { command: 'sleep 60' } }] };
  return index % 2 === 0 ? { delay_ms: minuteMs } : { steps: 1, calls: [{ name: 'wait', input: {} }] };
}
