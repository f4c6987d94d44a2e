import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import type { CompletionRequest, SignedThinking } from '../protocol/model.ts';
import { cleanMessages, type CleanTurn } from './clean-messages.ts';
import { toWellFormedInput } from './json-body.ts';
import type { SignedThinkingCache } from './signed-thinking.ts';
import { anthropicEffort } from './thinking.ts';
import { assertSendable, turnsOfCleanMessages } from './transcript-check.ts';

const acceptedId = /^[A-Za-z0-9_.:-]{1,64}$/;
const efforts = { low: 'low', medium: 'medium', high: 'high', max: 'xhigh' } as const;

/**
 * A request as the call options of an AI SDK language model, without the signal.
 * @param version `v4` models are told how much to reason
 * @throws EngineError `invalid_request` when the transcript cannot be sent
 */
export function toCallOptions(
  request: CompletionRequest,
  version: string,
  remembered: SignedThinkingCache,
  model: string,
  providerOptions: JsonObject,
): JsonObject {
  const turns = cleanMessages(request.messages, acceptedId);
  assertSendable(turnsOfCleanMessages(turns));
  const prompt: JsonObject[] = request.system.trim() === '' ? [] : [{ role: 'system', content: request.system }];
  const toolNames = new Map<string, string>();
  for (const turn of turns) {
    if (turn.role === 'assistant') prompt.push(toAssistant(turn, toolNames, rememberedOf(turn, remembered, model)));
    else prompt.push(...toUser(turn, toolNames));
  }
  const budget = request.thinking_budget ?? 0;
  const options = { ...providerOptions, ...request.extra };
  return {
    prompt,
    maxOutputTokens: request.max_tokens,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.stop_sequences === undefined ? {} : { stopSequences: request.stop_sequences }),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map(({ name, description, input_schema: inputSchema }) => {
            return { type: 'function', name, description, inputSchema };
          }),
          toolChoice: { type: 'auto' },
        }),
    ...(request.response_schema === undefined
      ? {}
      : { responseFormat: { type: 'json', schema: request.response_schema, name: 'answer' } }),
    ...(version === 'v4' && budget > 0 ? { reasoning: efforts[anthropicEffort(budget)] } : {}),
    ...(Object.keys(options).length === 0 ? {} : { providerOptions: options }),
  };
}

function rememberedOf(turn: CleanTurn, remembered: SignedThinkingCache, model: string): SignedThinking | undefined {
  return turn.source === undefined ? undefined : remembered.forTurn(turn.source, model);
}

function toAssistant(
  turn: CleanTurn,
  toolNames: Map<string, string>,
  remembered: SignedThinking | undefined,
): JsonObject {
  const content: JsonObject[] = [];
  const blocks = remembered?.blocks ?? [];
  let next = 0;
  for (const [index, block] of turn.blocks.entries()) {
    const place = turn.places[index] ?? 0;
    for (; next < blocks.length && (remembered?.before?.[next] ?? 0) <= place; next += 1) {
      const part = blocks[next];
      if (part?.['type'] === 'reasoning') content.push(part);
    }
    const options = optionsAt(blocks, place);
    if (block.type === 'text') content.push({ type: 'text', text: block.text, ...options });
    if (block.type === 'tool_use') {
      toolNames.set(block.id, block.name);
      const input = toWellFormedInput(block.input);
      content.push({ type: 'tool-call', toolCallId: block.id, toolName: block.name, input, ...options });
    }
  }
  return { role: 'assistant', content };
}

/** Options a provider attached to the part at this place, to be given back with it. */
function optionsAt(blocks: readonly JsonObject[], place: number): JsonObject {
  const note = blocks.find((block) => block['type'] === 'part-options' && block['place'] === place);
  const options = note?.['providerOptions'];
  return isJsonObject(options) ? { providerOptions: options } : {};
}

function toUser(turn: CleanTurn, toolNames: ReadonlyMap<string, string>): JsonObject[] {
  const results: JsonObject[] = [];
  const texts: JsonObject[] = [];
  for (const block of turn.blocks) {
    if (block.type === 'text') texts.push({ type: 'text', text: block.text });
    if (block.type === 'tool_result') {
      const { tool_use_id: toolCallId, content: value, is_error: isError } = block;
      const output = { type: isError ? 'error-text' : 'text', value };
      results.push({ type: 'tool-result', toolCallId, toolName: toolNames.get(toolCallId) ?? '', output });
    }
  }
  return [
    ...(results.length === 0 ? [] : [{ role: 'tool', content: results }]),
    ...(texts.length === 0 ? [] : [{ role: 'user', content: texts }]),
  ];
}
