import { describeCall } from '../../src/cli/render.ts';
import type { Style } from '../../src/cli/style.ts';
import type { BusEvent, CallId, Engine, JsonObject, RunId } from '../../src/index.ts';

/** Shows many runs at once, each line with the agent it is from. */
export interface FactoryView {
  /** What ran where. */
  summary(): string;
}

export function createFactoryView(engine: Engine, style: Style, write: (text: string) => void): FactoryView {
  const names = new Map<RunId, string>();
  const calls = new Map<CallId, JsonObject>();
  let threaded = 0;
  let sideBySide = 0;
  let started = 0;
  const threads = new Set<number>();

  function line(run: RunId, text: string): void {
    write(`  ${style.faint((names.get(run) ?? '').padEnd(42))} ${text}\n`);
  }

  function onStarted({ run, role, subtask }: BusEvent<'agent_started'>): void {
    names.set(run, subtask === null ? role : `${role} · ${subtask}`);
    started += 1;
    const { running } = engine.stats().run_pool;
    sideBySide = Math.max(sideBySide, running);
    line(run, running > 0 ? 'starts, in a thread' : 'starts');
    if (running > 0) threaded += 1;
  }

  function onReturned({ run, tool, call, is_error: isError, duration_ms: ms }: BusEvent<'tool_returned'>): void {
    for (const { thread, runs } of engine.stats().run_pool.threads) if (runs > 0) threads.add(thread);
    const text = `${describeCall(tool, calls.get(call) ?? {}, 48)} (${ms} ms)`;
    line(run, isError ? style.bad(`✗ ${text}`) : style.plain(`✓ ${text}`));
  }

  engine.bus.on('*', ({ event }) => {
    if (event.type === 'phase_started') write(`\n${style.strong(String(event['phase']))}\n`);
    else if (event.type === 'agent_started') onStarted(event);
    else if (event.type === 'agent_text') line(event.run, style.plain(event.text.split('\n')[0] ?? ''));
    else if (event.type === 'tool_called') calls.set(event.call, event.input);
    else if (event.type === 'tool_returned') onReturned(event);
    else if (event.type === 'committed') write(`  ${style.good(`commit: ${String(event['message'])}`)}\n`);
    else if (event.type === 'subtask_integrated' && event['conflicts'] !== 0) {
      write(
        `  ${style.caution(`merged ${String(event['branch'])}: ${String(event['conflicts'])} conflict resolved`)}\n`,
      );
    }
  });

  return {
    summary: () =>
      `${started} runs, ${threaded} of them in ${threads.size} ${threads.size === 1 ? 'thread' : 'threads'}, ${sideBySide} side by side`,
  };
}
