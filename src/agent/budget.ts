import type { CancelCause } from '../protocol/agent.ts';
import type { Clock } from '../protocol/deps.ts';
import { totalTokens, type Usage } from '../protocol/message.ts';

/** Limits of one run, or of several that share the object. Absent = unlimited. */
export interface BudgetLimits {
  /** Input plus output tokens; cached tokens do not count. */
  readonly maxTokens?: number;
  readonly maxDurationMs?: number;
  /** In USD; needs prices. */
  readonly maxCost?: number;
  /** Tokens used by earlier invocations. */
  readonly usedTokens?: number;
  /** Time used by earlier invocations. */
  readonly elapsedMs?: number;
}

/** USD per million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface BudgetStop {
  readonly cause: CancelCause;
  readonly text: string;
}

/** Counts what a run uses; the first reason to stop stays the reason. */
export interface Budget {
  add(usage: Usage): void;
  /** The first limit reached, or nothing. Reached means used >= limit. */
  exceeded(): BudgetStop | undefined;
  usedTokens(): number;
  usedCost(): number;
}

export function createBudget(
  limits: BudgetLimits,
  deps: { readonly clock: Pick<Clock, 'elapsed'>; readonly price?: ModelPrice | undefined },
): Budget {
  const startedAt = deps.clock.elapsed() - (limits.elapsedMs ?? 0);
  let tokens = limits.usedTokens ?? 0;
  let cost = 0;
  let stop: BudgetStop | undefined;

  function check(): BudgetStop | undefined {
    const { maxTokens, maxDurationMs, maxCost } = limits;
    if (maxTokens !== undefined && tokens >= maxTokens) {
      return { cause: 'budget_tokens', text: `token budget exhausted (${tokens} of ${maxTokens} tokens used)` };
    }
    if (maxDurationMs !== undefined) {
      const used = deps.clock.elapsed() - startedAt;
      if (used >= maxDurationMs) {
        const text = `duration budget exhausted (${seconds(used)}s of ${seconds(maxDurationMs)}s used)`;
        return { cause: 'budget_duration', text };
      }
    }
    if (maxCost !== undefined && deps.price !== undefined && cost >= maxCost) {
      const text = `cost budget exhausted (${cost.toFixed(4)} of ${maxCost.toFixed(4)} USD used)`;
      return { cause: 'budget_cost', text };
    }
    return undefined;
  }

  return {
    add(usage) {
      tokens += totalTokens(usage);
      if (deps.price !== undefined) cost += costOf(usage, deps.price);
    },
    exceeded: () => (stop ??= check()),
    usedTokens: () => tokens,
    usedCost: () => cost,
  };
}

/** What a number of tokens costs, in USD. */
export function costOf(usage: Usage, price: ModelPrice): number {
  return (
    (usage.input_tokens * price.input +
      usage.output_tokens * price.output +
      usage.cache_read_tokens * price.cacheRead +
      usage.cache_write_tokens * price.cacheWrite) /
    1_000_000
  );
}

function seconds(ms: number): string {
  return String(Math.floor(ms / 1000));
}
