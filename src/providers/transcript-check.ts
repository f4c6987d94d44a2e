import { EngineError } from '../protocol/error.ts';
import { isJsonObject } from '../protocol/json.ts';
import type { CleanTurn } from './clean-messages.ts';

/** One turn of a request body, reduced to what the check looks at. */
export interface CheckedTurn {
  readonly role: 'user' | 'assistant';
  /** Ids of the tool calls it makes, in order. */
  readonly calls: readonly string[];
  /** Ids of the calls it answers, in order. */
  readonly results: readonly string[];
  /** All its texts, results included. */
  readonly texts: readonly string[];
  /** Blocks that have no text of their own, such as signed thinking. */
  readonly opaque: number;
}

/**
 * The transcript check of reliability AG1: each tool call answered exactly once, in the next turn and in call order; no
 * result without a call; no empty turn, text or result; no two user turns in a row; call ids unique; text well-formed.
 * Returns what is wrong, or nothing. Linear in the size of the turns.
 */
export function findTranscriptProblem(turns: readonly CheckedTurn[]): string | undefined {
  if (turns[0] === undefined) return 'it has no messages';
  if (turns[0].role !== 'user') return 'it does not start with a user turn';
  const seen = new Set<string>();
  let open: readonly string[] = [];
  for (const [index, turn] of turns.entries()) {
    const problem = problemOf(turn, open, turns[index - 1]);
    if (problem !== undefined) return `turn ${index + 1} ${problem}`;
    for (const id of turn.calls) {
      if (id === '') return `turn ${index + 1} has a tool call without an id`;
      if (seen.has(id)) return `turn ${index + 1} repeats the call id \`${id}\``;
      seen.add(id);
    }
    open = turn.calls;
  }
  return open.length > 0 ? `the call \`${open[0]}\` has no result` : undefined;
}

function problemOf(turn: CheckedTurn, open: readonly string[], before: CheckedTurn | undefined): string | undefined {
  if (turn.role === 'user' && before?.role === 'user') return 'is a second user turn in a row';
  if (turn.texts.length + turn.calls.length + turn.opaque === 0) return 'is empty';
  for (const text of turn.texts) {
    if (text.trim() === '') return 'has an empty text';
    if (!text.isWellFormed()) return 'has text that is not well-formed Unicode';
  }
  for (let index = 0; index < Math.max(open.length, turn.results.length); index += 1) {
    const call = open[index];
    const result = turn.results[index];
    if (call === result) continue;
    if (call === undefined) return `has a result for \`${result}\`, which no call of the turn before asked for`;
    if (result === undefined) return `does not answer the call \`${call}\` of the turn before`;
    return `answers \`${result}\` where the result of the call \`${call}\` belongs`;
  }
  return undefined;
}

/** @throws EngineError `invalid_request` naming what is wrong with the turns */
export function assertSendable(turns: readonly CheckedTurn[]): void {
  const problem = findTranscriptProblem(turns);
  if (problem !== undefined) throw new EngineError('invalid_request', `the request was not sent: ${problem}`);
}

/** The turns of a Messages body (Anthropic). */
export function turnsOfAnthropicBody(body: unknown): readonly CheckedTurn[] {
  return itemsOf(body, 'messages').map((message) => {
    const turn = emptyTurn(message['role'] === 'assistant' ? 'assistant' : 'user');
    for (const block of itemsOf(message, 'content')) {
      switch (block['type']) {
        case 'text':
          turn.texts.push(textOf(block['text']));
          break;
        case 'tool_use':
          turn.calls.push(textOf(block['id']));
          break;
        case 'tool_result':
          turn.results.push(textOf(block['tool_use_id']));
          turn.texts.push(textOf(block['content']));
          break;
        default:
          turn.opaque += 1;
      }
    }
    return turn;
  });
}

/** The turns of a Chat Completions body; `tool` messages and the user message after them are one turn. */
export function turnsOfOpenaiBody(body: unknown): readonly CheckedTurn[] {
  const turns: MutableTurn[] = [];
  let results: MutableTurn | undefined;
  for (const message of itemsOf(body, 'messages')) {
    const role = message['role'];
    if (role === 'system') continue;
    if (role === 'tool') {
      if (results === undefined) turns.push((results = emptyTurn('user')));
      results.results.push(textOf(message['tool_call_id']));
      results.texts.push(textOf(message['content']));
      continue;
    }
    let turn = results;
    results = undefined;
    if (role === 'assistant' || turn === undefined) {
      turns.push((turn = emptyTurn(role === 'assistant' ? 'assistant' : 'user')));
    }
    if (message['content'] !== null) turn.texts.push(textOf(message['content']));
    for (const call of itemsOf(message, 'tool_calls')) turn.calls.push(textOf(call['id']));
  }
  return turns;
}

/** Turns after the clean-up, for providers that build no HTTP body of their own. */
export function turnsOfCleanMessages(turns: readonly CleanTurn[]): readonly CheckedTurn[] {
  return turns.map(({ role, blocks }) => {
    const turn = emptyTurn(role);
    for (const block of blocks) {
      if (block.type === 'text') turn.texts.push(block.text);
      else if (block.type === 'tool_use') turn.calls.push(block.id);
      else {
        turn.results.push(block.tool_use_id);
        turn.texts.push(block.content);
      }
    }
    return turn;
  });
}

interface MutableTurn extends CheckedTurn {
  readonly calls: string[];
  readonly results: string[];
  readonly texts: string[];
  opaque: number;
}

function emptyTurn(role: CheckedTurn['role']): MutableTurn {
  return { role, calls: [], results: [], texts: [], opaque: 0 };
}

function itemsOf(value: unknown, key: string): readonly { readonly [key: string]: unknown }[] {
  const items = isJsonObject(value) ? value[key] : undefined;
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
