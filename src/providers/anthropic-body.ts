import { EngineError } from '../protocol/error.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { CompletionRequest, SignedThinking } from '../protocol/model.ts';
import { cleanMessages, type CleanBlock, type CleanTurn } from './clean-messages.ts';
import { mergeExtra } from './extra.ts';
import { isClosedSchema } from './response-schema.ts';
import type { SignedThinkingCache } from './signed-thinking.ts';
import { anthropicEffort, anthropicThinkingForm, type ThinkingForm } from './thinking.ts';
import { assertSendable, turnsOfAnthropicBody } from './transcript-check.ts';

export const anthropicDefaultModel = 'claude-sonnet-5';

const shorthands: ReadonlyMap<string, string> = new Map([
  ['opus', 'claude-opus-5'],
  ['sonnet', anthropicDefaultModel],
  ['haiku', 'claude-haiku-4-5-20251001'],
  ['fable', 'claude-fable-5-1'],
]);

/** A model id, or a shorthand in any case, as the API knows it; empty = `defaultModel`. */
export function toAnthropicModel(name: string, defaultModel = anthropicDefaultModel): string {
  const chosen = name === '' ? defaultModel : name;
  return shorthands.get(chosen.toLowerCase()) ?? chosen;
}

export interface AnthropicBodyOptions {
  readonly signedThinking: SignedThinkingCache;
  readonly defaultModel?: string;
  /** Options of the provider table's `extra`; the request's own `extra` goes first. */
  readonly extra?: JsonObject;
}

const acceptedId = /^[A-Za-z0-9_-]{1,64}$/;
const leastBudget = 1024;
/** Keys of `extra` that steer us and are no fields of the body. */
const ownExtraKeys = ['thinking', 'headers', 'limits', 'require_api_key', 'auth', 'workspace_id'];

/**
 * The body of `POST /v1/messages` without its `stream` field. Source: agent-runtime section 15, "Anthropic".
 * @throws EngineError `config` for an unknown `extra.thinking`, `invalid_request` when the transcript cannot be sent
 */
export function anthropicBody(request: CompletionRequest, options: AnthropicBodyOptions): JsonObject {
  const model = toAnthropicModel(request.model, options.defaultModel);
  const extra = { ...options.extra, ...request.extra };
  const form = thinkingForm(model, extra['thinking']);
  const turns = cleanMessages(request.messages, acceptedId);
  const signed = signedTurns(request, turns, options.signedThinking, model);
  const budget = thinkingBudget(request, turns, signed);
  const outputConfig = {
    ...(budget !== undefined && form === 'adaptive' ? { effort: anthropicEffort(budget) } : {}),
    ...schemaFormat(request.response_schema, model),
  };

  const computed: JsonObject = {
    model,
    max_tokens:
      budget !== undefined && request.max_tokens <= budget
        ? budget + Math.max(request.max_tokens, 1)
        : request.max_tokens,
    ...(request.system.trim() === '' ? {} : { system: [{ type: 'text', text: request.system, ...cacheMark }] }),
    messages: toMessages(turns, request.cache_turns ?? false, budget === undefined ? new Map() : signed),
    ...(request.tools.length === 0
      ? {}
      : { tools: request.tools.map(({ name, description, input_schema }) => ({ name, description, input_schema })) }),
    ...(request.stop_sequences === undefined || request.stop_sequences.length === 0
      ? {}
      : { stop_sequences: request.stop_sequences }),
    ...(budget === undefined ? {} : { thinking: thinkingField(form, budget) }),
    ...(Object.keys(outputConfig).length === 0 ? {} : { output_config: outputConfig }),
    ...(request.temperature !== undefined && budget === undefined && form === 'budget'
      ? { temperature: request.temperature }
      : {}),
  };
  assertSendable(turnsOfAnthropicBody(computed));
  return mergeExtra(extra, ownExtraKeys, computed);
}

const cacheMark = { cache_control: { type: 'ephemeral' } };

function thinkingForm(model: string, forced: Json | undefined): ThinkingForm {
  if (forced === undefined) return anthropicThinkingForm(model);
  if (forced === 'adaptive' || forced === 'budget') return forced;
  throw new EngineError('config', `\`extra.thinking\` must be "adaptive" or "budget", not ${JSON.stringify(forced)}`);
}

function thinkingField(form: ThinkingForm, budget: number): JsonObject {
  return form === 'adaptive' ? { type: 'adaptive' } : { type: 'enabled', budget_tokens: budget };
}

type SignedTurns = ReadonlyMap<CleanTurn, SignedThinking>;

function signedTurns(
  request: CompletionRequest,
  turns: readonly CleanTurn[],
  cache: SignedThinkingCache,
  model: string,
): SignedTurns {
  const signed = new Map<CleanTurn, SignedThinking>();
  if ((request.thinking_budget ?? 0) <= 0) return signed;
  for (const turn of turns) {
    const thinking = turn.source === undefined ? undefined : cache.forTurn(turn.source, model);
    if (thinking !== undefined) signed.set(turn, thinking);
  }
  return signed;
}

/**
 * The budget to send; absent when thinking is off, also because the last assistant turn made calls without a signed
 * thinking block at its start: the API refuses such a turn while thinking is on.
 */
function thinkingBudget(
  request: CompletionRequest,
  turns: readonly CleanTurn[],
  signed: SignedTurns,
): number | undefined {
  const asked = request.thinking_budget ?? 0;
  if (asked <= 0) return undefined;
  const last = turns.findLast((turn) => turn.role === 'assistant');
  if (last !== undefined && last.blocks.some((block) => block.type === 'tool_use')) {
    const thinking = signed.get(last);
    if (thinking === undefined || (thinking.before?.[0] ?? 0) > 0) return undefined;
  }
  return Math.max(asked, leastBudget);
}

function schemaFormat(schema: JsonObject | undefined, model: string): JsonObject {
  if (schema === undefined || !hasNativeSchema(model) || !isClosedSchema(schema)) return {};
  return { format: { type: 'json_schema', schema } };
}

const withoutSchema = ['claude-3', '-4-0', '-4-1', 'opus-4-2', 'sonnet-4-2', 'fable', 'mythos'];

/** Claude 4.5 and later take a schema, apart from the Fable and Mythos families. */
function hasNativeSchema(model: string): boolean {
  const id = model.toLowerCase();
  return id.includes('claude') && !withoutSchema.some((part) => id.includes(part));
}

function toMessages(turns: readonly CleanTurn[], marksCache: boolean, signed: SignedTurns): JsonObject[] {
  const marked = marksCache ? lastUserTurns(turns, 2) : new Set<CleanTurn>();
  return turns.map((turn) => {
    const content = turn.role === 'user' ? turn.blocks.map(toBlock) : withSigned(turn, signed.get(turn));
    const last = content.at(-1);
    if (last !== undefined && marked.has(turn)) content[content.length - 1] = { ...last, ...cacheMark };
    return { role: turn.role, content };
  });
}

function lastUserTurns(turns: readonly CleanTurn[], count: number): ReadonlySet<CleanTurn> {
  return new Set(turns.filter((turn) => turn.role === 'user').slice(-count));
}

/** Signed blocks go back where they stood among the others. */
function withSigned(turn: CleanTurn, signed: SignedThinking | undefined): JsonObject[] {
  if (signed === undefined) return turn.blocks.map(toBlock);
  const content: JsonObject[] = [];
  let next = 0;
  const takeBefore = (place: number): void => {
    for (; next < signed.blocks.length && (signed.before?.[next] ?? 0) <= place; next += 1) {
      const block = signed.blocks[next];
      if (block !== undefined) content.push(block);
    }
  };
  for (const [index, block] of turn.blocks.entries()) {
    takeBefore(turn.places[index] ?? 0);
    content.push(toBlock(block));
  }
  return content;
}

function toBlock(block: CleanBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: block.input };
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: block.tool_use_id,
        content: block.content,
        ...(block.is_error ? { is_error: true } : {}),
      };
  }
}
