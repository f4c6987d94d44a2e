import { toWellFormed } from '../protocol/json.ts';
import {
  type ContentBlock,
  type Message,
  type TextBlock,
  toToolInput,
  type ToolResultBlock,
  type ToolUseBlock,
  toolUsesOf,
} from '../protocol/message.ts';
import { notExecutedText } from './batches.ts';
import { messageTokens } from './estimate.ts';
import type { ToolAnswer } from './ports.ts';

/** The growing list of messages of one session, with a running token estimate. Messages themselves never change. */
export class Transcript {
  #messages: Message[];
  #tokens: number;

  constructor(initial: readonly Message[]) {
    this.#messages = [...initial];
    this.#tokens = sumTokens(initial);
  }

  /** A copy that later turns do not touch. */
  snapshot(): readonly Message[] {
    return this.#messages.slice();
  }

  last(): Message | undefined {
    return this.#messages.at(-1);
  }

  push(message: Message): void {
    this.#messages.push(message);
    this.#tokens += messageTokens(message);
  }

  /** The answers of a turn's calls, by position, become the next message. */
  pushAnswers(calls: readonly ToolUseBlock[], answers: readonly ToolAnswer[]): void {
    this.push({ role: 'user', content: calls.map((call, index) => toResult(call, answers[index])) });
  }

  /** Joins the last message when that is the user's, else a new user message (agent-runtime section 4). */
  inject(text: string): void {
    const last = this.last();
    this.#messages = mergeText(this.#messages, text);
    this.#tokens += messageTokens(this.last() as Message) - (last?.role === 'user' ? messageTokens(last) : 0);
  }

  /** Puts other messages in place of all there are. */
  replace(messages: readonly Message[]): void {
    this.#messages = [...messages];
    this.#tokens = sumTokens(messages);
  }

  tokens(): number {
    return this.#tokens;
  }
}

function sumTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0);
}

function mergeText(messages: readonly Message[], text: string): Message[] {
  const block: TextBlock = { type: 'text', text };
  const last = messages.at(-1);
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [block] }];
  return [...messages.slice(0, -1), { role: 'user', content: [...last.content, block] }];
}

function toResult({ id }: ToolUseBlock, answer: ToolAnswer | undefined): ToolResultBlock {
  return { type: 'tool_result', tool_use_id: id, content: answer?.content ?? '', is_error: answer?.is_error ?? false };
}

/**
 * A transcript made ready to go on: every call without an answer is answered as not executed, in call order, then the
 * message joins by the merging rule (agent-runtime section 2 and 18.1).
 */
export function resumeMessages(history: readonly Message[], message: string): readonly Message[] {
  const answered: Message[] = [];
  for (const [index, entry] of history.entries()) {
    const previous = history[index - 1];
    const calls = previous?.role === 'assistant' ? toolUsesOf(previous) : [];
    if (calls.length > 0 && entry.role === 'user') answered.push(completeResults(calls, entry));
    else {
      if (calls.length > 0) answered.push({ role: 'user', content: calls.map(notExecuted) });
      answered.push(entry);
    }
  }
  const last = history.at(-1);
  const open = last?.role === 'assistant' ? toolUsesOf(last) : [];
  if (open.length > 0) answered.push({ role: 'user', content: open.map(notExecuted) });
  return mergeText(answered, message);
}

/** Ids may repeat, so each result of the turn answers one call of that id, in order. */
function completeResults(calls: readonly ToolUseBlock[], turn: Message): Message {
  const given = turn.content.filter((block) => block.type === 'tool_result');
  if (given.length === calls.length && given.every((result, index) => result.tool_use_id === calls[index]?.id))
    return turn;
  const unused = [...given];
  const results = calls.map((call) => {
    const index = unused.findIndex((result) => result.tool_use_id === call.id);
    return index < 0 ? notExecuted(call) : (unused.splice(index, 1)[0] as ToolResultBlock);
  });
  return { role: 'user', content: [...results, ...turn.content.filter((block) => block.type !== 'tool_result')] };
}

function notExecuted(call: ToolUseBlock): ToolResultBlock {
  return { type: 'tool_result', tool_use_id: call.id, content: notExecutedText, is_error: true };
}

/** An answer as the transcript keeps it: the assistant's, inputs by the argument rule, text well-formed. */
export function toAssistantMessage(message: Message): Message {
  return { role: 'assistant', content: message.content.map(toCleanBlock) };
}

function toCleanBlock(block: ContentBlock): ContentBlock {
  switch (block.type) {
    case 'text':
      return block.text.isWellFormed() ? block : { type: 'text', text: toWellFormed(block.text) };
    case 'thinking':
      return block.text.isWellFormed() ? block : { ...block, text: toWellFormed(block.text) };
    case 'tool_use': {
      const input = toToolInput(block.input);
      return input === block.input ? block : { ...block, input };
    }
    case 'tool_result':
      return block;
  }
}
