import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Envelope } from '../../src/bus/envelope.ts';
import type { EngineOptions } from '../../src/engine/options.ts';
import { autoDelayMs, autoInlineRuns, createPlacements } from '../../src/engine/placement.ts';
import { textOf } from '../../src/protocol/message.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createRandomIds, type RunId } from '../../src/protocol/ids.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { createRecorder } from '../../src/testing/recorder.ts';
import { createRunPool } from '../../src/workers/run-pool.ts';
import { createLogRecorder } from '../workers/pool-fixture.ts';
import { createDrillEngine, createGate, echo, soldier, startDrill, toMessage } from './drill.ts';
import { describePlacements } from './placements.ts';

const runPool = createRunPool({ logger: silentLogger, threads: 2 });
afterAll(() => runPool.close());

describePlacements('every promise of a run', (_open, placed) => {
  const open = (options: EngineOptions = {}) => createDrillEngine({ ...placed, ...options });

  async function collect(events: AsyncIterable<Envelope>): Promise<readonly Envelope[]> {
    const all: Envelope[] = [];
    for await (const envelope of events) all.push(envelope);
    return all;
  }

  test('a run executes where it was placed', async () => {
    await using engine = await open();
    const run = startDrill(engine, { delay_ms: 200 });
    await new Promise((resolve) => engine.bus.on('agent_started', resolve));

    const { runs } = engine.stats();

    expect(runs).toMatchObject({ active: 1, inline: placed.placement === 'inline' ? 1 : 0 });
    await run.outcome;
  });

  test('events are numbered from 1 without gaps, in the order of the run', async () => {
    await using engine = await open();

    const run = startDrill(engine, {
      steps: 2,
      calls: [
        { name: 'echo', input: { text: 'one' } },
        { name: 'echo', input: { text: 'two' } },
      ],
      text: 'all said',
    });
    const envelopes = await collect(run.events({ from: 1 }));

    expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, index) => index + 1));
    const calls = ['tool_called', 'tool_called', 'tool_returned', 'tool_returned'];
    expect(envelopes.map(({ event }) => event.type)).toEqual([
      'agent_started',
      ...calls,
      ...calls,
      'agent_text',
      'agent_finished',
    ]);
    const outcome = await run.outcome;
    expect(outcome).toMatchObject({ stop: { reason: 'completed' }, final_text: 'all said', steps: 3, tool_calls: 4 });
    expect(outcome.messages[2]?.content).toMatchObject([{ content: 'echo: one' }, { content: 'echo: two' }]);
  });

  test('deltas come before the text they are a preview of', async () => {
    await using engine = await open();
    using recorder = createRecorder(engine.bus);

    const run = startDrill(engine, {
      text: 'Hello.',
      deltas: [
        { kind: 'thinking', text: 'hm' },
        { kind: 'text', text: 'Hel' },
        { kind: 'text', text: 'lo.' },
      ],
    });
    await run.outcome;

    const seen = recorder.envelopes.filter(({ event }) => 'run' in event).map(({ event }) => event.type);
    expect(seen).toEqual(['agent_started', 'agent_delta', 'agent_delta', 'agent_text', 'agent_finished']);
  });

  test('hooks refuse calls, see results and add to the prompt', async () => {
    await using engine = await open();
    const after: string[] = [];
    engine.hooks.beforeTool('no-two', ({ input }) =>
      input['text'] === 'two' ? { abort: 'two is too many' } : undefined,
    );
    engine.hooks.afterTool('watch', ({ output }) => void after.push(output.content));
    engine.hooks.augmentPrompt('rules', () => 'House rules.');

    const { messages } = await startDrill(engine, {
      steps: 1,
      calls: [
        { name: 'echo', input: { text: 'one' } },
        { name: 'echo', input: { text: 'two' } },
      ],
    }).outcome;

    expect(messages[2]?.content).toMatchObject([
      { content: 'echo: one', is_error: false },
      { content: expect.stringContaining('no-two: two is too many'), is_error: true },
    ]);
    expect(after).toEqual(['echo: one']);
  });

  test('a hook that fails while the prompt is made rejects the run before any event', async () => {
    await using engine = await open();
    using recorder = createRecorder(engine.bus);
    engine.hooks.augmentPrompt('broken', () => {
      throw new Error('no rules today');
    });

    const run = startDrill(engine, {});

    await expect(run.outcome).rejects.toMatchObject({ kind: 'plugin' });
    expect(recorder.types().filter((type) => type.startsWith('agent_'))).toEqual([]);
  });

  test('a hard cancel ends a model call in flight', async () => {
    await using engine = await open();
    const run = startDrill(engine, { delay_ms: 60_000 });
    await new Promise((resolve) => engine.bus.on('agent_started', resolve));

    await run.cancel();

    expect(await run.outcome).toMatchObject({ stop: { reason: 'cancelled' }, steps: 0 });
    expect(run.state()).toBe('ended');
  });

  test('a hard cancel ends a tool call in flight, and the transcript answers every call', async () => {
    const gate = createGate();
    await using engine = await open({ tools: [gate.tool, echo] });
    const stop = new AbortController();
    const run = startDrill(
      engine,
      {
        steps: 1,
        calls: [
          { name: 'gate', input: {} },
          { name: 'gate', input: {} },
        ],
      },
      { signal: stop.signal, maxParallelTools: 1 },
    );
    await gate.started();

    stop.abort();

    const { stop: reason, messages } = await run.outcome;
    expect(reason).toEqual({ reason: 'cancelled' });
    expect(messages.at(-1)?.content).toMatchObject([
      { content: 'Tool `gate` was cancelled.', is_error: true },
      { content: 'Tool call was not executed.', is_error: true },
    ]);
  });

  test('a cooperative cancel lets the step complete and makes no further model call', async () => {
    const gate = createGate();
    await using engine = await open({ tools: [gate.tool] });
    const run = startDrill(engine, { steps: 5, calls: [{ name: 'gate', input: {} }] });
    await gate.started();

    const ended = run.cancel({ mode: 'cooperative' });
    setImmediate(() => gate.open());
    await ended;

    const { stop, steps, messages } = await run.outcome;
    expect({ stop, steps }).toEqual({ stop: { reason: 'cancelled' }, steps: 1 });
    expect(messages.at(-1)?.content).toMatchObject([{ content: 'let go', is_error: false }]);
  });

  test('a run cancelled before it starts makes no model call and asks no hook', async () => {
    await using engine = await open();
    let asked = 0;
    engine.hooks.augmentPrompt('counter', () => void (asked += 1));

    const run = startDrill(engine, {}, { signal: AbortSignal.abort() });

    expect(await run.outcome).toMatchObject({ stop: { reason: 'cancelled' }, steps: 0 });
    expect(asked).toBe(0);
    expect((await collect(run.events({ from: 1 }))).map(({ event }) => event.type)).toEqual([
      'agent_started',
      'agent_finished',
    ]);
  });

  test('a steered text joins the next turn', async () => {
    const gate = createGate();
    await using engine = await open({ tools: [gate.tool] });
    const run = startDrill(engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
    await gate.started();

    run.steer('Mind the step.');
    gate.open();

    const { messages } = await run.outcome;
    const turn = messages.at(-2);
    expect(turn?.role).toBe('user');
    expect(turn?.content.map(({ type }) => type)).toEqual(['tool_result', 'text']);
    expect(turn === undefined ? '' : textOf(turn)).toBe('Mind the step.');
  });

  test('a call waits for approval and goes on when it comes', async () => {
    await using engine = await open({ tools: [{ ...echo, needs_approval: true }], approver: 'bus' });
    const run = startDrill(engine, { steps: 2 });
    const decisions = [(call: string) => run.approve(call), (call: string) => run.deny(call, 'once is enough')];
    engine.bus.on('tool_approval_requested', ({ event }) => decisions.shift()?.(event.call));

    const { messages } = await run.outcome;

    expect(messages[2]?.content).toMatchObject([{ content: 'echo: step 0' }]);
    expect(messages[4]?.content).toMatchObject([
      { content: expect.stringContaining('once is enough'), is_error: true },
    ]);
  });

  test('a structured run gives the value its schema makes', async () => {
    await using engine = await open();
    const schema = z.object({ name: z.string() }).transform(({ name }) => new Map([['name', name]]));

    const { value, outcome } = await engine.runStructured(
      soldier,
      toMessage({ text: 'Here: {"name": "Ada"}' }),
      schema,
    );

    expect(value).toEqual(new Map([['name', 'Ada']]));
    expect(outcome.stop).toEqual({ reason: 'completed' });
  });

  test('a structured run that gives no document fails with its last outcome', async () => {
    await using engine = await open();

    const failed = engine.runStructured(soldier, toMessage({ text: 'no document' }), z.object({ name: z.string() }));

    await expect(failed).rejects.toMatchObject({
      kind: 'invalid_request',
      outcome: { final_text: 'no document', steps: 2 },
    });
  });

  test('a run whose context is full goes on from a summary', async () => {
    await using engine = await open();
    const words = Array.from({ length: 80 }, () => 'word').join(' ');
    const run = engine.runWithContinuation(soldier, toMessage({ steps: 1, text: words }), {
      contextWindow: 400,
      continuation: { maxContinuations: 1 },
    });

    const envelopes = await collect(run.events({ from: 1 }));

    const types = envelopes.map(({ event }) => event.type);
    expect(types.filter((type) => type === 'agent_started').length).toBeGreaterThan(0);
    expect(types.filter((type) => type === 'agent_started')).toHaveLength(
      types.filter((type) => type === 'agent_finished').length,
    );
    expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, index) => index + 1));
    await run.outcome;
  });

  test('a run continues an earlier conversation', async () => {
    await using engine = await open();
    const { messages } = await startDrill(engine, { text: 'first' }).outcome;

    const second = await engine.run(soldier, toMessage({ text: 'second' }), { history: messages }).outcome;

    expect(second.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(second.steps).toBe(1);
  });

  test('a follow-up keeps id, transcript and numbering', async () => {
    await using engine = await open();
    const first = startDrill(engine, { text: 'first' });
    await first.outcome;

    const second = first.followUp(toMessage({ text: 'second' }));
    expect(() => first.followUp('too early')).toThrow('still active');
    const outcome = await second.outcome;

    expect(second.id).toBe(first.id);
    expect(outcome.messages.map((message) => textOf(message))).toEqual([
      '{"text":"first"}',
      'first',
      '{"text":"second"}',
      'second',
    ]);
    const envelopes = await collect(second.events({ from: 1 }));
    expect(envelopes.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(envelopes[3]?.event).toEqual({ type: 'run_followed_up', run: first.id, text: '{"text":"second"}' });
  });

  test('a second follow-up goes on after the first, whichever handle is asked', async () => {
    await using engine = await open();
    const first = startDrill(engine, { text: 'first', tokens: 30 }, { budget: { maxTokens: 1_000 } });
    await first.outcome;
    await first.followUp(toMessage({ text: 'second', tokens: 30 })).outcome;

    const third = first.followUp(toMessage({ text: 'third', tokens: 30 }));

    const { messages } = await third.outcome;
    expect(messages.filter(({ role }) => role === 'assistant').map((message) => textOf(message))).toEqual([
      'first',
      'second',
      'third',
    ]);
    expect(third.used().tokens).toBe(90);
    const envelopes = await collect(third.events({ from: 1 }));
    expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, index) => index + 1));
  });

  test.each([
    { name: 'failed', drill: { calls: [{ name: 'echo', input: {} }], steps: 1, end: 'fail' } as const, options: {} },
    { name: 'was cancelled', drill: {}, options: { signal: AbortSignal.abort() } },
  ])('a follow-up goes on after a run that $name', async ({ drill, options }) => {
    await using engine = await open();
    const first = startDrill(engine, drill, options);
    const { stop, messages: before } = await first.outcome;
    expect(stop.reason).not.toBe('completed');

    const { stop: end, messages } = await first.followUp(toMessage({ text: 'done' })).outcome;

    expect(end).toEqual({ reason: 'completed' });
    expect(messages.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    expect(messages.at(-1)?.content).toMatchObject([{ text: 'done' }]);
  });

  test('a follow-up goes on after a run that was rejected', async () => {
    await using engine = await open();
    let isBroken = true;
    engine.hooks.augmentPrompt('moody', () => {
      if (isBroken) throw new Error('not now');
    });
    const first = startDrill(engine, { text: 'first' });
    await expect(first.outcome).rejects.toThrow('not now');
    isBroken = false;

    const { messages } = await first.followUp('Go on.').outcome;

    expect(messages.map((message) => textOf(message))).toEqual(['{"text":"first"}\nGo on.', 'first']);
  });

  test('a closed engine takes no follow-up, also while it closes', async () => {
    const gate = createGate();
    const engine = await open({ tools: [gate.tool] });
    const ended = startDrill(engine, {});
    await ended.outcome;
    const busy = startDrill(engine, { steps: 1, calls: [{ name: 'gate', input: {} }] });
    await gate.started();

    const closing = engine.close();

    expect(() => ended.followUp('Go on.')).toThrow('the engine is closed');
    expect(() => startDrill(engine, {})).toThrow('the engine is closed');
    await closing;
    expect(() => ended.followUp('Go on.')).toThrow('the engine is closed');
    expect((await busy.outcome).stop).toEqual({ reason: 'cancelled' });
    expect(engine.stats().runs.started).toBe(2);
  });

  test('what a run used counts towards the budget of its follow-up', async () => {
    await using engine = await open();
    const first = startDrill(engine, { tokens: 60 }, { budget: { maxTokens: 100 } });
    await first.outcome;

    const second = first.followUp(toMessage({ steps: 4, tokens: 50 }));

    expect(await second.outcome).toMatchObject({ stop: { reason: 'cancelled', cause: 'budget_tokens' }, steps: 1 });
    expect(second.used().tokens).toBe(110);
  });

  test('a budget ends a run before its next step', async () => {
    await using engine = await open();

    const run = startDrill(engine, { steps: 9, tokens: 50 }, { budget: { maxTokens: 100 } });

    expect(await run.outcome).toMatchObject({ stop: { reason: 'cancelled', cause: 'budget_tokens' }, steps: 2 });
    expect(run.used().tokens).toBe(100);
  });

  test('a failed model call is the stop of the run', async () => {
    await using engine = await open();

    const run = startDrill(engine, { end: 'fail' });

    expect((await run.outcome).stop).toEqual({
      reason: 'error',
      kind: 'invalid_request',
      message: 'the drill ends here',
    });
  });

  test('what a provider logs reaches the logger of the engine', async () => {
    const log = createLogRecorder();
    await using engine = await open({ logger: log.logger });

    await startDrill(engine, { log: { level: 'warn', message: 'rate limited, trying again' } }).outcome;

    const line = await log.next('rate limited');
    expect(line).toMatchObject({ level: 'warn', fields: { from: 'drill' } });
  });

  test('signed thinking of earlier turns reaches the provider again', async () => {
    await using engine = await open({ model: 'remembering/x' });
    const first = startDrill(engine, { steps: 1, text: 'first' });
    await first.outcome;

    const { final_text: text } = await first.followUp(toMessage({ text: 'second' })).outcome;

    expect(text).toBe('second\nremembers call_0_0');
  });
});

describe('what keeps a run on the main thread', () => {
  test('a provider that was given as an object, with a word about it', async () => {
    const log = createLogRecorder();
    const provider = createScriptedProvider({ script: [{ text: 'here' }] });
    const { ref: _ref, ...object } = provider;
    await using engine = await createDrillEngine({ runPool, provider: object, model: '', logger: log.logger });

    const outcome = await engine.run(soldier, 'Go.', { placement: 'thread' }).outcome;

    expect(outcome.final_text).toBe('here');
    expect(log.lines.map(({ message }) => message)).toEqual([
      'provider `scripted` was given as an object: the run stays on the main thread',
    ]);
  });

  test('a provider of a kind without a module', async () => {
    const log = createLogRecorder();
    await using engine = await createDrillEngine({ runPool, model: 'home/x', logger: log.logger });

    const outcome = await startDrill(engine, {}, { placement: 'thread' }).outcome;

    expect(outcome.stop).toEqual({ reason: 'completed' });
    expect(log.lines).toHaveLength(1);
  });

  test.each([{ fetch }, { clock: systemClock }])('functions of the engine that runs use: %o', async (own) => {
    const log = createLogRecorder();
    await using engine = await createDrillEngine({ runPool, ...own, logger: log.logger });

    await startDrill(engine, {}, { placement: 'thread' }).outcome;

    expect(log.lines[0]?.message).toBe(
      `the engine has its own \`${Object.keys(own)[0]}\`: the run stays on the main thread`,
    );
  });

  test('ids of the engine keep no run: they are given on the main thread', async () => {
    const log = createLogRecorder();
    const ids = createRandomIds();
    await using engine = await createDrillEngine({ runPool, newId: ids, logger: log.logger });

    await startDrill(engine, { steps: 1 }, { placement: 'thread' }).outcome;

    expect(log.lines).toEqual([]);
  });
});

describe('auto', () => {
  test('keeps a few runs on the main thread and sends the others away', async () => {
    const gate = createGate();
    await using engine = await createDrillEngine({ runPool, placement: 'auto', tools: [gate.tool] });
    const drill = { steps: 1, calls: [{ name: 'gate', input: {} }] };
    const runs = Array.from({ length: autoInlineRuns + 3 }, () => startDrill(engine, drill));
    for (const _ of runs) await gate.started();

    const { runs: counts, run_pool: pool } = engine.stats();

    expect(counts.inline).toBe(autoInlineRuns);
    expect(pool.running).toBe(3);
    gate.open();
    await Promise.all(runs.map((run) => run.outcome));
    expect(engine.stats().runs).toMatchObject({ active: 0, inline: 0 });
  });

  test('leaves a main thread whose loop is late', () => {
    const delay = { start: () => {}, read: () => ({ p50: 0, p99: 0, max: 0 }), recentP99: () => late, close: () => {} };
    let late = 0;
    const placements = createPlacements({ usual: 'auto', ownFunctions: [], delay, logger: silentLogger });
    const ref = { name: 'drill', kind: 'drill', options: {} };
    const provider = createScriptedProvider({ script: [] });
    const enter = () =>
      placements.enter('run' as RunId, undefined, { provider, model: '', ref }).ref === undefined ? 'inline' : 'thread';

    const before = enter();
    late = autoDelayMs + 1;
    const after = enter();

    expect([before, after]).toEqual(['inline', 'thread']);
  });

  test('does not speak of runs that cannot leave', async () => {
    const log = createLogRecorder();
    await using engine = await createDrillEngine({
      runPool,
      clock: systemClock,
      placement: 'auto',
      logger: log.logger,
    });

    await startDrill(engine, {}).outcome;

    expect(log.lines).toEqual([]);
  });
});
