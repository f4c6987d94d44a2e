import { createRunBehavior } from '../actors/run-actor.ts';
import type { Supervisor } from '../actors/supervisor.ts';
import { type Budget, type BudgetLimits, createBudget, type ModelPrice } from '../agent/budget.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { RunSettings } from '../agent/ports.ts';
import type { Bus } from '../bus/bus.ts';
import type { Hooks } from '../bus/hooks.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import type { NewId, RunId } from '../protocol/ids.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { Provider, ProviderRef } from '../protocol/model.ts';
import { defaultPermissions, type Permissions, toToolSpec } from '../protocol/tool.ts';
import { createApprovals } from '../tools/approvals.ts';
import { createToolDispatch } from '../tools/dispatch.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { executeRun, type RunMode, type RunPorts, type RunResult } from '../workers/execute-run.ts';
import { type ResolvedLimits, resolveLimits, type RunLimits, type RunOptions } from './options.ts';
import { createRunHandle, type RunHandle } from './run-handle.ts';
import { createRunLog } from './run-log.ts';

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
  readonly defaults: Pick<RunOptions, 'approver' | 'budget'>;
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
  const { bus, clock } = deps;
  const active = new Map<RunId, RunHandle>();

  return { start, active: () => [...active.values()] };

  function start(request: RunRequest): StartedRun {
    const { spec, message, options, mode } = request;
    const run = options.runId === undefined ? deps.newId.run() : (options.runId as RunId);
    if (run === '') throw new EngineError('config', 'option `runId` must not be empty');
    if (active.has(run)) throw new EngineError('invalid_request', `run \`${run}\` is already active`);
    const chosen = deps.chooseModel(spec, options);
    const limits = resolveLimits(options, ...deps.limits);
    const budget = openBudget({ ...deps.defaults.budget, ...options.budget }, chosen, run);
    const settings = toSettings(run, request, chosen, limits);
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

    const child = deps.supervisor.start({
      restart: 'temporary',
      behavior: () =>
        createRunBehavior({
          run,
          budget,
          approvals,
          signal: options.signal,
          onSteered: (text) => void bus.publish({ type: 'run_steered', run, text }),
          async execute(control, takeSteering) {
            const callTool = createToolDispatch(
              {
                run,
                role: spec.role,
                subtask: settings.subtask,
                tools: new Map(deps.tools.resolve(spec.tools).map((tool) => [tool.name, tool])),
                workspaceRoot: settings.workspaceRoot,
                permissions: { ...defaultPermissions, ...deps.permissions, ...options.permissions },
                taskId: options.task === undefined ? undefined : (options.task.id ?? run),
                maxOutputChars: limits.maxToolOutputChars,
                trace: options.toolTrace,
                toolTimeoutMs: limits.toolTimeoutMs,
                cancelGraceMs: limits.cancelGraceMs,
                approvals,
                signal: control.signal,
              },
              { hooks: deps.hooks, clock, newId: deps.newId, logger: deps.logger, publish: bus.publish },
            );
            const ports: RunPorts = {
              complete: (request, onDelta) => chosen.provider.completeStreaming(request, onDelta),
              completeAux: (request) => chosen.provider.complete(request),
              callTool,
              augmentPrompt: (role, task) => deps.hooks.runAugmentPrompt(role, task, control.signal),
              publish: bus.publish,
              takeSteering,
              checkDocument: request.checkDocument ?? (() => Promise.resolve({ ok: true, value: undefined })),
              logger: deps.logger,
              clock,
            };
            try {
              settle?.resolve(await executeRun({ settings, mode, message, history: options.history }, control, ports));
            } catch (error) {
              settle?.reject(error);
            } finally {
              end(run, options.runId === undefined);
            }
          },
        }),
    });
    const handle = createRunHandle({ run, role: spec.role, actor: child.ref(), outcome, log, budget });
    active.set(run, handle);
    return { handle, result };

    function end(id: RunId, isFresh: boolean): void {
      active.delete(id);
      log.end();
      if (isFresh) bus.forgetRun(id);
    }
  }

  function openBudget(limits: BudgetLimits, chosen: ChosenModel, run: RunId): Budget {
    const model = chosen.model === '' ? chosen.provider.info().default_model : chosen.model;
    const price = deps.priceOf(model);
    if (limits.maxCost !== undefined && price === undefined) {
      deps.logger.warn(`no price is known for model \`${model}\`: the cost budget is not enforced`, { run });
    }
    return createBudget(limits, { clock, price });
  }

  function toSettings(
    run: RunId,
    { spec, options, responseSchema }: RunRequest,
    chosen: ChosenModel,
    limits: ResolvedLimits,
  ): RunSettings {
    const { compaction } = options;
    const info = chosen.provider.info();
    return {
      run,
      spec,
      model: chosen.model,
      shownModel: chosen.model === '' ? info.default_model : chosen.model,
      tools: deps.tools
        .resolve(spec.tools)
        .map((tool) => ({ ...toToolSpec(tool), isMutating: tool.is_mutating === true })),
      contextWindow: limits.contextWindow ?? chosen.contextWindow ?? 200_000,
      maxProviderRetries: limits.maxProviderRetries,
      retryBaseDelayMs: limits.retryBaseDelayMs,
      maxParallelTools: limits.maxParallelTools,
      workspaceRoot: options.root ?? deps.root,
      task: options.task,
      subtask: options.subtask ?? null,
      vars: options.vars ?? {},
      ...(responseSchema !== undefined && info.supports_json_schema === true ? { responseSchema } : {}),
      ...(compaction === undefined
        ? {}
        : { compaction: { atPercent: compaction.atPercent ?? 75, keepMessages: compaction.keepMessages ?? 8 } }),
    };
  }
}
