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
  /** USD used by earlier invocations. */
  readonly usedCost?: number;
  /** Time used by earlier invocations. */
  readonly elapsedMs?: number;
}

/** USD per million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Input tokens count those read from the cache as well, as some providers report them. */
  readonly inputIncludesCached?: boolean;
}

export interface BudgetStop {
  readonly cause: CancelCause;
  readonly text: string;
}

/** Counts what a run uses; the first reason to stop stays the reason. */
export interface Budget {
  add(usage: Usage): void;
  /** Counts what a child used, at the child's own price. */
  spend(tokens: number, cost: number): void;
  /** The first limit reached, here or in the parent, or nothing. Reached means used >= limit. */
  exceeded(): BudgetStop | undefined;
  usedTokens(): number;
  usedCost(): number;
  usedMs(): number;
  /** Time counts from now on: what went by was a wait and no work. */
  restart(): void;
  /** What is left here and in the parent, as the limits of a budget that starts at nothing. */
  remaining(): BudgetLimits;
  /** Calls the listener once, when tokens or cost reach a limit. @returns a function that stops listening */
  onExceeded(listener: (stop: BudgetStop) => void): () => void;
}

export interface BudgetDeps {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly price?: ModelPrice | undefined;
  /** The budget this one is a part of: what is used here is used there too, and its limits hold here. */
  readonly parent?: Budget | undefined;
}

export function createBudget(limits: BudgetLimits, deps: BudgetDeps): Budget {
  return new CountedBudget(limits, deps);
}

// why: a class, because every run has one
class CountedBudget implements Budget {
  readonly #limits: BudgetLimits;
  readonly #deps: BudgetDeps;
  #startedAt: number;
  #tokens: number;
  #cost: number;
  #stop: BudgetStop | undefined;
  #listeners: Set<(stop: BudgetStop) => void> | undefined;

  constructor(limits: BudgetLimits, deps: BudgetDeps) {
    this.#limits = limits;
    this.#deps = deps;
    this.#startedAt = this.#newStart();
    this.#tokens = limits.usedTokens ?? 0;
    this.#cost = limits.usedCost ?? 0;
  }

  add(usage: Usage): void {
    const { price } = this.#deps;
    this.spend(totalTokens(usage), price === undefined ? 0 : costOf(usage, price));
  }

  spend(tokens: number, cost: number): void {
    this.#tokens += tokens;
    this.#cost += cost;
    if (this.#listeners !== undefined) this.#tell(this.#listeners);
    this.#deps.parent?.spend(tokens, cost);
  }

  exceeded(): BudgetStop | undefined {
    return (this.#stop ??= this.#check() ?? this.#deps.parent?.exceeded());
  }

  usedTokens(): number {
    return this.#tokens;
  }

  usedCost(): number {
    return this.#cost;
  }

  usedMs(): number {
    return this.#deps.clock.elapsed() - this.#startedAt;
  }

  restart(): void {
    this.#startedAt = this.#newStart();
  }

  remaining(): BudgetLimits {
    const { maxTokens, maxDurationMs, maxCost } = this.#limits;
    const left = this.#deps.parent?.remaining() ?? {};
    return {
      ...least('maxTokens', maxTokens, this.#tokens, left.maxTokens),
      ...least('maxDurationMs', maxDurationMs, this.usedMs(), left.maxDurationMs),
      ...least('maxCost', maxCost, this.#cost, left.maxCost),
    };
  }

  onExceeded(listener: (stop: BudgetStop) => void): () => void {
    const off = this.#deps.parent?.onExceeded(listener);
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => {
      off?.();
      this.#listeners?.delete(listener);
    };
  }

  #newStart(): number {
    return this.#deps.clock.elapsed() - (this.#limits.elapsedMs ?? 0);
  }

  #check(): BudgetStop | undefined {
    const { maxTokens, maxDurationMs, maxCost } = this.#limits;
    if (maxTokens !== undefined && this.#tokens >= maxTokens) {
      const text = `token budget exhausted (${this.#tokens} of ${maxTokens} tokens used)`;
      return { cause: 'budget_tokens', text };
    }
    if (maxDurationMs !== undefined) {
      const used = this.usedMs();
      if (used >= maxDurationMs) {
        const text = `duration budget exhausted (${seconds(used)}s of ${seconds(maxDurationMs)}s used)`;
        return { cause: 'budget_duration', text };
      }
    }
    if (maxCost !== undefined && this.#deps.price !== undefined && this.#cost >= maxCost) {
      const text = `cost budget exhausted (${this.#cost.toFixed(4)} of ${maxCost.toFixed(4)} USD used)`;
      return { cause: 'budget_cost', text };
    }
    return undefined;
  }

  #tell(listeners: Set<(stop: BudgetStop) => void>): void {
    this.#stop ??= this.#check();
    if (this.#stop === undefined) return;
    for (const listener of listeners) listener(this.#stop);
    listeners.clear();
  }
}

function least(name: keyof BudgetLimits, limit: number | undefined, used: number, other: number | undefined) {
  const own = limit === undefined ? undefined : Math.max(0, limit - used);
  const value = own === undefined ? other : Math.min(own, other ?? own);
  return value === undefined ? {} : { [name]: value };
}

/** What a number of tokens costs, in USD. */
export function costOf(usage: Usage, price: ModelPrice): number {
  const cached = price.inputIncludesCached === true ? Math.min(usage.cache_read_tokens, usage.input_tokens) : 0;
  return (
    ((usage.input_tokens - cached) * price.input +
      usage.output_tokens * price.output +
      usage.cache_read_tokens * price.cacheRead +
      usage.cache_write_tokens * price.cacheWrite) /
    1_000_000
  );
}

function seconds(ms: number): string {
  return String(Math.floor(ms / 1000));
}
