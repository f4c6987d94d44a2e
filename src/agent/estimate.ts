import type { ContentBlock, Message } from '../protocol/message.ts';
import { type ToolSpec, toToolSpec } from '../protocol/tool.ts';

/**
 * Estimated tokens of a whole request: four UTF-8 bytes are one token (agent-runtime section 4). System prompt, each
 * message and the tool list are rounded up on their own, so a caller may keep a running sum of the parts below.
 */
export function estimateTokens(system: string, messages: readonly Message[], tools: readonly ToolSpec[]): number {
  let sum = textTokens(system) + toolsTokens(tools);
  for (const message of messages) sum += messageTokens(message);
  return sum;
}

export function textTokens(text: string): number {
  return toTokens(Buffer.byteLength(text));
}

/** Blocks are summed before rounding; ids and the role count nothing. */
export function messageTokens(message: Message): number {
  let bytes = 0;
  for (const block of message.content) bytes += blockBytes(block);
  return toTokens(bytes);
}

/** The tools as compact JSON; no tools is `[]`, one token. */
export function toolsTokens(tools: readonly ToolSpec[]): number {
  return textTokens(JSON.stringify(tools.map(toToolSpec)));
}

function blockBytes(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return Buffer.byteLength(block.text);
    case 'tool_use':
      return Buffer.byteLength(block.name) + Buffer.byteLength(JSON.stringify(block.input));
    case 'tool_result':
      return Buffer.byteLength(block.content);
  }
}

function toTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}
