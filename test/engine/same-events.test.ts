import { afterAll, expect, test } from 'vitest';
import type { Envelope } from '../../src/bus/envelope.ts';
import { agentTool } from '../../src/engine/agent-tool.ts';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { RunHandle } from '../../src/engine/run-handle.ts';
import type { AgentInput } from '../../src/protocol/agent.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { createRunPool } from '../../src/workers/run-pool.ts';
import { drillKind } from '../fixtures/runs/drill.ts';
import { echo, toMessage } from './drill.ts';
import { tempFolder } from '../mcp/support.ts';
import { calling, toolNamed, worker } from './support.ts';

interface Scenario {
  readonly script: readonly JsonObject[];
  /** Starts the run or runs; resolves with what came of them. */
  act(engine: Engine): Promise<unknown>;
  /** The types of the events that must be among those compared. */
  readonly shows: readonly string[];
}

const root = tempFolder();
const runPool = createRunPool({ logger: silentLogger, threads: 1 });
afterAll(() => runPool.close());

const scout: AgentInput = { role: 'scout', system_prompt: 'Look.', tools: 'none' };
const same = calling(['echo', { text: 'same' }]);
const long = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');

const scenarios: readonly (Scenario & { readonly name: string })[] = [
  {
    name: 'with all that a call can meet',
    script: [
      { error: { kind: 'rate_limited', message: 'slow down', retry_after_ms: 0 } },
      {
        deltas: [
          { kind: 'thinking', text: 'hm' },
          { kind: 'text', text: 'Fir' },
          { kind: 'text', text: 'st.' },
        ],
        text: 'First.',
        ...calling(['echo', { text: 'a' }], ['echo', { text: 'b' }], ['nobody'], ['echo', { _raw: '{' }], ['long']),
      },
      calling(['echo', { text: 'forbidden' }], ['asked', { n: 1 }], ['asked', { n: 2 }], ['broken']),
      {
        text: 'Look around.',
        ...calling(
          ['scout', { task: toMessage({ steps: 1, text: 'left' }) }],
          ['mutating', { n: 1 }],
          ['mutating', { n: 2 }],
        ),
      },
      ...Array.from({ length: 5 }, () => same),
      { text: 'half an ans', stop_reason: 'max_tokens' },
      { text: 'wer' },
    ],
    async act(engine) {
      engine.hooks.beforeTool('guard', ({ input }) =>
        input['text'] === 'forbidden' ? { abort: 'not that' } : undefined,
      );
      engine.hooks.augmentPrompt('rules', () => 'House rules.');
      const run = engine.run(worker, 'Work.', { approver: 'bus', subtask: 'one', maxToolOutputChars: 500 });
      const used: unknown[] = [];
      engine.bus.on({ run: run.id }, ({ event }) => void (event.type === 'agent_text' && used.push(run.used())));
      engine.bus.on('tool_approval_requested', ({ event }) => {
        void (event.input['n'] === 1 ? run.approve(event.call, 'go') : run.deny(event.call, 'once'));
      });
      engine.bus.on('agent_text', ({ event }) => void (event.text === 'Look around.' && run.steer('Hurry.')));
      return [await comeOf(run), used];
    },
    shows: ['retrying', 'agent_delta', 'tool_approval_requested', 'tool_approval_resolved', 'run_steered', 'log'],
  },
  {
    name: 'that goes on from a summary, and on from there',
    script: [
      { text: long, ...calling(['echo', { text: long }]) },
      { text: 'notes' },
      { text: 'Done.' },
      { text: 'Still done.' },
    ],
    async act(engine) {
      const order: string[] = [];
      engine.bus.on('*', ({ event }) => void (event.type.startsWith('actor_') || order.push(event.type)));
      engine.hooks.augmentPrompt('order', () => {
        order.push('asked');
      });
      const run = engine.runWithContinuation(worker, 'Work.', { contextWindow: 260, maxToolOutputChars: 10_000 });
      const first = await comeOf(run);
      return [first, await comeOf(run.followUp('And now?')), order];
    },
    shows: ['log', 'run_followed_up'],
  },
  {
    name: 'that has to be repaired',
    script: [{ text: 'not quite: {"n": "1"}' }, { text: '{"n": "one"}' }, { text: '{"n": 1}' }],
    async act(engine) {
      const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
      return await engine.runStructured(worker, 'Count.', schema);
    },
    shows: ['agent_finished'],
  },
  {
    name: 'whose budget ends it beside a child',
    script: [calling(['scout', { task: toMessage({ tokens: 90 }) }]), { text: 'never' }],
    act: async (engine) => await comeOf(engine.run(worker, 'Work.', { budget: { maxTokens: 100 } })),
    shows: ['agent_finished'],
  },
  {
    name: 'that is cancelled among its calls',
    script: [calling(['echo', { text: 'a' }], ['stop'], ['mutating'])],
    async act(engine) {
      const run = engine.run(worker, 'Work.');
      engine.bus.on('tool_called', ({ event }) => void (event.tool === 'stop' && run.cancel()));
      return await comeOf(run);
    },
    shows: ['tool_returned'],
  },
  {
    name: 'that hands off',
    script: [
      { text: 'Not mine.', ...calling(['hand_off', { role: 'scout', message: 'Yours.' }], ['echo', { text: 'x' }]) },
    ],
    act: async (engine) => await comeOf(engine.run({ ...worker, handoffs: ['scout'] }, 'Work.')),
    shows: ['tool_returned'],
  },
  {
    name: 'whose model fails',
    script: [calling(['echo', { text: 'a' }]), { error: { kind: 'auth_failed', message: 'no key' } }],
    act: async (engine) => await comeOf(engine.run(worker, 'Work.')),
    shows: ['tool_returned'],
  },
];

test.each(scenarios)('a run $name is the same in a thread, field by field', async ({ script, act, shows }) => {
  const inline = await play('inline', script, act);

  const thread = await play('thread', script, act);

  expect(thread).toEqual(inline);
  expect(inline.events.map(({ event }) => event.type)).toEqual(expect.arrayContaining([...shows]));
});

async function comeOf(run: RunHandle): Promise<unknown> {
  return { outcome: await run.outcome, used: run.used() };
}

async function play(placement: 'inline' | 'thread', script: Scenario['script'], act: Scenario['act']) {
  await using engine = await createEngine({
    bare: true,
    root,
    provider: createScriptedProvider({ script }),
    providerKinds: { drill: drillKind },
    config: { providers: { drill: {} } },
    agents: [scout],
    tools: [
      echo,
      toolNamed('asked', (input) => `asked ${JSON.stringify(input)}`, { needs_approval: true }),
      toolNamed('mutating', (input) => `did ${JSON.stringify(input)}`, { is_mutating: true }),
      // why mutating: it is alone, for the file its output goes to takes its time
      toolNamed('long', () => 'x'.repeat(1_000), { is_mutating: true }),
      toolNamed('broken', () => {
        throw new Error('out of order');
      }),
      toolNamed(
        'stop',
        (_input, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
          }),
      ),
      agentTool(scout, { model: 'drill/x' }),
    ],
    retryBaseDelayMs: 0,
    runPool,
    placement,
  });
  const envelopes: Envelope[] = [];
  engine.bus.on('*', (envelope) => void envelopes.push(envelope));
  const came = await act(engine);
  // why by run: how the events of runs side by side lie between each other is nobody's promise
  const runs = new Map<unknown, Envelope[]>();
  for (const envelope of envelopes) {
    if (!('run' in envelope.event)) continue;
    const { run } = envelope.event;
    runs.set(run, [...(runs.get(run) ?? []), envelope]);
  }
  const events = [...runs.values()].flat();
  return namedAlike({ events, came });
}

/** The same with times left out, and ids by the order in which they appear. */
function namedAlike<T>(value: T): T {
  const names = new Map<string, string>();
  const id = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|\b[0-9a-f]{12}\b/g;
  const text = JSON.stringify(value, (key, field: unknown) => {
    if (key === 'at' || key === 'duration_ms') return 0;
    return typeof field === 'string' ? field.replaceAll(id, (found) => nameOf(found, names)) : field;
  });
  return JSON.parse(text) as T;
}

function nameOf(id: string, names: Map<string, string>): string {
  const known = names.get(id) ?? `id ${names.size + 1}`;
  names.set(id, known);
  return known;
}
