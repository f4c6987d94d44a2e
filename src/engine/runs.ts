import { createRunBehavior } from '../actors/run-actor.ts';
import type { Supervisor } from '../actors/supervisor.ts';
import type { ModelPrice } from '../agent/budget.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { Bus } from '../bus/bus.ts';
import type { Hooks } from '../bus/hooks.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import type { NewId, RunId } from '../protocol/ids.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { Provider, ProviderRef } from '../protocol/model.ts';
import type { Permissions } from '../protocol/tool.ts';
import { createApprovals } from '../tools/approvals.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { RunMode, RunResult } from '../workers/execute-run.ts';
import type { RunPool } from '../workers/run-pool.ts';
import { resolveLimits, type RunLimits, type RunOptions } from './options.ts';
import { createRunHandle, type RunHandle } from './run-handle.ts';
import { executePrepared } from './run-execution.ts';
import { createRunLog } from './run-log.ts';
import { openBudget, planBudget, toRunSettings } from './run-settings.ts';

/** A provider chosen for a run, and the model id it is asked for (may be empty). */
export interface ChosenModel {
  readonly provider: Provider;
  readonly model: string;
  readonly contextWindow?: number | undefined;
  /** The provider as data, for another thread; absent when it was given as an object. */
  readonly ref: ProviderRef | undefined;
}

export interface RunsDeps {
  readonly bus: Bus;
  readonly hooks: Hooks;
  readonly tools: ToolRegistry;
  readonly supervisor: Supervisor;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly root: string;
  /** Weaker sources of limits, the strongest first. */
  readonly limits: readonly RunLimits[];
  readonly permissions: Partial<Permissions>;
  readonly defaults: Pick<RunOptions, 'approver' | 'budget' | 'placement'>;
  readonly runPool: RunPool;
  /** Whether placement `auto` sends a run to a thread now. */
  shouldLeaveMainThread(): boolean;
  chooseModel(spec: AgentSpec, options: RunOptions): ChosenModel;
  priceOf(model: string): ModelPrice | undefined;
}

export interface RunRequest {
  readonly spec: AgentSpec;
  readonly message: string;
  readonly options: RunOptions;
  readonly mode: RunMode;
  /** Structured runs: the check, and the schema for providers that know JSON schemas themselves. */
  readonly checkDocument?: (document: Json) => Promise<OutputCheck<unknown>>;
  readonly responseSchema?: JsonObject | undefined;
}

export interface StartedRun {
  readonly handle: RunHandle;
  readonly result: Promise<RunResult>;
}

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
