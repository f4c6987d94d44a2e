import type { RunInbox } from '../actors/run-actor.ts';
import { executeRun, type RunJob, type RunResult } from '../workers/execute-run.ts';
import { type OwnedControl, OwnPorts, type PreparedRun } from './run-ports.ts';
import type { RunsDeps } from './run-request.ts';
import { executeInThread } from './thread-execution.ts';

/** Executes a run where it belongs: here, or in a thread that asks this one for tools, hooks and schema checks. */
export function executePrepared(
  prepared: PreparedRun,
  control: OwnedControl,
  inbox: RunInbox,
  deps: RunsDeps,
): Promise<RunResult> {
  const { request, settings, chosen } = prepared;
  const { message, mode, options } = request;
  const job: RunJob = { settings, mode, message, history: request.earlier?.history ?? options.history };
  // a run that has to end before it began does not need a thread for it
  const isOver = control.cancellation.isCancelled || control.isStopRequested();
  const place = deps.placements.enter(settings.run, isOver ? 'inline' : options.placement, chosen);
  prepared.onPlaced(place);
  return place.ref === undefined
    ? executeRun(job, control, new OwnPorts(prepared, control.cancellation, inbox, deps))
    : executeInThread(prepared, place.ref, job, control, inbox, deps);
}
