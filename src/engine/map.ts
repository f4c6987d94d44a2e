import type { Bus } from '../bus/bus.ts';
import type { AgentInput, AgentOutcome, AgentStop } from '../protocol/agent.ts';
import type { Clock } from '../protocol/deps.ts';
import { isEngineError, toEngineError } from '../protocol/error.ts';
import type { NewId } from '../protocol/ids.ts';
import { noUsage, userText } from '../protocol/message.ts';
import { checkWhole } from '../protocol/option-check.ts';
import { eitherSignal } from '../protocol/signal.ts';
import type { RunOptions } from './options.ts';
import type { RunHandle } from './run-handle.ts';

/** One input of a fan-out: its message, or with settings of its own. */
export type MapInput = string | { readonly message: string; readonly options?: RunOptions };

export interface MapOptions extends Omit<RunOptions, 'runId' | 'whenBusy'> {
  /** Aborting it is a hard cancel of all runs, also of those with a signal of their own. */
  readonly signal?: AbortSignal;
  /** Runs side by side. Default 8. */
  readonly concurrency?: number;
  /** Called after each run, and once at the start. When it throws, the fan-out ends like one whose run cannot start. */
  readonly onProgress?: (progress: MapProgress) => void;
}

export interface MapProgress {
  /** Runs that have ended. */
  readonly done: number;
  /** Of these: not completed. */
  readonly failed: number;
  readonly total: number;
}

export interface MapDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly newId: NewId;
  run(agent: string | AgentInput, message: string, options: RunOptions): RunHandle;
}

/**
 * Runs one agent over a list.
 * @returns the outcomes in the order of the inputs; a run that could not be executed has the stop `error`
 * @throws EngineError `config` for a bad option, or when a run cannot start; the others are then cancelled
 */
export async function mapRuns(
  agent: string | AgentInput,
  given: Iterable<MapInput>,
  { concurrency = 8, onProgress, ...options }: MapOptions,
  deps: MapDeps,
): Promise<readonly AgentOutcome[]> {
  checkWhole('concurrency', concurrency, 1);
  // why: how many there are is part of the first report; and what the caller does to the list later is no concern of the runs
  const inputs = [...given];
  const map = deps.newId.uuid();
  const role = typeof agent === 'string' ? agent : agent.role;
  const outcomes: AgentOutcome[] = [];
  const active = new Set<RunHandle>();
  const abandoned = new AbortController();
  let next = 0;
  let done = 0;
  let failed = 0;

  function report(): void {
    const progress = { done, failed, total: inputs.length };
    deps.bus.publish({ type: 'map_progressed', map, role, ...progress });
    onProgress?.(progress);
  }

  async function work(): Promise<void> {
    while (next < inputs.length && !abandoned.signal.aborted) {
      const index = next;
      next += 1;
      const outcome = await runOne(inputs[index] as MapInput);
      outcomes[index] = outcome;
      done += 1;
      if (outcome.stop.reason !== 'completed') failed += 1;
      report();
    }
  }

  async function runOne(input: MapInput): Promise<AgentOutcome> {
    const { message, options: own } = typeof input === 'string' ? { message: input, options: {} } : input;
    using signal = own?.signal === undefined ? undefined : eitherSignal(options.signal, own.signal);
    const runOptions = { ...options, ...own, ...(signal === undefined ? {} : { signal: signal.signal }) };
    const handle = await startOne(message, runOptions);
    if (handle === undefined) return toOutcome(role, message, { reason: 'cancelled' });
    active.add(handle);
    try {
      return await handle.outcome;
    } catch (error) {
      return toFailure(role, message, error);
    } finally {
      active.delete(handle);
    }
  }

  /** Waits while the engine has no room: the list is the queue. Nothing when it was cancelled meanwhile. */
  async function startOne(message: string, runOptions: RunOptions): Promise<RunHandle | undefined> {
    for (;;) {
      try {
        return deps.run(agent, message, runOptions);
      } catch (error) {
        if (!isEngineError(error) || error.code !== 'overloaded') throw error;
        using cancelled = eitherSignal(runOptions.signal, abandoned.signal);
        await deps.clock.sleep(error.retryAfterMs ?? 1_000, cancelled.signal).catch(() => {}); // the check below tells
        if (cancelled.signal.aborted) return undefined;
      }
    }
  }

  report();
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, inputs.length) }, work));
  } catch (error) {
    abandoned.abort(error);
    await Promise.all([...active].map((handle) => handle.cancel()));
    throw error;
  }
  return outcomes;
}

function toFailure(role: string, message: string, error: unknown): AgentOutcome {
  const { kind, code, message: text } = toEngineError(error);
  const stop: AgentStop = { reason: 'error', kind, message: text, ...(code === kind ? {} : { code }) };
  return toOutcome(role, message, stop);
}

function toOutcome(role: string, message: string, stop: AgentStop): AgentOutcome {
  return { role, stop, final_text: '', messages: [userText(message)], steps: 0, tool_calls: 0, usage: noUsage };
}
