import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject, toWellFormed } from '../protocol/json.ts';
import type { ContentBlock, Usage } from '../protocol/message.ts';
import type { CompletionResponse, SignedThinking, StopReason } from '../protocol/model.ts';
import { toToolUse } from './tool-use.ts';
import { tokenCount } from './usage.ts';

const stopReasons: readonly StopReason[] = ['end_turn', 'tool_use', 'max_tokens', 'stop_sequence'];

/**
 * Reads a whole answer of the Messages API; unknown blocks are passed over.
 * @throws EngineError `server_error` when it has no content
 */
export function readAnthropicResponse(data: unknown, requestedModel: string): CompletionResponse {
  const blocks = contentOf(data);
  const stop = isJsonObject(data) ? toStopReason(data['stop_reason']) : 'other';
  const content: ContentBlock[] = [];
  let calls = 0;
  for (const [index, block] of blocks.entries()) {
    if (block['type'] === 'thinking') pushText(content, 'thinking', block['thinking']);
    else if (block['type'] === 'text') pushText(content, 'text', block['text']);
    else if (block['type'] === 'tool_use') {
      const isCut = stop === 'max_tokens' && index === blocks.length - 1;
      content.push(toToolUse({ id: block['id'], name: block['name'], input: block['input'], ordinal: calls, isCut }));
      calls += 1;
    }
  }
  const model = isJsonObject(data) ? data['model'] : undefined;
  return {
    message: { role: 'assistant', content },
    stop_reason: stop,
    usage: readUsage(isJsonObject(data) ? data['usage'] : undefined),
    model: typeof model === 'string' && model !== '' ? model : requestedModel,
  };
}

/** The signed thinking of a tool turn, as it must go back; absent when a thinking block has no signature. */
export function signedThinkingOf(data: unknown, model: string): SignedThinking | undefined {
  const blocks: JsonObject[] = [];
  const before: number[] = [];
  let others = 0;
  for (const block of contentOf(data)) {
    if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') {
      if (!isSigned(block)) return undefined;
      blocks.push(block);
      before.push(others);
    } else if (block['type'] === 'tool_use' || (block['type'] === 'text' && block['text'] !== '')) others += 1;
  }
  return blocks.length === 0 ? undefined : { model, blocks, before };
}

/** The thought of a signed block as the transcript tells it. */
export function thoughtOf(block: JsonObject): string {
  const { thinking } = block;
  return typeof thinking === 'string' ? toWellFormed(thinking) : '';
}

function isSigned(block: JsonObject): boolean {
  const proof = block['type'] === 'thinking' ? block['signature'] : block['data'];
  return typeof proof === 'string' && proof !== '';
}

function contentOf(data: unknown): readonly JsonObject[] {
  const content = isJsonObject(data) ? data['content'] : undefined;
  if (!Array.isArray(content)) throw new EngineError('server_error', 'malformed provider response: no content');
  return content.filter(isJsonObject);
}

function pushText(content: ContentBlock[], type: 'text' | 'thinking', text: unknown): void {
  if (typeof text === 'string' && text !== '') content.push({ type, text: toWellFormed(text) });
}

function toStopReason(reason: unknown): StopReason {
  return stopReasons.find((known) => known === reason) ?? 'other';
}

function readUsage(raw: unknown): Usage {
  return {
    input_tokens: tokenCount(raw, 'input_tokens'),
    output_tokens: tokenCount(raw, 'output_tokens'),
    cache_read_tokens: tokenCount(raw, 'cache_read_input_tokens'),
    cache_write_tokens: tokenCount(raw, 'cache_creation_input_tokens'),
  };
}
