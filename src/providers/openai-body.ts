import { EngineError } from '../protocol/error.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { CompletionRequest } from '../protocol/model.ts';
import { type CleanBlock, cleanMessages, type CleanTurn } from './clean-messages.ts';
import { flag, mergeExtra } from './extra.ts';
import { isClosedSchema } from './response-schema.ts';
import { openaiReasoningEffort } from './thinking.ts';
import { assertSendable, turnsOfOpenaiBody } from './transcript-check.ts';

export const openaiBaseUrl = 'https://api.openai.com/v1';
export const openaiDefaultModel = 'gpt-5';

export interface OpenaiBodyOptions {
  /** Default: the official endpoint. */
  readonly baseUrl?: string;
  readonly defaultModel?: string;
  /** Options of the provider table's `extra`; the request's own `extra` goes first. */
  readonly extra?: JsonObject;
}

/** Ids of the official endpoint are at most 40 characters; other servers name calls like `functions.ls:0`. */
const officialId = /^[A-Za-z0-9_-]{1,40}$/;
const otherId = /^[A-Za-z0-9_.:-]{1,64}$/;
/** Keys of `extra` that steer us and are no fields of the body. */
const ownExtraKeys = ['require_api_key', 'max_tokens_param', 'reasoning', 'headers', 'limits', 'json_schema'];

export function isOfficialOpenai(baseUrl: string | undefined): boolean {
  return baseUrl === undefined || baseUrl === openaiBaseUrl;
}

/**
 * The body of `POST /chat/completions` without its streaming fields. Source: agent-runtime section 15,
 * "OpenAI-compatible".
 * @throws EngineError `config` for a wrong option in `extra`, `invalid_request` when the transcript cannot be sent
 */
export function openaiBody(request: CompletionRequest, options: OpenaiBodyOptions = {}): JsonObject {
  const extra = { ...options.extra, ...request.extra };
  const isOfficial = isOfficialOpenai(options.baseUrl);
  const reasons = flag(extra, 'reasoning', isOfficial);
  const budget = request.thinking_budget ?? 0;
  const effort = reasons && budget > 0 ? openaiReasoningEffort(budget) : undefined;

  const computed: JsonObject = {
    model: request.model === '' ? (options.defaultModel ?? openaiDefaultModel) : request.model,
    messages: toMessages(request.system, cleanMessages(request.messages, isOfficial ? officialId : otherId)),
    [maxTokensName(extra, isOfficial)]: request.max_tokens,
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(toTool) }),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(effort === undefined && request.temperature !== undefined ? { temperature: request.temperature } : {}),
    ...(request.stop_sequences === undefined || request.stop_sequences.length === 0
      ? {}
      : { stop: request.stop_sequences }),
    ...responseFormat(request, extra, isOfficial),
  };
  assertSendable(turnsOfOpenaiBody(computed));
  return mergeExtra(extra, ownExtraKeys, computed);
}

function maxTokensName(extra: JsonObject, isOfficial: boolean): string {
  const name = extra['max_tokens_param'] ?? (isOfficial ? 'max_completion_tokens' : 'max_tokens');
  if (typeof name === 'string' && name !== '') return name;
  throw new EngineError('config', `\`extra.max_tokens_param\` must be a name, not ${JSON.stringify(name)}`);
}

/** Whether the endpoint takes a response schema: the official one does, another says so in `extra.json_schema`. */
export function takesSchema(extra: JsonObject, isOfficial: boolean): boolean {
  return flag(extra, 'json_schema', isOfficial);
}

function responseFormat(request: CompletionRequest, extra: JsonObject, isOfficial: boolean): JsonObject {
  const schema = request.response_schema;
  if (schema === undefined || !takesSchema(extra, isOfficial)) return {};
  // why: local servers bind every token to the schema, so that with tools on offer no call could be written any more
  if (!isOfficial && request.tools.length > 0) return {};
  const strict = isClosedSchema(schema, true);
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict } } };
}

function toTool(tool: CompletionRequest['tools'][number]): JsonObject {
  const { name, description, input_schema: parameters } = tool;
  return { type: 'function', function: { name, description, parameters } };
}

function toMessages(system: string, turns: readonly CleanTurn[]): JsonObject[] {
  const messages: JsonObject[] = [];
  if (system.trim() !== '') messages.push({ role: 'system', content: system });
  for (const turn of turns) {
    if (turn.role === 'assistant') messages.push(toAssistant(turn.blocks));
    else addUser(messages, turn.blocks);
  }
  return messages;
}

function toAssistant(blocks: readonly CleanBlock[]): JsonObject {
  const calls: Json[] = [];
  for (const block of blocks) {
    if (block.type !== 'tool_use') continue;
    const { id, name, input } = block;
    calls.push({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } });
  }
  const text = joinTexts(blocks);
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function addUser(messages: JsonObject[], blocks: readonly CleanBlock[]): void {
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue;
    const content = block.is_error ? `Error: ${block.content}` : block.content;
    messages.push({ role: 'tool', tool_call_id: block.tool_use_id, content });
  }
  const text = joinTexts(blocks);
  if (text !== '') messages.push({ role: 'user', content: text });
}

function joinTexts(blocks: readonly CleanBlock[]): string {
  const texts: string[] = [];
  for (const block of blocks) if (block.type === 'text') texts.push(block.text);
  return texts.join('\n');
}
