import { describe, expect, test } from 'vitest';
import { costOf, createBudget, type ModelPrice } from '../../src/agent/budget.ts';
import { noUsage, type Usage } from '../../src/protocol/message.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';

const usage = (changes: Partial<Usage>): Usage => ({ ...noUsage, ...changes });
const price: ModelPrice = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 };

describe('a budget says what is used up, in the words of the contract', () => {
  test('tokens: input and output count, cached ones do not, and reached is used up (agent-runtime 9)', () => {
    const budget = createBudget({ maxTokens: 100, usedTokens: 40 }, { clock: createManualClock() });

    budget.add(usage({ input_tokens: 30, output_tokens: 29, cache_read_tokens: 1000, cache_write_tokens: 1000 }));
    expect(budget.exceeded()).toBeUndefined();
    budget.add(usage({ output_tokens: 1 }));

    expect(budget.exceeded()).toEqual({
      cause: 'budget_tokens',
      text: 'token budget exhausted (100 of 100 tokens used)',
    });
  });

  test('time: what earlier invocations took counts, and seconds are whole', () => {
    const clock = createManualClock();
    const budget = createBudget({ maxDurationMs: 90_500, elapsedMs: 30_000 }, { clock });

    clock.advance(60_499);
    expect(budget.exceeded()).toBeUndefined();
    clock.advance(1);

    expect(budget.exceeded()).toEqual({
      cause: 'budget_duration',
      text: 'duration budget exhausted (90s of 90s used)',
    });
  });

  test('time: a wait before the work does not count, what earlier invocations took does', () => {
    const clock = createManualClock();
    const budget = createBudget({ maxDurationMs: 100, elapsedMs: 60 }, { clock });
    clock.advance(1_000);

    budget.restart();

    expect(budget.usedMs()).toBe(60);
    clock.advance(39);
    expect(budget.exceeded()).toBeUndefined();
    clock.advance(1);
    expect(budget.exceeded()?.cause).toBe('budget_duration');
  });

  test('cost: amounts with four decimals (contract README, decision 19)', () => {
    const budget = createBudget({ maxCost: 0.05 }, { clock: createManualClock(), price });

    budget.add(usage({ input_tokens: 10_000 }));
    expect(budget.exceeded()).toBeUndefined();
    budget.add(usage({ output_tokens: 3_000 }));

    expect(budget.exceeded()).toEqual({
      cause: 'budget_cost',
      text: 'cost budget exhausted (0.0500 of 0.0500 USD used)',
    });
  });

  test('the first reason stays the reason', () => {
    const clock = createManualClock();
    const budget = createBudget({ maxTokens: 10, maxDurationMs: 1000 }, { clock });
    clock.advance(1000);
    expect(budget.exceeded()?.cause).toBe('budget_duration');

    budget.add(usage({ input_tokens: 10 }));

    expect(budget.exceeded()?.cause).toBe('budget_duration');
  });

  test('a limit of nothing is reached at once', () => {
    expect(createBudget({ maxTokens: 0 }, { clock: createManualClock() }).exceeded()?.text).toBe(
      'token budget exhausted (0 of 0 tokens used)',
    );
  });
});

describe('what tokens cost', () => {
  test('each kind has its price, per million', () => {
    const all = usage({ input_tokens: 1e6, output_tokens: 1e6, cache_read_tokens: 1e6, cache_write_tokens: 1e6 });

    expect(costOf(all, price)).toBeCloseTo(2 + 10 + 0.2 + 2.5, 10);
  });

  test('tokens a provider counts twice, as input and as read from the cache, are paid once', () => {
    const counted = usage({ input_tokens: 1_000_000, cache_read_tokens: 800_000 });

    expect(costOf(counted, { ...price, inputIncludesCached: true })).toBeCloseTo(0.2 * 2 + 0.8 * 0.2, 10);
    expect(
      costOf(usage({ input_tokens: 1, cache_read_tokens: 9 }), { ...price, inputIncludesCached: true }),
    ).toBeCloseTo((9 * 0.2) / 1e6, 12);
  });
});
