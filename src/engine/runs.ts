import { createRunBehavior } from '../actors/run-actor.ts';
import { EngineError } from '../protocol/error.ts';
import type { RunId } from '../protocol/ids.ts';
import { createApprovals } from '../tools/approvals.ts';
import type { RunResult } from '../workers/execute-run.ts';
import { resolveLimits } from './options.ts';
import { executePrepared } from './run-execution.ts';
import { createRunHandle, type RunHandle } from './run-handle.ts';
import { createRunLog } from './run-log.ts';
import type { RunRequest, RunsDeps, StartedRun } from './run-request.ts';
import { openBudget, planBudget, toRunSettings } from './run-settings.ts';

/** Starts runs and knows which are active. */
export interface Runs {
  /** @throws EngineError `config` for a bad option or an unknown provider, `invalid_request` for a run id in use */
  start(request: RunRequest): StartedRun;
  active(): readonly RunHandle[];
}

export function createRuns(deps: RunsDeps): Runs {
  const { bus } = deps;
  const active = new Map<RunId, RunHandle>();

  return { start, active: () => [...active.values()] };

  function start(request: RunRequest): StartedRun {
    const { spec, options } = request;
    const run = options.runId === undefined ? deps.newId.run() : (options.runId as RunId);
    if (run === '') throw new EngineError('config', 'option `runId` must not be empty');
    if (active.has(run)) throw new EngineError('invalid_request', `run \`${run}\` is already active`);
    const chosen = deps.chooseModel(spec, options);
    const limits = resolveLimits(options, ...deps.limits);
    const offered = deps.tools.resolve(spec.tools);
    const settings = toRunSettings(run, request, offered, chosen, limits, deps.root);
    const budgetPlan = planBudget(run, options, chosen, deps);
    const budget = openBudget(budgetPlan, deps);
    const approvals = createApprovals({
      approver: options.approver ?? deps.defaults.approver,
      timeoutMs: limits.approvalTimeoutMs,
      publish: bus.publish,
    });
    const log = createRunLog(bus, run);

    let settle: { resolve(result: RunResult): void; reject(error: unknown): void } | undefined;
    const result = new Promise<RunResult>((resolve, reject) => (settle = { resolve, reject }));
    const outcome = result.then((done) => done.outcome);
    outcome.catch(() => {}); // a caller that only watches events must not meet an unhandled rejection

    const prepared = { request, settings, offered, limits, chosen, budget, budgetPlan, approvals };
    const child = deps.supervisor.start({
      restart: 'temporary',
      behavior: () =>
        createRunBehavior({
          run,
          budget,
          approvals,
          signal: options.signal,
          onSteered: (text) => void bus.publish({ type: 'run_steered', run, text }),
          async execute(control, inbox) {
            try {
              settle?.resolve(await executePrepared(prepared, control, inbox, deps));
            } catch (error) {
              settle?.reject(error);
            } finally {
              end();
            }
          },
        }),
    });
    const handle = createRunHandle({ run, role: spec.role, actor: child.ref(), outcome, log, budget });
    active.set(run, handle);
    return { handle, result };

    function end(): void {
      active.delete(run);
      log.end();
      if (options.runId === undefined) bus.forgetRun(run);
    }
  }
}
