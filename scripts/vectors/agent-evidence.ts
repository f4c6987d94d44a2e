import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Envelope } from '../../src/bus/envelope.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import { type Message, toolUsesOf } from '../../src/protocol/message.ts';
import type { CompletionRequest } from '../../src/protocol/model.ts';
import { cleanMessages } from '../../src/providers/clean-messages.ts';
import { findTranscriptProblem, turnsOfCleanMessages } from '../../src/providers/transcript-check.ts';
import { difference, toObject } from './agent-compare.ts';
import { type Bindings, checkEventInvariants, compareEvents, toComparable } from './agent-events.ts';
import type { ToolRecord } from './agent-tools.ts';

/** How a run ended, as data. */
export interface Played {
  readonly outcome: JsonObject | undefined;
  readonly value?: unknown;
  readonly error?: { readonly kind: string; readonly message: string };
  readonly budgetUsed: number | undefined;
}

/** What a run left behind. */
export interface Evidence {
  readonly result: Played;
  readonly envelopes: readonly Envelope[];
  readonly requests: readonly CompletionRequest[];
  readonly record: ToolRecord;
  readonly root: string;
  readonly scriptLeft: number;
}

/** Compares a played run with a vector's expectation and checks the format's invariants; one line per difference. */
export async function compareRun(expected: JsonObject, evidence: Evidence): Promise<readonly string[]> {
  const { result, envelopes, requests, record, root } = evidence;
  const bindings: Bindings = new Map();
  const found: (string | undefined)[] = [
    ...checkEventInvariants(envelopes, result.outcome),
    ...checkRequests(requests),
  ];
  if (result.error !== undefined && expected['error'] === undefined)
    found.push(`rejected: ${JSON.stringify(result.error)}`);
  if (Array.isArray(expected['events'])) {
    const wanted = expected['events'].map((event) => toObject(event));
    found.push(...compareEvents(wanted, toComparable(envelopes), bindings));
  }
  const symbols = new Map([...bindings].map(([symbol, call]) => [call, symbol]));
  const ids = toToolUseIds(envelopes, result.outcome);
  const facts: { readonly [key: string]: unknown } = {
    ...Object.fromEntries(
      ['stop', 'final_text', 'steps', 'tool_calls', 'usage'].map((key) => [key, result.outcome?.[key]]),
    ),
    value: result.value,
    error: result.error,
    requests: requests.map(toComparableRequest),
    transcript: result.outcome?.['messages'],
    deltas: toDeltas(envelopes),
    max_in_flight: record.maxInFlight,
    start_order: record.started.map((call) => ids.get(call)),
    return_order: envelopes.flatMap(({ event }) => (event.type === 'tool_returned' ? [ids.get(event.call)] : [])),
    hook_log: record.hookLog,
    budget_used: result.budgetUsed,
    script_left: evidence.scriptLeft,
    traces: Object.fromEntries(
      (await readFolder(join(root, 'trace'))).map(([name, text]) => [
        symbols.get(name.replace(/\.txt$/, '')) ?? name,
        text,
      ]),
    ),
    saved_outputs: (await readFolder(join(root, '.vibe', 'tool-output'))).map(([, text]) => text).sort(),
  };
  for (const [key, value] of Object.entries(expected)) {
    if (key !== 'events') found.push(difference(value, facts[key], key));
  }
  if (isJsonObject(expected['traces'])) {
    const extra = Object.keys(toObject(facts['traces'] as Json)).length - Object.keys(expected['traces']).length;
    if (extra !== 0) found.push(`traces: ${extra} more files than expected`);
  }
  return found.filter((line) => line !== undefined);
}

/**
 * Invariants 4 and 5: roles alternate, each call is answered at the head of the next turn, in order. And what would leave for
 * a provider passes the transcript check (reliability AG1).
 */
function checkRequests(requests: readonly CompletionRequest[]): string[] {
  const found: string[] = [];
  for (const { messages } of requests) {
    for (const [index, message] of messages.entries()) {
      if (message.role !== (index % 2 === 0 ? 'user' : 'assistant'))
        found.push(`message ${index} has role ${message.role}`);
      const calls = message.role === 'assistant' ? toolUsesOf(message) : [];
      const answers = messages[index + 1]?.content.slice(0, calls.length) ?? [];
      for (const [at, call] of calls.entries()) {
        const answer = answers[at];
        if (answer?.type !== 'tool_result' || answer.tool_use_id !== call.id)
          found.push(`call ${call.id} is not answered in order`);
      }
    }
    const problem = findTranscriptProblem(turnsOfCleanMessages(cleanMessages(messages, acceptedId)));
    if (problem !== undefined) found.push(`the request as it would be sent: ${problem}`);
  }
  return found;
}

const acceptedId = /^[A-Za-z0-9_-]{1,64}$/;

function toComparableRequest(request: CompletionRequest): object {
  return {
    model: request.model,
    system: request.system,
    messages: request.messages,
    tools: request.tools.map((tool) => tool.name),
    max_tokens: request.max_tokens,
    thinking_budget: request.thinking_budget ?? null,
    temperature: request.temperature ?? null,
  };
}

/** The n-th `tool_called` of a run is its n-th tool use: calls that never start are the last of theirs. */
function toToolUseIds(envelopes: readonly Envelope[], outcome: JsonObject | undefined): Map<string, string> {
  const uses = ((outcome?.['messages'] ?? []) as unknown as readonly Message[]).flatMap((message) =>
    message.role === 'assistant' ? toolUsesOf(message) : [],
  );
  const calls = envelopes.flatMap(({ event }) => (event.type === 'tool_called' ? [event.call] : []));
  return new Map(calls.map((call, index) => [call, uses[index]?.id ?? '?']));
}

function toDeltas(envelopes: readonly Envelope[]): readonly object[] {
  const deltas: { kind: string; text: string }[] = [];
  for (const { event } of envelopes) {
    if (event.type !== 'agent_delta') continue;
    const last = deltas.at(-1);
    if (last?.kind === event.delta.kind) last.text += event.delta.text;
    else deltas.push({ ...event.delta });
  }
  return deltas;
}

async function readFolder(folder: string): Promise<readonly (readonly [string, string])[]> {
  const names = await readdir(folder).catch(() => []); // a missing folder is empty
  return await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const));
}
