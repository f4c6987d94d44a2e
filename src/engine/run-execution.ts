import type { RunInbox } from '../actors/run-actor.ts';
import type { RunControl } from '../agent/ports.ts';
import { executeRun, type RunJob, type RunResult } from '../workers/execute-run.ts';
import { OwnPorts, type PreparedRun } from './run-ports.ts';
import type { RunsDeps } from './run-request.ts';
import { executeInThread } from './thread-execution.ts';

/** Executes a run where it belongs: here, or in a thread that asks this one for tools, hooks and schema checks. */
export async function executePrepared(
  prepared: PreparedRun,
  control: RunControl,
  inbox: RunInbox,
  deps: RunsDeps,
): Promise<RunResult> {
  const { request, settings, chosen } = prepared;
  const { message, mode, options } = request;
  const job: RunJob = { settings, mode, message, history: request.earlier?.history ?? options.history };
  // a run that has to end before it began does not need a thread for it
  const isOver = control.signal.aborted || control.isStopRequested();
  const place = deps.placements.enter(settings.run, isOver ? 'inline' : options.placement, chosen);
  try {
    if (place.kind === 'thread') return await executeInThread(prepared, place.ref, job, control, inbox, deps);
    return await executeRun(job, control, new OwnPorts(prepared, control.signal, inbox, deps));
  } finally {
    place.leave();
  }
}
