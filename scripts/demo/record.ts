import type { Places } from '../../src/cli/places.ts';
import { describeCall } from '../../src/cli/render.ts';
import { toTable } from '../../src/cli/table.ts';
import type { Engine } from '../../src/engine.ts';
import type { CallId } from '../../src/protocol/ids.ts';

/** One call as it happened. */
export interface RecordedCall {
  readonly tool: string;
  /** The tool with its main argument. */
  readonly text: string;
  readonly place: string;
  readonly durationMs: number;
  readonly isError: boolean;
}

/** Collects the calls of a run, in the order in which they ended. */
export function recordCalls(engine: Pick<Engine, 'bus'>, places: Places): readonly RecordedCall[] {
  const calls: RecordedCall[] = [];
  const texts = new Map<CallId, string>();
  engine.bus.on('tool_called', ({ event }) => void texts.set(event.call, describeCall(event.tool, event.input, 48)));
  engine.bus.on('tool_returned', ({ event }) => {
    const { tool, call, duration_ms: durationMs, is_error: isError } = event;
    calls.push({ tool, text: texts.get(call) ?? tool, place: places.where(call), durationMs, isError });
  });
  return calls;
}

/** The table at the end: what ran where. */
export function describeCalls(calls: readonly RecordedCall[], model: string): string {
  const rows = calls.map((call) => [
    call.text,
    call.place,
    `${call.durationMs} ms`,
    call.place === 'not run' ? 'refused by the hook of plugin guard' : call.isError ? 'failed' : 'ok',
  ]);
  return toTable([['call', 'where', 'took', 'result'], ...rows, ['model', model, '', '']]);
}
