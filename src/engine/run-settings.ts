import { type Budget, type BudgetLimits, createBudget, type ModelPrice } from '../agent/budget.ts';
import type { RunSettings } from '../agent/ports.ts';
import type { RunId } from '../protocol/ids.ts';
import { type Tool, toToolSpec } from '../protocol/tool.ts';
import type { RunOptions, ResolvedLimits } from './options.ts';
import type { ChosenModel, RunRequest, RunsDeps } from './run-request.ts';

/** What a run's budget is made from, as data. */
export interface BudgetPlan {
  readonly limits: BudgetLimits;
  readonly price: ModelPrice | undefined;
}

/** The run's own limits over the engine's. A cost limit without a known price is not enforced, which is said once. */
export function planBudget(run: RunId, options: RunOptions, chosen: ChosenModel, deps: RunsDeps): BudgetPlan {
  const limits = { ...deps.defaults.budget, ...options.budget };
  const model = modelShown(chosen);
  const price = deps.priceOf(model);
  if (limits.maxCost !== undefined && price === undefined) {
    deps.logger.warn(`no price is known for model \`${model}\`: the cost budget is not enforced`, { run });
  }
  return { limits, price };
}

export function openBudget(plan: BudgetPlan, deps: RunsDeps): Budget {
  return createBudget(plan.limits, { clock: deps.clock, price: plan.price });
}

/** The settings of the loop: plain data. */
export function toRunSettings(
  run: RunId,
  { spec, options, responseSchema }: RunRequest,
  offered: readonly Tool[],
  chosen: ChosenModel,
  limits: ResolvedLimits,
  root: string,
): RunSettings {
  const { compaction } = options;
  const hasNativeSchema = chosen.provider.info().supports_json_schema === true;
  return {
    run,
    spec,
    model: chosen.model,
    shownModel: modelShown(chosen),
    tools: offered.map((tool) => ({ ...toToolSpec(tool), isMutating: tool.is_mutating === true })),
    contextWindow: limits.contextWindow ?? chosen.contextWindow ?? 200_000,
    maxProviderRetries: limits.maxProviderRetries,
    retryBaseDelayMs: limits.retryBaseDelayMs,
    maxParallelTools: limits.maxParallelTools,
    workspaceRoot: options.root ?? root,
    task: options.task,
    subtask: options.subtask ?? null,
    vars: options.vars ?? {},
    ...(responseSchema !== undefined && hasNativeSchema ? { responseSchema } : {}),
    ...(compaction === undefined
      ? {}
      : { compaction: { atPercent: compaction.atPercent ?? 75, keepMessages: compaction.keepMessages ?? 8 } }),
  };
}

function modelShown(chosen: ChosenModel): string {
  return chosen.model === '' ? chosen.provider.info().default_model : chosen.model;
}
