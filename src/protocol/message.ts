import { type JsonObject, ownValue, isJsonObject } from './json.ts';

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}
export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly text: string;
}
export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}
export interface ToolResultBlock {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content: string;
  readonly is_error: boolean;
}
export type ContentBlock = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock;

/** One turn. There is no system role; tool results travel in a user message. */
export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly ContentBlock[];
}

/** Token counts of one or more model calls. */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
}

export const noUsage: Usage = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 };

export function addUsage(left: Usage, right: Usage): Usage {
  return {
    input_tokens: left.input_tokens + right.input_tokens,
    output_tokens: left.output_tokens + right.output_tokens,
    cache_read_tokens: left.cache_read_tokens + right.cache_read_tokens,
    cache_write_tokens: left.cache_write_tokens + right.cache_write_tokens,
  };
}

/** What budgets count: input plus output; cached tokens do not count. */
export function totalTokens(usage: Usage): number {
  return usage.input_tokens + usage.output_tokens;
}

export function userText(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/** The text blocks of a message joined with a newline; thinking is never part of it. */
export function textOf(message: Message): string {
  const texts: string[] = [];
  for (const block of message.content) if (block.type === 'text') texts.push(block.text);
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('\n');
}

export function toolUsesOf(message: Message): readonly ToolUseBlock[] {
  return message.content.filter((block) => block.type === 'tool_use');
}

/** The key under which arguments that are no JSON object travel. */
export const rawArgumentsKey = '_raw';

/**
 * The argument rule of agent-runtime 5.1: absent, null or blank text is `{}`; an object is itself; text holding a JSON
 * object is that object; anything else is kept as text under `_raw`. Cut JSON is never repaired.
 */
export function toToolInput(raw: unknown): JsonObject {
  if (raw === undefined || raw === null) return {};
  if (isJsonObject(raw)) return raw;
  if (typeof raw !== 'string') return { [rawArgumentsKey]: JSON.stringify(raw) };
  if (raw.trim() === '') return {};
  try {
    const parsed: unknown = JSON.parse(raw);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // not JSON: kept as the text it is
  }
  return { [rawArgumentsKey]: raw };
}

export function hasRawArguments(input: JsonObject): boolean {
  return ownValue(input, rawArgumentsKey) !== undefined;
}
