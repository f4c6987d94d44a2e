import { describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/protocol/deps.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { describePlacements } from './placements.ts';
import { calling, openTestEngine, toolNamed, worker } from './support.ts';

const touch = toolNamed('touch', () => 'ok');
/** A step that uses 15 tokens, 10 in and 5 out, and asks for another. */
const step = calling(['touch']);

describePlacements('the budget of a run', (open) => {
  test('stops it before the next step, as a cancellation with its cause', async () => {
    await using stage = await open([step, step, { text: 'never' }], { tools: [touch] });

    const run = stage.engine.run(worker, 'go', { budget: { maxTokens: 30 } });

    expect(await run.outcome).toMatchObject({ stop: { reason: 'cancelled', cause: 'budget_tokens' }, steps: 2 });
    expect(run.used()).toMatchObject({ tokens: 30 });
    expect(stage.of('agent_finished')[0]?.stop).toBe('{"reason":"cancelled","cause":"budget_tokens"}');
  });

  test('that is used up by the last step leaves the run completed', async () => {
    await using stage = await open([step, { text: 'done' }], { tools: [touch] });

    const { stop } = await stage.engine.run(worker, 'go', { budget: { maxTokens: 30 } }).outcome;

    expect(stop).toEqual({ reason: 'completed' });
  });

  test('comes from the run, else the engine, else the configuration, limit by limit', async () => {
    const options = {
      tools: [touch],
      config: { budget: { max_tokens: 15 } },
      budget: { maxDurationMs: 60_000 },
    };
    await using stage = await open([step, step, { text: 'done' }, step, { text: 'never' }], options);

    const roomy = await stage.engine.run(worker, 'go', { budget: { maxTokens: 1000 } }).outcome;
    expect(roomy.stop).toEqual({ reason: 'completed' });
    const { stop } = await stage.engine.run(worker, 'go').outcome;
    expect(stop).toEqual({ reason: 'cancelled', cause: 'budget_tokens' });
  });

  test('counts repair and summary calls, which are no steps', async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    await using stage = await open([{ text: 'yes' }, { text: 'no json either' }, { text: 'never' }]);

    const failing = stage.engine.runStructured(worker, 'go', schema, { budget: { maxTokens: 30 } });

    // the session that would ask again ends before its first model call
    await expect(failing).rejects.toMatchObject({
      kind: 'invalid_request',
      outcome: { stop: { reason: 'cancelled', cause: 'budget_tokens' }, steps: 1, aux_usage: { input_tokens: 10 } },
    });
    expect(stage.requests).toHaveLength(2);
  });

  test.each([
    ['whose repair succeeds', '{"ok": true}', { ok: true }],
    ['whose repair fails', 'no json either', undefined],
  ])('lets the answer of the step that used it up be repaired, once, %s', async (_what, repaired, expected) => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    await using stage = await open([{ text: 'yes' }, { text: repaired }, { text: 'never' }]);

    const result = await stage.engine
      .runStructured(worker, 'go', schema, { budget: { maxTokens: 15 } })
      .catch((error: unknown) => error);

    if (expected === undefined) expect(result).toMatchObject({ kind: 'invalid_request', outcome: { steps: 1 } });
    else expect(result).toMatchObject({ value: expected, outcome: { stop: { reason: 'completed' }, steps: 1 } });
    expect(stage.requests).toHaveLength(2);
  });
});

describePlacements('the time of a run by the clock of the machine', (open) => {
  test('ends it before its next step', async () => {
    const slow = toolNamed('touch', () => new Promise((resolve) => setTimeout(resolve, 30)));
    await using stage = await open([step, { text: 'never' }], { tools: [slow] });

    const { stop } = await stage.engine.run(worker, 'go', { budget: { maxDurationMs: 20 } }).outcome;

    expect(stop).toEqual({ reason: 'cancelled', cause: 'budget_duration' });
  });
});

describe('the time of a run', () => {
  test('is counted by the clock of the engine', async () => {
    const clock = createManualClock();
    const slow = toolNamed('touch', () => clock.advance(1_000));
    const options = {
      tools: [slow],
      clock,
      config: { budget: { max_duration_secs: 3600 } },
      budget: { maxDurationMs: 1_000 },
    };
    await using stage = await openTestEngine([step, { text: 'never' }], options);

    const { stop } = await stage.engine.run(worker, 'go', { budget: { maxTokens: 1000 } }).outcome;

    expect(stop).toEqual({ reason: 'cancelled', cause: 'budget_duration' });
  });

  test('of a run counts in its follow-up too', async () => {
    const clock = createManualClock();
    const slow = toolNamed('touch', () => clock.advance(600));
    await using stage = await openTestEngine([step, { text: 'first' }, step, { text: 'never' }], {
      tools: [slow],
      clock,
    });
    const first = stage.engine.run(worker, 'go', { budget: { maxDurationMs: 1_000 } });
    await first.outcome;
    clock.advance(10_000); // between the two nothing works

    const { stop, steps } = await first.followUp('go on').outcome;

    expect({ stop, steps }).toEqual({ stop: { reason: 'cancelled', cause: 'budget_duration' }, steps: 1 });
  });

  test('ends a wait for a retry’s next attempt too', async () => {
    const clock = createManualClock();
    await using stage = await openTestEngine(
      [{ error: { kind: 'rate_limited', message: 'slow down', retry_after_ms: 5_000 } }, { text: 'never' }],
      { clock },
    );
    stage.engine.bus.on('retrying', () => void setImmediate(() => clock.advance(5_000)));

    const { stop } = await stage.engine.run(worker, 'go', { budget: { maxDurationMs: 5_000 } }).outcome;

    expect(stop).toEqual({ reason: 'cancelled', cause: 'budget_duration' });
    expect(stage.requests).toHaveLength(1);
  });
});

describePlacements('what a run may cost', (open) => {
  const usage = { input_tokens: 1000, output_tokens: 1000 };
  const dear = { ...step, usage };

  test.each([
    ['the caller’s price', { prices: { m: { input: 10, output: 40 } } }, 0.05],
    ['the configuration’s price', { config: { prices: { m: { input: 5, output: 20 } } } }, 0.025],
    [
      'the caller’s over the configuration’s, key by key',
      { prices: { m: { output: 45 } }, config: { prices: { m: { input: 5, output: 20 } } } },
      0.05,
    ],
    [
      'a price of the model at its provider',
      { prices: { m: { input: 1 }, 'scripted/m': { input: 10, output: 40 } } },
      0.05,
    ],
  ])('is counted by %s', async (_what, options, cost) => {
    await using stage = await open([dear, { text: 'never', usage }], { tools: [touch], ...options });

    const run = stage.engine.run(worker, 'go', { model: 'm', budget: { maxCost: cost } });

    expect((await run.outcome).stop).toEqual({ reason: 'cancelled', cause: 'budget_cost' });
    expect(run.used().cost).toBeCloseTo(cost, 10);
  });

  test('counts what a run before its follow-up did', async () => {
    await using stage = await open([{ text: 'first', usage }, dear, { text: 'never' }], {
      tools: [touch],
      prices: { m: { input: 10, output: 40 } },
    });
    const first = stage.engine.run(worker, 'go', { model: 'm', budget: { maxCost: 0.1 } });
    await first.outcome;

    const second = first.followUp('go on');

    expect((await second.outcome).stop).toEqual({ reason: 'cancelled', cause: 'budget_cost' });
    expect(second.used().cost).toBeCloseTo(0.1, 10);
  });

  test('models of the built-in providers have a price, by shorthand too, and one’s own goes first', async () => {
    await using stage = await open(
      [
        { text: 'a', usage },
        { text: 'b', usage },
        { text: 'c', usage },
      ],
      {
        config: { prices: { 'claude-opus-5': { output: 1 } } },
      },
    );

    const runs = ['claude-sonnet-5', 'Sonnet', 'opus'].map((model) => stage.engine.run(worker, 'go', { model }));
    await Promise.all(runs.map((run) => run.outcome));

    expect(runs.map((run) => run.used().cost.toFixed(4))).toEqual(['0.0120', '0.0120', '0.0060']);
  });

  test('cached tokens without a price of their own cost what input costs', async () => {
    await using stage = await open([{ text: 'a', usage: { ...usage, cache_read_tokens: 1000 } }], {
      prices: { m: { input: 10, output: 0 } },
    });

    const run = stage.engine.run(worker, 'go', { model: 'm' });
    await run.outcome;

    expect(run.used().cost).toBeCloseTo(0.02, 10);
  });

  test('without a known price is not enforced, which one warning says', async () => {
    const warnings: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) };
    await using stage = await open([dear, dear, { text: 'done', usage }], { tools: [touch], logger });

    const run = stage.engine.run(worker, 'go', { model: 'unheard-of', budget: { maxCost: 0.000001 } });

    expect((await run.outcome).stop).toEqual({ reason: 'completed' });
    expect(run.used()).toEqual({ tokens: 6000, cost: 0 });
    expect(warnings).toEqual(['no price is known for model `unheard-of`: the cost budget is not enforced']);
  });
});
