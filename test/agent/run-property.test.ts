import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkEventInvariants } from '../../scripts/vectors/agent-events.ts';
import { resumeMessages } from '../../src/agent/transcript.ts';
import type { Envelope } from '../../src/bus/envelope.ts';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { RunOptions } from '../../src/engine/options.ts';
import type { RunHandle } from '../../src/engine/run-handle.ts';
import type { AgentOutcome } from '../../src/protocol/agent.ts';
import { errorKinds } from '../../src/protocol/error.ts';
import type { RunId } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { type Message, toolUsesOf } from '../../src/protocol/message.ts';
import type { CompletionRequest } from '../../src/protocol/model.ts';
import type { Tool } from '../../src/protocol/tool.ts';
import { anthropicBody } from '../../src/providers/anthropic-body.ts';
import { thoughtOf } from '../../src/providers/anthropic-response.ts';
import { cleanMessages } from '../../src/providers/clean-messages.ts';
import { encodeBody } from '../../src/providers/json-body.ts';
import { openaiBody } from '../../src/providers/openai-body.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { describePlacements, type Placed } from '../engine/placements.ts';
import { createSignedThinkingCache } from '../../src/providers/signed-thinking.ts';
import {
  findTranscriptProblem,
  turnsOfAnthropicBody,
  turnsOfCleanMessages,
  turnsOfOpenaiBody,
} from '../../src/providers/transcript-check.ts';

/** Runs of the property by placement; the seed is fixed so that a failure in CI is the same failure here. */
const numRuns = { inline: 2_000, thread: 500 } as const;
const seed = 20_260_101;

const anyText = fc.oneof(
  fc.constantFrom('', ' \n', 'fine', '\ud800', '😀\udc00', '{{x}} $& </s>', '[]', '{"ok":true}'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const anyId = fc.oneof(
  fc.constantFrom('', 'c1', 'c1', 'call_0', 'a b', 'é', '\ud800', '__proto__', 'x'.repeat(100)),
  fc.string({ maxLength: 6 }),
);
const toolNames = [
  ...'sync async later fails crashes hangs stops odd big writes writes_later vetoed hook_fails asked'.split(' '),
  ...'guarded ruled_out unknown __proto__'.split(' '),
  '',
];
const anyArguments = fc.oneof(
  fc.dictionary(anyText, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
  fc.constantFrom('', ' ', '{"a":', '[1]', '{"a":1}', '"text"', '{"_raw":"x"}'),
);
const anyCall = fc
  .record({ id: anyId, name: fc.constantFrom(...toolNames), arguments: anyArguments })
  .map((call) => ({ type: 'tool_use', ...call }));
const anyBlock = fc.oneof(
  { weight: 3, arbitrary: anyCall },
  { weight: 1, arbitrary: anyText.map((text) => ({ type: 'text', text })) },
  { weight: 1, arbitrary: anyText.map((text) => ({ type: 'thinking', text })) },
);
const anyDelta = fc.record({ kind: fc.constantFrom('text', 'thinking'), text: anyText });
const anyUsage = fc.constantFrom({}, { input_tokens: 400 }, { input_tokens: -1, output_tokens: 2.5 });
const anyAnswer = fc.record(
  {
    content: fc.array(anyBlock, { maxLength: 5 }),
    stop_reason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'stop_sequence', 'other'),
    usage: anyUsage,
    deltas: fc.array(anyDelta, { maxLength: 3 }),
    delay_ms: fc.constantFrom(0, 0, 0, 1),
  },
  { requiredKeys: ['content', 'stop_reason'] },
);
const anyError = fc.record(
  {
    error: fc.record({ kind: fc.constantFrom(...errorKinds), message: anyText, retry_after_ms: fc.constant(0) }),
    deltas: fc.array(anyDelta, { maxLength: 2 }),
  },
  { requiredKeys: ['error'] },
);
/** What happens from outside at the n-th event of the run. */
const anyIntrusion = fc.record({
  at: fc.nat({ max: 20 }),
  what: fc.constantFrom('cancel', 'cancel', 'cancel gently', 'abort', 'steer', 'steer blank'),
});
const anyPlan = fc.record({
  script: fc.array(fc.oneof({ weight: 4, arbitrary: anyAnswer }, { weight: 1, arbitrary: anyError }), { maxLength: 6 }),
  message: anyText,
  intrusions: fc.array(anyIntrusion, { maxLength: 2 }),
  spec: fc.record({
    max_steps: fc.integer({ min: 0, max: 8 }),
    structured_output: fc.boolean(),
    tools: fc.constantFrom('all', 'none', { named: ['sync', 'writes', 'hangs'] }),
  }),
  options: fc.record({
    maxParallelTools: fc.integer({ min: 1, max: 3 }),
    maxProviderRetries: fc.nat({ max: 2 }),
    maxToolOutputChars: fc.constantFrom(3, 100_000),
    contextWindow: fc.constantFrom(60, 400, 200_000),
    budget: fc.constantFrom({}, {}, { maxTokens: 40 }, { maxDurationMs: 3 }),
  }),
  approves: fc.constantFrom('yes', 'no', 'always', 'fails'),
  compacts: fc.boolean(),
});
type Plan = typeof anyPlan extends fc.Arbitrary<infer T> ? T : never;

async function openEngine(placed: Placed): Promise<Engine> {
  const engine = await createEngine({
    ...placed,
    bare: true,
    root: '/nonexistent-workspace',
    tools: createTools(),
    retryBaseDelayMs: 0,
    toolTimeoutMs: 4,
    cancelGraceMs: 2,
    rules: { deny: ['ruled_out'] },
  });
  engine.hooks.register({
    name: 'policy',
    beforeTool: ({ tool }) => {
      if (tool === 'vetoed') return { abort: 'no' };
      if (tool === 'asked') return { ask: 'sure?' };
      return tool === 'hook_fails' ? Promise.reject(new Error('down')) : undefined;
    },
    afterTool: ({ tool }) => {
      if (tool === 'odd') throw new Error('after');
    },
  });
  return engine;
}

function createTools(): readonly Tool[] {
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const tool = (name: string, call: Tool['call'], more: Partial<Tool> = {}): Tool => ({
    name,
    description: '',
    input_schema: { type: 'object' },
    call,
    ...more,
  });
  const lone: unknown = { content: ['\ud800', 1] };
  return [
    tool('sync', (input) => `did ${JSON.stringify(input)}`),
    tool('async', () => Promise.resolve('')),
    tool('later', () =>
      turn()
        .then(turn)
        .then(() => ({ content: 'later', is_error: true, metadata: { exit_code: 3 } })),
    ),
    tool('fails', () => Promise.reject(new Error('it \udc00 failed'))),
    tool('crashes', () => {
      // eslint-disable-next-line no-throw-literal, typescript/only-throw-error
      throw 'crash';
    }),
    tool('hangs', () => new Promise(() => {})),
    tool(
      'stops',
      (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    ),
    tool('odd', () => lone),
    tool('big', () => '😀'.repeat(20)),
    tool('writes', () => null, { is_mutating: true }),
    tool('writes_later', () => turn().then(() => 'written'), { is_mutating: true }),
    ...['vetoed', 'hook_fails', 'asked', 'ruled_out'].map((name) => tool(name, () => name)),
    tool('guarded', () => 'guarded', { needs_approval: true }),
  ];
}

interface Played {
  readonly outcome: AgentOutcome;
  readonly requests: readonly CompletionRequest[];
  readonly envelopes: readonly Envelope[];
}

let played = 0;

async function play(engine: Engine, plan: Plan): Promise<Played> {
  const { intrusions, approves } = plan;
  const requests: CompletionRequest[] = [];
  const envelopes: Envelope[] = [];
  const outside = new AbortController();
  const runId = `run-${(played += 1)}` as RunId;
  const started: { run?: RunHandle } = {};
  const off = engine.bus.on({ run: runId }, (envelope) => {
    envelopes.push(envelope);
    for (const { what } of intrusions.filter(({ at }) => at === envelopes.length)) {
      // why: the first event comes while `engine.run` has not returned yet, or the last when the run has ended
      if (what === 'abort') outside.abort();
      else if (what.startsWith('steer')) ignoreEnded(() => started.run?.steer(what === 'steer' ? 'Hurry.' : ' '));
      else ignoreEnded(() => void started.run?.cancel({ mode: what === 'cancel' ? 'hard' : 'cooperative' }));
    }
  });
  const options: RunOptions = {
    ...plan.options,
    runId,
    signal: outside.signal,
    provider: createScriptedProvider({ script: plan.script }, { onRequest: (request) => void requests.push(request) }),
    approver: () => {
      if (approves === 'fails') throw new Error('gone');
      return { approved: approves !== 'no', ...(approves === 'always' ? { always: true } : {}) };
    },
    ...(plan.compacts ? { compaction: { atPercent: 10, keepMessages: 2 } } : {}),
  };
  started.run = engine.run({ role: 'worker', system_prompt: 'Work.', ...plan.spec } as never, plan.message, options);
  const outcome = await started.run.outcome;
  off();
  engine.bus.forgetRun(runId);
  return { outcome, requests, envelopes };
}

function ignoreEnded(act: () => void): void {
  try {
    act();
  } catch {
    // the run has ended, which is one of the moments to try
  }
}

const idForms = [/^[A-Za-z0-9_-]{1,64}$/, /^[a-zA-Z0-9]{9}$/];

/** Reliability AG1, after the clean-up of agent-runtime 18.16, in the neutral form and in both HTTP bodies. */
function findBadRequest(
  messages: readonly Message[],
  request: Omit<CompletionRequest, 'messages'>,
): string | undefined {
  for (const form of idForms) {
    const problem = findTranscriptProblem(turnsOfCleanMessages(cleanMessages(messages, form)));
    if (problem !== undefined) return `cleaned: ${problem}`;
  }
  const whole = { ...request, messages };
  const signedThinking = createSignedThinkingCache(thoughtOf);
  const bodies: readonly [JsonObject, typeof turnsOfAnthropicBody][] = [
    [anthropicBody(whole, { signedThinking }), turnsOfAnthropicBody],
    [openaiBody(whole, {}), turnsOfOpenaiBody],
  ];
  for (const [body, turnsOf] of bodies) {
    const text = encodeBody(body);
    const problem = findTranscriptProblem(turnsOf(JSON.parse(text)));
    if (problem !== undefined) return `${turnsOf.name}: ${problem}`;
    if (!text.isWellFormed() || /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text)) return 'the body is not well-formed Unicode';
  }
  return undefined;
}

/** Calls that were asked for and the answers to them, turn by turn: the transcript as the run left it. */
function findUnanswered(messages: readonly Message[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    const calls = message.role === 'assistant' ? toolUsesOf(message) : [];
    const answers = messages[index + 1]?.content.filter((block) => block.type === 'tool_result') ?? [];
    if (calls.some((call, at) => answers[at]?.tool_use_id !== call.id)) {
      return `message ${index} is not answered in order`;
    }
  }
  return undefined;
}

describePlacements('a run', (_open, placed) => {
  const runs = numRuns[placed.placement];

  test(
    'whatever a model, its tools, hooks and the outside do: requests are sound, calls return once, events have no gap, the run ends',
    { timeout: 600_000 },
    async () => {
      await using engine = await openEngine(placed);
      const seen = { stops: new Set<string>(), tools: new Set<string>(), requests: 0, calls: 0 };

      await fc.assert(
        fc.asyncProperty(anyPlan, async (plan) => {
          const { outcome, requests, envelopes } = await play(engine, plan);

          expect(checkEventInvariants(envelopes, outcome as unknown as JsonObject)).toEqual([]);
          expect(findUnanswered(outcome.messages)).toBeUndefined();
          for (const { messages, ...request } of requests) {
            expect(findBadRequest(messages, request)).toBeUndefined();
          }
          const resumed = resumeMessages(outcome.messages, 'Go on.');
          const bare = { model: '', system: '', tools: [], max_tokens: 100 };
          expect(findBadRequest(resumed, bare)).toBeUndefined();

          seen.stops.add(outcome.stop.reason);
          seen.requests += requests.length;
          for (const { event } of envelopes) {
            if (event.type !== 'tool_called') continue;
            seen.calls += 1;
            seen.tools.add(event.tool);
          }
        }),
        { numRuns: runs, seed },
      );

      expect(seen.stops).toEqual(new Set(['completed', 'max_steps', 'context_window', 'cancelled', 'error']));
      expect(seen.tools).toEqual(new Set(toolNames));
      expect(seen.requests).toBeGreaterThan(runs / 2);
      expect(seen.calls).toBeGreaterThan(runs / 2);
      expect(engine.runs()).toEqual([]);
      expect(engine.actors().filter(({ kind }) => kind === 'run')).toEqual([]);
      expect(engine.bus.stats()).toMatchObject({ listeners: 0, listenerErrors: 0 });
    },
  );
});
