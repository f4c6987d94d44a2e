import { createBudget, type ModelPrice } from '../agent/budget.ts';
import type { RunSettings } from '../agent/ports.ts';
import type { RunId } from '../protocol/ids.ts';
import type { ChosenModel } from './chosen-model.ts';
import type { RunOptions } from './options.ts';
import type { PreparedRun } from './run-ports.ts';
import type { RunRequest, RunsDeps } from './run-request.ts';

/** What the tokens of a run cost; a cost limit without a known price is not enforced, which is said. */
export function findPrice(
  run: RunId,
  options: RunOptions,
  chosen: ChosenModel,
  deps: RunsDeps,
): ModelPrice | undefined {
  const price = deps.priceOf(chosen);
  const maxCost = options.budget?.maxCost ?? deps.defaults.budget?.maxCost;
  if (maxCost !== undefined && price === undefined) {
    deps.logger.warn(`no price is known for model \`${modelShown(chosen)}\`: the cost budget is not enforced`, { run });
  }
  return price;
}

/**
 * The run's own limits over the engine's; its time begins now. A child's budget is part of its parent's, whose limits hold
 * for both, so the engine's own count once.
 */
export function openBudget({ options, parent, earlier }: RunRequest, price: ModelPrice | undefined, deps: RunsDeps) {
  const shared = parent === undefined ? deps.defaults.budget : undefined;
  const limits = options.budget === undefined ? (shared ?? unlimited) : { ...shared, ...options.budget };
  const used = { usedTokens: earlier?.tokens, usedCost: earlier?.cost, elapsedMs: earlier?.activeMs };
  return createBudget(earlier === undefined ? limits : { ...limits, ...used }, {
    clock: deps.clock,
    price,
    parent: parent?.run.budget(),
  });
}

/** The settings of the loop: plain data. */
export function toRunSettings(
  { id, request, chosen, limits, offer }: Pick<PreparedRun, 'id' | 'request' | 'chosen' | 'limits' | 'offer'>,
  root: string,
): RunSettings {
  const { spec, options, parent, responseSchema } = request;
  const { compaction } = options;
  const hasNativeSchema = chosen.provider.info().supports_json_schema === true;
  return {
    run: id,
    spec,
    model: chosen.model,
    shownModel: modelShown(chosen),
    tools: offer.tools,
    toolTokens: offer.toolTokens,
    mutatingTools: offer.mutatingTools,
    contextWindow: limits.contextWindow ?? chosen.contextWindow ?? 200_000,
    maxProviderRetries: limits.maxProviderRetries,
    retryBaseDelayMs: limits.retryBaseDelayMs,
    maxParallelTools: limits.maxParallelTools,
    workspaceRoot: options.root ?? root,
    task: options.task,
    subtask: options.subtask ?? null,
    vars: options.vars ?? noVars,
    ...(parent === undefined ? {} : { parent: { run: parent.run.id, call: parent.call } }),
    ...(responseSchema !== undefined && hasNativeSchema ? { responseSchema } : {}),
    ...(compaction === undefined
      ? {}
      : { compaction: { atPercent: compaction.atPercent ?? 75, keepMessages: compaction.keepMessages ?? 8 } }),
  };
}

const noVars = {};
const unlimited = {};

function modelShown(chosen: ChosenModel): string {
  return chosen.model === '' ? chosen.provider.info().default_model : chosen.model;
}
