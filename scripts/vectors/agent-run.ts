import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Envelope } from '../../src/bus/envelope.ts';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { RunOptions } from '../../src/engine/options.ts';
import type { AgentInput } from '../../src/protocol/agent.ts';
import { isEngineError } from '../../src/protocol/error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import type { Message } from '../../src/protocol/message.ts';
import type { CompletionRequest } from '../../src/protocol/model.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { expand, toList, toObject, unknownKeys, withWorkspace } from './agent-compare.ts';
import { compareRun, type Played } from './agent-evidence.ts';
import { toHooks, toTool, type ToolRecord } from './agent-tools.ts';
import type { Player, PlayOptions } from './types.ts';

const vectorKeys = [
  'level',
  'kind',
  'id',
  'title',
  'spec',
  'options',
  'message',
  'script',
  'tools',
  'hooks',
  'history',
  'schema',
  'hint',
  'policy',
  'expected',
  'note',
  'differs',
];
const optionKeys = [
  'model',
  'provider_default_model',
  'context_window',
  'max_tool_output_chars',
  'max_provider_retries',
  'retry_base_delay_ms',
  'max_parallel_tools',
  'tool_timeout_ms',
  'cancel_grace_ms',
  'task',
  'subtask',
  'vars',
  'tool_trace',
  'budget',
  'approver',
  'cancel',
  'unwritable_output_dir',
  'unwritable_trace',
];
const expectedKeys = [
  'stop',
  'final_text',
  'steps',
  'tool_calls',
  'usage',
  'value',
  'error',
  'requests',
  'transcript',
  'events',
  'deltas',
  'max_in_flight',
  'start_order',
  'return_order',
  'hook_log',
  'traces',
  'saved_outputs',
  'budget_used',
  'script_left',
];

/** Plays whole runs: `run`, `resume`, `structured` and `continuation` vectors. */
export const playRuns: Player = ({ data }) => {
  const { format: _format, group: _group, title: _title, vectors, ...rest } = data;
  if (!Array.isArray(vectors) || Object.keys(rest).length > 0)
    throw new Error(`unknown keys ${Object.keys(rest).join(', ')}`);
  return vectors.filter(isJsonObject).map((vector: JsonObject) => ({
    id: String(vector['id']),
    weight: 'many' as const,
    play: (options: PlayOptions) => playVector(vector, options),
  }));
};

async function playVector(vector: JsonObject, play: PlayOptions): Promise<readonly string[]> {
  const options = toObject(vector['options']);
  const unknown = [
    ...unknownKeys(vector, vectorKeys),
    ...unknownKeys(options, optionKeys),
    ...unknownKeys(toObject(vector['expected']), expectedKeys),
  ];
  if (unknown.length > 0) return unknown;
  const root = await realpath(await mkdtemp(join(tmpdir(), 'vibe-vector-')));
  try {
    const expected = toObject(withWorkspace(vector['expected'], root) as Json);
    return await runVector(vector, options, expected, root, play);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function runVector(
  vector: JsonObject,
  options: JsonObject,
  expected: JsonObject,
  root: string,
  play: PlayOptions,
): Promise<readonly string[]> {
  if (options['unwritable_output_dir'] === true) await writeFile(join(root, '.vibe'), '');
  if (options['unwritable_trace'] === true) {
    await writeFile(join(root, 'trace'), '');
    // why: such a vector lists the trace that would have been written; with a file in the folder's place there is none
    expected = { ...expected, traces: {} };
  }
  const record: ToolRecord = { inFlight: 0, maxInFlight: 0, started: [], hookLog: [] };
  const cancel = new AbortController();
  const cancelRun = (): void => cancel.abort();
  const timers: NodeJS.Timeout[] = [];
  const cancelAfter = (ms: unknown): void => void timers.push(setTimeout(cancelRun, Number(ms)));
  const requests: CompletionRequest[] = [];
  const script = toList(vector['script']).map((entry) => toObject(expand(entry) as Json));
  const provider = createScriptedProvider(
    {
      script: script.map(({ cancel_during: _cancel, ...entry }) => entry),
      default_model: String(options['provider_default_model'] ?? 'scripted'),
    },
    {
      onRequest(request) {
        const during = script[requests.length]?.['cancel_during'];
        requests.push(request);
        if (isJsonObject(during)) cancelAfter(during['after_ms']);
      },
    },
  );
  const tools = toList(vector['tools']).map((entry) => toTool(toObject(expand(entry) as Json), record, cancelRun));
  await using engine = await createEngine({
    bare: true,
    root,
    provider,
    tools,
    ...(play.runPool === undefined ? {} : { runPool: play.runPool }),
  });
  for (const hook of toList(vector['hooks'])) engine.hooks.register(toHooks(toObject(expand(hook) as Json), record));
  const envelopes: Envelope[] = [];
  engine.bus.on('*', (envelope) => {
    if ('run' in envelope.event && envelope.event.run === 'vector-run') envelopes.push(envelope);
  });
  const cancelOption = toObject(options['cancel']);
  if (cancelOption['before_start'] === true) cancelRun();
  if (cancelOption['after_ms'] !== undefined)
    engine.bus.on('agent_started', () => cancelAfter(cancelOption['after_ms']));

  const result = await execute(engine, vector, {
    ...toRunOptions(options, root, play),
    signal: cancel.signal,
    runId: 'vector-run',
  });
  for (const timer of timers) clearTimeout(timer);

  return await compareRun(expected, {
    result,
    envelopes,
    requests,
    record,
    root,
    scriptLeft: provider.remaining(),
  });
}

async function execute(engine: Engine, vector: JsonObject, options: RunOptions): Promise<Played> {
  const spec = expand(vector['spec']) as AgentInput;
  const message = String(expand(vector['message']));
  try {
    switch (vector['kind']) {
      case 'run':
      case 'resume': {
        const history = vector['history'] === undefined ? {} : { history: expand(vector['history']) as Message[] };
        const run = engine.run(spec, message, { ...options, ...history });
        const outcome = await run.outcome;
        return { outcome: outcome as unknown as JsonObject, budgetUsed: run.used().tokens };
      }
      case 'structured': {
        const hint = typeof vector['hint'] === 'string' ? { hint: vector['hint'] } : {};
        const { value, outcome } = await engine.runStructured(spec, message, toObject(vector['schema']), {
          ...options,
          ...hint,
        });
        return { outcome: outcome as unknown as JsonObject, value, budgetUsed: undefined };
      }
      case 'continuation': {
        const policy = toObject(vector['policy']);
        const run = engine.runWithContinuation(spec, message, {
          ...options,
          continuation: {
            ...(policy['max_continuations'] === undefined
              ? {}
              : { maxContinuations: Number(policy['max_continuations']) }),
            ...(policy['summary_max_words'] === undefined
              ? {}
              : { summaryMaxWords: Number(policy['summary_max_words']) }),
          },
        });
        return { outcome: (await run.outcome) as unknown as JsonObject, budgetUsed: run.used().tokens };
      }
      default:
        throw new Error(`unknown kind ${JSON.stringify(vector['kind'])}`);
    }
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const outcome = (error as { outcome?: JsonObject }).outcome;
    return { outcome, error: { kind: error.kind, message: error.message }, budgetUsed: undefined };
  }
}

function toRunOptions(options: JsonObject, root: string, play: PlayOptions): RunOptions {
  const number = (key: string, name: keyof RunOptions): RunOptions =>
    options[key] === undefined ? {} : { [name]: Number(options[key]) };
  const trace = options['tool_trace'];
  const budget = options['budget'];
  const approver = options['approver'];
  const task = options['task'];
  return {
    model: String(options['model'] ?? 'test-model'),
    retryBaseDelayMs: 0,
    ...number('context_window', 'contextWindow'),
    ...number('max_tool_output_chars', 'maxToolOutputChars'),
    ...number('max_provider_retries', 'maxProviderRetries'),
    ...number('retry_base_delay_ms', 'retryBaseDelayMs'),
    ...number('max_parallel_tools', 'maxParallelTools'),
    ...number('tool_timeout_ms', 'toolTimeoutMs'),
    ...number('cancel_grace_ms', 'cancelGraceMs'),
    ...(isJsonObject(task) ? { task: { title: String(task['title']), description: String(task['description']) } } : {}),
    ...(typeof options['subtask'] === 'string' ? { subtask: options['subtask'] } : {}),
    ...(isJsonObject(options['vars']) ? { vars: options['vars'] as Record<string, string> } : {}),
    ...(isJsonObject(trace)
      ? {
          toolTrace: {
            dir: join(root, 'trace'),
            reference: String(trace['reference']),
            maxChars: Number(trace['max_chars']),
          },
        }
      : {}),
    ...(isJsonObject(budget)
      ? { budget: { maxTokens: Number(budget['max_tokens']), usedTokens: Number(budget['used_tokens'] ?? 0) } }
      : {}),
    ...(isJsonObject(approver)
      ? {
          approver: ({ tool }) => ({
            approved: toList(approver['approve']).includes(tool),
            ...(typeof approver['comment'] === 'string' ? { comment: approver['comment'] } : {}),
          }),
        }
      : {}),
    ...(play.threads ? { placement: 'thread' as const } : {}),
  };
}
