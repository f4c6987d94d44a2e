import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { BusEvent } from '../../src/bus/events.ts';
import type { Engine } from '../../src/engine.ts';
import { agentTool, maxAgentDepth } from '../../src/engine/agent-tool.ts';
import type { EngineOptions } from '../../src/engine/options.ts';
import { type AgentInput, defineAgent } from '../../src/protocol/agent.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { textOf } from '../../src/protocol/message.ts';
import { createRecorder, type EventRecorder } from '../../src/testing/recorder.ts';
import type { Drill } from '../fixtures/runs/drill.ts';
import { createDrillEngine, createGate, echo, soldier, toMessage } from './drill.ts';
import { describePlacements } from './placements.ts';

const scout: AgentInput = { role: 'scout', system_prompt: 'Look.', description: 'Looks around.', tools: 'none' };

/** A call of the scout's tool with a drill of its own. */
function callOf(name: string, drill: Drill): { readonly name: string; readonly input: JsonObject } {
  return { name, input: { task: toMessage(drill) } };
}

function startedEvents(recorder: EventRecorder): readonly BusEvent<'agent_started'>[] {
  return recorder.envelopes.flatMap(({ event }) => (event.type === 'agent_started' ? [event] : []));
}

describePlacements('child runs', (_open, placed) => {
  const open = (options: EngineOptions = {}): Promise<Engine> =>
    createDrillEngine({ ...placed, agents: [scout], ...options });
  const lead = (drill: Drill): [AgentInput, string] => [
    { ...soldier, role: 'lead', tools: 'none', delegates: ['scout'] },
    toMessage(drill),
  ];

  test('a call starts a run of its own, and its final text is the result', async () => {
    await using engine = await open();
    using recorder = createRecorder(engine.bus);
    const run = engine.run(...lead({ steps: 1, calls: [callOf('scout', { text: 'all quiet' })] }));

    const { messages } = await run.outcome;

    expect(messages[2]?.content).toMatchObject([{ content: 'all quiet', is_error: false }]);
    const [child] = run.children();
    expect(child?.role).toBe('scout');
    expect(await child?.outcome).toMatchObject({ final_text: 'all quiet', stop: { reason: 'completed' } });
    const called = recorder.envelopes.find(({ event }) => event.type === 'tool_called')?.event;
    expect(startedEvents(recorder)).toMatchObject([
      { run: run.id, role: 'lead' },
      { run: child?.id, role: 'scout', parent: { run: run.id, call: (called as BusEvent<'tool_called'>).call } },
    ]);
    expect(startedEvents(recorder)[0]).not.toHaveProperty('parent');
  });

  test('the events of a child lie between the call and its result', async () => {
    await using engine = await open();
    using recorder = createRecorder(engine.bus);

    await engine.run(...lead({ steps: 1, calls: [callOf('scout', {})] })).outcome;

    const types = recorder.envelopes.flatMap(({ event }) => ('run' in event ? [event.type] : []));
    const child = ['agent_started', 'agent_text', 'agent_finished'];
    expect(types).toEqual(['agent_started', 'tool_called', ...child, 'tool_returned', 'agent_text', 'agent_finished']);
  });

  test('a child that does not complete is an error that names its stop', async () => {
    await using engine = await open();
    const calls = [callOf('scout', { end: 'fail' })];

    const { messages, stop } = await engine.run(...lead({ steps: 1, calls })).outcome;

    expect(messages[2]?.content).toMatchObject([{ content: 'Agent `scout` stopped: error.', is_error: true }]);
    expect(stop).toEqual({ reason: 'completed' });
  });

  test('children that only read run side by side', async () => {
    const gate = createGate();
    await using engine = await open({
      tools: [gate.tool],
      agents: [{ ...scout, tools: { named: ['gate'] } }],
    });
    const calls = [1, 2, 3].map(() => callOf('scout', { steps: 1, calls: [{ name: 'gate', input: {} }] }));
    const run = engine.run(...lead({ steps: 1, calls }));

    for (const _ of calls) await gate.started();

    expect(run.children().map((child) => child.state())).toEqual(['running', 'running', 'running']);
    gate.open();
    await run.outcome;
  });

  test('children that may write run one after the other', async () => {
    let inFlight = 0;
    let most = 0;
    const write = {
      name: 'write',
      description: 'Writes.',
      input_schema: { type: 'object' },
      is_mutating: true,
      async call() {
        inFlight += 1;
        most = Math.max(most, inFlight);
        await new Promise(setImmediate);
        inFlight -= 1;
      },
    };
    await using engine = await open({ tools: [write], agents: [{ ...scout, tools: 'all' }] });
    const calls = [1, 2, 3].map(() => callOf('scout', { steps: 1, calls: [{ name: 'write', input: {} }] }));

    const run = engine.run(...lead({ steps: 1, calls }));

    await run.outcome;
    expect(run.children()).toHaveLength(3);
    expect(most).toBe(1);
  });

  test('what children use counts in the budget of their parent and ends them all', async () => {
    await using engine = await open();
    const calls = [callOf('scout', { tokens: 70 }), callOf('scout', { tokens: 70, text: 'never' })];

    const run = engine.run(...lead({ steps: 5, calls, tokens: 20 }), { budget: { maxTokens: 150 } });

    const { stop, steps, usage } = await run.outcome;
    expect(stop).toEqual({ reason: 'cancelled', cause: 'budget_tokens' });
    expect(steps).toBe(1);
    expect(usage.input_tokens).toBe(20);
    expect(run.used().tokens).toBe(160);
  });

  test('a child ends within the budget its parent has left', async () => {
    await using engine = await open();
    const calls = [callOf('scout', { steps: 9, calls: [{ name: 'nothing', input: {} }], tokens: 30 })];

    const run = engine.run(...lead({ steps: 1, calls, tokens: 10 }), { budget: { maxTokens: 100 } });

    await run.outcome;
    const child = await run.children()[0]?.outcome;
    expect(child).toMatchObject({ stop: { reason: 'cancelled', cause: 'budget_tokens' }, steps: 3 });
  });

  test('a child ends with the time its parent has left', async () => {
    await using engine = await open();
    const calls = [callOf('scout', { steps: 200, calls: [{ name: 'nothing', input: {} }], delay_ms: 50 })];

    const run = engine.run(...lead({ steps: 1, calls }), { budget: { maxDurationMs: 500 } });

    const cancelled = { reason: 'cancelled', cause: 'budget_duration' };
    expect((await run.outcome).stop).toEqual(cancelled);
    expect((await run.children()[0]?.outcome)?.stop).toEqual(cancelled);
  });

  test('what belongs to the conversation of the parent stays with it', async () => {
    const wordy: AgentInput = { ...scout, system_prompt: 'Look and look again. '.repeat(1_000) };
    await using engine = await open({ agents: [wordy] });
    const earlier = await engine.run(soldier, toMessage({ text: 'long ago' })).outcome;
    const stop = new AbortController();
    const runId = '4f9d2b1c-6a53-4a8e-9d4c-0b7a51c2e3f4';

    const run = engine.run(...lead({ steps: 2, calls: [callOf('scout', { text: 'seen' })] }), {
      runId,
      history: earlier.messages,
      contextWindow: 1_000,
      signal: stop.signal,
    });

    expect((await run.outcome).stop).toEqual({ reason: 'completed' });
    const [child] = run.children();
    expect(child?.id).not.toBe(runId);
    expect((await child?.outcome)?.messages.map((message) => textOf(message))).toEqual([
      toMessage({ text: 'seen' }),
      'seen',
    ]);
  });

  test('a call of a child waits for approval of its own', async () => {
    await using engine = await open({
      tools: [{ ...echo, needs_approval: true }],
      agents: [{ ...scout, tools: { named: ['echo'] } }],
    });
    const run = engine.run(...lead({ steps: 1, calls: [callOf('scout', { steps: 1 })] }), { approver: 'bus' });
    const asked: unknown[] = [];
    engine.bus.on('tool_approval_requested', ({ event }) => {
      const [child] = run.children();
      asked.push(event.run === child?.id, child?.waiting().length, run.waiting().length);
      void child?.approve(event.call);
    });

    await run.outcome;

    expect(asked).toEqual([true, 1, 0]);
    const { messages } = (await run.children()[0]?.outcome) ?? { messages: [] };
    expect(messages[2]?.content).toMatchObject([{ content: 'echo: step 0', is_error: false }]);
  });

  test('cancelling a run ends its children first', async () => {
    const gate = createGate();
    await using engine = await open({ tools: [gate.tool], agents: [{ ...scout, tools: { named: ['gate'] } }] });
    using recorder = createRecorder(engine.bus);
    const calls = [callOf('scout', { steps: 1, calls: [{ name: 'gate', input: {} }] })];
    const run = engine.run(...lead({ steps: 1, calls }));
    await gate.started();

    await run.cancel();

    expect((await run.outcome).stop).toEqual({ reason: 'cancelled' });
    expect((await run.children()[0]?.outcome)?.stop).toEqual({ reason: 'cancelled' });
    const ends = recorder.envelopes.flatMap(({ event }) => (event.type === 'agent_finished' ? [event.role] : []));
    expect(ends).toEqual(['scout', 'lead']);
    expect(engine.runs()).toEqual([]);
  });

  test('a child takes no place of its own', async () => {
    await using engine = await open({ admission: { maxActiveRuns: 1, maxQueued: 0 } });

    const outcome = await engine.run(...lead({ steps: 1, calls: [callOf('scout', { text: 'seen' })] })).outcome;

    expect(outcome.stop).toEqual({ reason: 'completed' });
    expect(outcome.messages[2]?.content).toMatchObject([{ content: 'seen' }]);
  });
});

describe('agents as tools', () => {
  test('nest to a depth and no deeper', async () => {
    const nested = (depth: number): Drill =>
      depth === 0 ? { text: 'bottom' } : { steps: 1, calls: [callOf('again', nested(depth - 1))] };
    const again = agentTool({ role: 'again', system_prompt: 'Again.' });
    await using engine = await createDrillEngine({ tools: [again] });
    using recorder = createRecorder(engine.bus);

    await engine.run(soldier, toMessage(nested(maxAgentDepth + 2))).outcome;

    expect(startedEvents(recorder)).toHaveLength(1 + maxAgentDepth);
    const refusals = recorder.envelopes.filter(({ event }) => event.type === 'tool_returned' && event.is_error);
    expect(refusals.map(({ event }) => (event as BusEvent<'tool_returned'>).preview)).toEqual([
      'Agent `again` was not started: agents nest at most 4 deep.',
    ]);
  });

  test('are mutating unless all their tools only read, at any depth', async () => {
    const reader = agentTool({ role: 'reader', system_prompt: '', tools: { named: ['echo'] } }, { name: 'read_it' });
    const writer = agentTool({ role: 'writer', system_prompt: '', tools: { named: ['write'] } });
    const above = agentTool({ role: 'above', system_prompt: '', tools: 'none', delegates: ['writer_agent'] });
    const write = { ...echo, name: 'write', is_mutating: true };
    await using engine = await createDrillEngine({
      tools: [echo, write, reader, writer, above],
      agents: [{ role: 'writer_agent', system_prompt: '', tools: { named: ['write'] } }],
    });
    const calls = [callOf('read_it', {}), callOf('read_it', {}), callOf('writer', {}), callOf('above', {})];
    using recorder = createRecorder(engine.bus);

    await engine.run(soldier, toMessage({ steps: 1, calls })).outcome;

    const tools = recorder.envelopes.flatMap(({ event }) => {
      if (event.type === 'tool_called') return [`${event.tool} called`];
      return event.type === 'tool_returned' ? [`${event.tool} returned`] : [];
    });
    expect(tools.join(', ')).toBe(
      'read_it called, read_it called, read_it returned, read_it returned, ' +
        'writer called, writer returned, above called, above returned',
    );
  });

  test('take a task and nothing else', async () => {
    await using engine = await createDrillEngine({ tools: [agentTool(scout)] });
    const calls = [
      { name: 'scout', input: {} },
      { name: 'scout', input: { task: 'look', hurry: true } },
    ];

    const { messages } = await engine.run(soldier, toMessage({ steps: 1, calls })).outcome;

    expect(messages[2]?.content).toMatchObject([
      { content: 'Invalid input for `scout`: task: expected a text that is not blank.', is_error: true },
      { content: 'Invalid input for `scout`: hurry: unknown key.', is_error: true },
    ]);
  });

  test('have the settings they were given, and else those of the calling run', async () => {
    const cheap = agentTool(scout, { model: 'home/cheap', subtask: 'look' });
    await using engine = await createDrillEngine({ tools: [cheap, agentTool({ ...scout, role: 'other one' })] });
    using recorder = createRecorder(engine.bus);
    const calls = [callOf('scout', {}), callOf('other_one', {})];

    await engine.run(soldier, toMessage({ steps: 1, calls }), { model: 'drill/dear', subtask: 'all' }).outcome;

    expect(startedEvents(recorder).map(({ role, model, subtask }) => [role, model, subtask])).toEqual([
      ['soldier', 'dear', 'all'],
      ['scout', 'cheap', 'look'],
      ['other one', 'dear', 'all'],
    ]);
  });

  test('are refused outside of an engine', () => {
    expect(() => agentTool(scout).call({}, {} as never)).toThrow('works only in the runs of an engine');
  });

  test('appear as actors below the run that called them', async () => {
    const gate = createGate();
    await using engine = await createDrillEngine({ tools: [gate.tool, agentTool({ ...scout, tools: 'all' })] });
    const calls = [callOf('scout', { steps: 1, calls: [{ name: 'gate', input: {} }] })];
    const run = engine.run(soldier, toMessage({ steps: 1, calls }));
    await gate.started();

    const actors = engine.actors();

    expect(actors.map(({ name, parent }) => [name, parent])).toEqual([
      [run.id, undefined],
      [run.children()[0]?.id, run.id],
    ]);
    gate.open();
    await run.outcome;
  });

  test('an unknown delegate is refused before the run starts', async () => {
    await using engine = await createDrillEngine();

    expect(() => engine.run({ ...soldier, delegates: ['nobody'] }, 'Go.')).toThrow(
      'agent `soldier` delegates to `nobody`, which is no known agent',
    );
  });
});

describePlacements('hand-off', (_open, placed) => {
  const desk: AgentInput = { ...soldier, role: 'desk', tools: 'none', handoffs: ['scout', 'medic'] };
  const handOff = (input: JsonObject) => ({ steps: 1, calls: [{ name: 'hand_off', input }], text: 'not reached' });

  test('ends the run with a wish the caller acts on', async () => {
    await using engine = await createDrillEngine({ ...placed, agents: [scout] });

    const outcome = await engine.run(desk, toMessage(handOff({ role: 'scout', message: 'Go and look.' }))).outcome;

    expect(outcome).toMatchObject({
      stop: { reason: 'completed' },
      steps: 1,
      handoff: { role: 'scout', message: 'Go and look.' },
    });
    expect(outcome.messages.at(-1)?.content).toMatchObject([{ content: 'Handed off to `scout`.' }]);
  });

  test('a role that was not offered is refused, and the run goes on', async () => {
    await using engine = await createDrillEngine({ ...placed });

    const outcome = await engine.run(desk, toMessage(handOff({ role: 'king', message: 'Rule.' }))).outcome;

    expect(outcome).not.toHaveProperty('handoff');
    expect(outcome.final_text).toBe('not reached');
    expect(outcome.messages[2]?.content).toMatchObject([
      { content: 'Invalid input for `hand_off`: role: expected one of `scout`, `medic`.', is_error: true },
    ]);
  });

  test('the first of two counts', async () => {
    await using engine = await createDrillEngine({ ...placed });
    const calls = ['scout', 'medic'].map((role) => ({ name: 'hand_off', input: { role, message: 'Go.' } }));

    const { handoff } = await engine.run(desk, toMessage({ steps: 1, calls })).outcome;

    expect(handoff).toEqual({ role: 'scout', message: 'Go.' });
  });

  test('is over with its session: a follow-up goes on without it', async () => {
    await using engine = await createDrillEngine({ ...placed });
    const run = engine.run(desk, toMessage(handOff({ role: 'scout', message: 'Go.' })));
    await run.outcome;

    const outcome = await run.followUp(toMessage({ text: 'back again' })).outcome;

    expect(outcome).not.toHaveProperty('handoff');
    expect(outcome.final_text).toBe('back again');
  });

  test('a hook may refuse it', async () => {
    await using engine = await createDrillEngine({ ...placed });
    engine.hooks.beforeTool('stay', ({ tool }) => (tool === 'hand_off' ? { abort: 'stay' } : undefined));

    const outcome = await engine.run(desk, toMessage(handOff({ role: 'scout', message: 'Go.' }))).outcome;

    expect(outcome).not.toHaveProperty('handoff');
  });

  test('a structured run that hands off gives no value', async () => {
    await using engine = await createDrillEngine({ ...placed });
    const message = toMessage(handOff({ role: 'scout', message: 'Go.' }));

    const failed = engine.runStructured(desk, message, { type: 'object' });

    await expect(failed).rejects.toMatchObject({
      kind: 'invalid_request',
      message: 'agent `desk` handed off to `scout` instead of answering',
      outcome: { handoff: { role: 'scout', message: 'Go.' } },
    });
  });
});

describe('specs', () => {
  test('carry delegates and hand-offs only when they have them', () => {
    const plain = defineAgent({ role: 'a', system_prompt: '' });
    const both = defineAgent({ role: 'a', system_prompt: '', delegates: ['b'], handoffs: ['c'] });

    expect(Object.keys(plain)).not.toContain('delegates');
    expect(Object.keys(plain)).not.toContain('handoffs');
    expect(both).toEqual({ ...plain, delegates: ['b'], handoffs: ['c'] });
  });
});

describePlacements('map', (_open, placed) => {
  test('gives the outcomes in the order of the inputs, so many at a time', async () => {
    await using engine = await createDrillEngine({ ...placed });
    using recorder = createRecorder(engine.bus);
    let most = 0;
    engine.bus.on('*', () => void (most = Math.max(most, engine.runs().length)));
    const inputs = [300, 5, 200, 1, 10].map((delay, index) => toMessage({ delay_ms: delay, text: `answer ${index}` }));

    const outcomes = await engine.map(soldier, inputs, { concurrency: 2 });

    expect(outcomes.map((outcome) => outcome.final_text)).toEqual(inputs.map((_, index) => `answer ${index}`));
    expect(most).toBe(2);
    const progress = recorder.envelopes.flatMap(({ event }) => (event.type === 'map_progressed' ? [event] : []));
    expect(progress.map(({ done, failed, total }) => [done, failed, total])).toEqual(
      [0, 1, 2, 3, 4, 5].map((done) => [done, 0, 5]),
    );
    expect(new Set(progress.map(({ map }) => map)).size).toBe(1);
  });

  test('a run that fails is one of the outcomes', async () => {
    await using engine = await createDrillEngine({ ...placed });
    const seen: number[] = [];

    const outcomes = await engine.map(
      soldier,
      [toMessage({}), toMessage({ end: 'fail' }), { message: toMessage({}), options: { subtask: 'third' } }],
      { onProgress: ({ failed }) => void seen.push(failed) },
    );

    expect(outcomes.map(({ stop }) => stop.reason)).toEqual(['completed', 'error', 'completed']);
    expect(seen.at(-1)).toBe(1);
  });
});

describe('map', () => {
  test('waits while the engine has no room', async () => {
    await using engine = await createDrillEngine({ admission: { maxActiveRuns: 1, maxQueued: 0 } });

    const outcomes = await engine.map(
      soldier,
      Array.from({ length: 4 }, () => toMessage({})),
      { concurrency: 4 },
    );

    expect(outcomes.map(({ stop }) => stop.reason)).toEqual(Array.from({ length: 4 }, () => 'completed'));
  });

  test('ends with its signal', async () => {
    await using engine = await createDrillEngine();
    const stop = new AbortController();
    engine.bus.on('agent_started', () => stop.abort());

    const outcomes = await engine.map(
      soldier,
      Array.from({ length: 5 }, () => toMessage({ delay_ms: 60_000 })),
      { concurrency: 2, signal: stop.signal },
    );

    expect(outcomes.map((outcome) => outcome.stop.reason)).toEqual(Array.from({ length: 5 }, () => 'cancelled'));
  });

  test('ends with its signal, also what has one of its own', async () => {
    await using engine = await createDrillEngine();
    const [all, one] = [new AbortController(), new AbortController()];
    const message = toMessage({ delay_ms: 60_000 });
    let begun = 0;
    engine.bus.on('agent_started', () => {
      begun += 1;
      if (begun === 2) one.abort();
    });
    engine.bus.on('agent_finished', () => all.abort());

    const outcomes = await engine.map(
      soldier,
      [
        { message, options: { signal: new AbortController().signal } },
        { message, options: { signal: one.signal } },
      ],
      { signal: all.signal },
    );

    expect(outcomes.map((outcome) => outcome.stop.reason)).toEqual(['cancelled', 'cancelled']);
  });

  test('leaves nothing on its signals', async () => {
    await using engine = await createDrillEngine();
    const [all, own] = [new AbortController().signal, new AbortController().signal];

    await engine.map(soldier, [{ message: toMessage({}), options: { signal: own } }, toMessage({})], { signal: all });

    expect([all, own].flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
  });

  test('takes anything that can be walked through, and starts nothing when that fails', async () => {
    await using engine = await createDrillEngine();
    function* broken(): Generator<string> {
      yield toMessage({});
      throw new Error('no more lines');
    }

    const outcomes = await engine.map(soldier, new Set([toMessage({ text: 'one' }), toMessage({ text: 'two' })]));

    expect(outcomes.map((outcome) => outcome.final_text)).toEqual(['one', 'two']);
    await expect(engine.map(soldier, broken())).rejects.toThrow('no more lines');
    expect(engine.stats().runs.started).toBe(2);
  });

  test('a progress listener that throws ends it, and the runs with it', async () => {
    const gate = createGate();
    await using engine = await createDrillEngine({ tools: [gate.tool] });
    const waiting = toMessage({ steps: 1, calls: [{ name: 'gate', input: {} }] });

    const failed = engine.map(soldier, [waiting, toMessage({}), toMessage({})], {
      concurrency: 2,
      onProgress({ done }) {
        if (done > 0) throw new Error('the screen is gone');
      },
    });

    await expect(failed).rejects.toThrow('the screen is gone');
    expect(engine.runs()).toEqual([]);
    expect(engine.stats().runs.started).toBe(2);
  });

  test('ends when the engine closes', async () => {
    const engine = await createDrillEngine();
    const inputs = Array.from({ length: 5 }, () => toMessage({ delay_ms: 60_000 }));
    const begun = new Promise((resolve) => engine.bus.on('agent_started', resolve));

    const failed = engine.map(soldier, inputs, { concurrency: 2 });
    const told = expect(failed).rejects.toMatchObject({ code: 'engine_closed' });
    await begun;
    await engine.close();

    await told;
    expect(engine.stats().runs.started).toBe(2);
  });

  test.each([0, 1.5, Number.NaN])('%s runs side by side are refused', async (concurrency) => {
    await using engine = await createDrillEngine();

    await expect(engine.map(soldier, ['Go.'], { concurrency })).rejects.toMatchObject({
      kind: 'config',
      message: `option \`concurrency\` must be a whole number from 1 on, not ${concurrency}`,
    });
  });

  test('a run that cannot start cancels the others', async () => {
    const gate = createGate();
    await using engine = await createDrillEngine({ tools: [gate.tool] });
    const good = toMessage({ steps: 1, calls: [{ name: 'gate', input: {} }] });

    const failed = engine.map(soldier, [good, { message: good, options: { model: 'nobody/x' } }]);

    await expect(failed).rejects.toMatchObject({ kind: 'config' });
    expect(engine.runs()).toEqual([]);
  });

  test('an empty list has no outcomes', async () => {
    await using engine = await createDrillEngine();

    expect(await engine.map(soldier, [])).toEqual([]);
  });
});
