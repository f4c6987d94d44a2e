import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject, toWellFormed } from '../protocol/json.ts';
import type { ContentBlock } from '../protocol/message.ts';
import type { CompletionResponse, StopReason } from '../protocol/model.ts';
import { toToolUse } from './tool-use.ts';
import { tokenCount } from './usage.ts';

/**
 * Reads a whole answer of the Chat Completions API, and of the servers that speak its dialect.
 * @throws EngineError `server_error` when it has no choices
 */
export function readOpenaiResponse(data: unknown, requestedModel: string): CompletionResponse {
  const choices = isJsonObject(data) ? data['choices'] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (!isJsonObject(data) || !isJsonObject(choice)) throw malformed('no choices');
  const message = choice['message'];
  if (!isJsonObject(message)) throw malformed('no message');

  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'].filter(isJsonObject) : [];
  const stop = toStopReason(choice['finish_reason'], calls.length > 0);
  const content: ContentBlock[] = [];
  pushText(content, 'thinking', reasoningTextOf(message));
  pushText(content, 'text', answerTextOf(message));
  for (const [index, call] of calls.entries()) {
    const target = isJsonObject(call['function']) ? call['function'] : {};
    const isCut = stop === 'max_tokens' && index === calls.length - 1;
    content.push(
      toToolUse({ id: call['id'], name: target['name'], input: target['arguments'], ordinal: index, isCut }),
    );
  }
  const { model, usage } = data;
  const details = isJsonObject(usage) ? usage['prompt_tokens_details'] : undefined;
  return {
    message: { role: 'assistant', content },
    stop_reason: stop,
    usage: {
      input_tokens: tokenCount(usage, 'prompt_tokens'),
      output_tokens: tokenCount(usage, 'completion_tokens'),
      cache_read_tokens: tokenCount(details, 'cached_tokens'),
      cache_write_tokens: 0,
    },
    model: typeof model === 'string' && model !== '' ? model : requestedModel,
  };
}

/** Thoughts under either of the two names that are in use; the same for a message and a piece of one. */
export function reasoningTextOf(message: JsonObject): string {
  return textOf(message['reasoning_content']) || textOf(message['reasoning']);
}

/** The answer; a refusal is one too. */
export function answerTextOf(message: JsonObject): string {
  return textOf(message['content']) || textOf(message['refusal']);
}

/** A string, or the text parts of a list of parts. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  let text = '';
  for (const part of value) {
    if (isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string') text += part['text'];
  }
  return text;
}

function pushText(content: ContentBlock[], type: 'text' | 'thinking', text: string): void {
  if (text !== '') content.push({ type, text: toWellFormed(text) });
}

function toStopReason(reason: unknown, hasCalls: boolean): StopReason {
  if (reason === 'length') return 'max_tokens';
  if (hasCalls) return 'tool_use';
  return reason === 'stop' || reason === undefined || reason === null ? 'end_turn' : 'other';
}

function malformed(what: string): EngineError {
  return new EngineError('server_error', `malformed provider response: ${what}`);
}
