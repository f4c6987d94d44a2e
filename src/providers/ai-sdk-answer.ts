import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, toWellFormed } from '../protocol/json.ts';
import type { ContentBlock } from '../protocol/message.ts';
import type { CompletionResponse, OnDelta, SignedThinking, StopReason } from '../protocol/model.ts';
import { createDeltaSink, endedEarly } from './stream-events.ts';
import { toToolUse } from './tool-use.ts';
import { tokenCount } from './usage.ts';

export interface AiSdkAnswer {
  readonly response: CompletionResponse;
  /** What must go back with a tool turn: reasoning parts, and options attached to other parts. */
  readonly remembered: SignedThinking | undefined;
}

export interface AiSdkAssembler {
  /** @throws the error that an error part carries */
  take(part: unknown): void;
  /** @throws EngineError `network` when no finish part came */
  finish(): AiSdkAnswer;
}

/** Puts the stream parts of an AI SDK model (v3 or v4) together; parts of unknown types are passed over. */
export function createAiSdkAssembler(onDelta: OnDelta, requestedModel: string): AiSdkAssembler {
  const send = createDeltaSink(onDelta);
  const parts: OpenPart[] = [];
  let model = requestedModel;
  let finish: JsonObject | undefined;

  function open(kind: 'text' | 'reasoning', id: unknown, isNew: boolean): OpenPart {
    const known = isNew ? undefined : parts.findLast((part) => part.kind === kind && part.id === id);
    if (known !== undefined) return known;
    const part: OpenPart = { kind, id, text: '', call: undefined, options: undefined };
    parts.push(part);
    return part;
  }

  function add(kind: 'text' | 'reasoning', data: JsonObject, isNew: boolean): void {
    const part = open(kind, data['id'], isNew);
    const { delta, providerMetadata } = data;
    if (isJsonObject(providerMetadata)) part.options = { ...part.options, ...providerMetadata };
    if (typeof delta !== 'string') return;
    part.text += delta;
    send(kind === 'text' ? 'text' : 'thinking', delta);
  }

  function take(data: JsonObject): void {
    const type = typeof data['type'] === 'string' ? data['type'] : '';
    const [kind, step] = type.split('-');
    if ((kind === 'text' || kind === 'reasoning') && (step === 'start' || step === 'delta' || step === 'end')) {
      add(kind, data, step === 'start');
    } else if (type === 'tool-call' && data['providerExecuted'] !== true) {
      const { providerMetadata: options } = data;
      parts.push({ kind: 'call', id: '', text: '', call: data, options: isJsonObject(options) ? options : undefined });
    } else if (type === 'response-metadata' && typeof data['modelId'] === 'string') model = data['modelId'];
    else if (type === 'finish') finish = data;
    else if (type === 'error') throw data['error'];
  }

  return {
    take: (part) => {
      if (isJsonObject(part)) take(part);
    },
    finish: () => {
      if (finish === undefined) throw endedEarly();
      return toAnswer(parts, finish, model, requestedModel);
    },
  };
}

interface OpenPart {
  readonly kind: 'text' | 'reasoning' | 'call';
  readonly id: unknown;
  text: string;
  readonly call: JsonObject | undefined;
  options: JsonObject | undefined;
}

function toAnswer(parts: readonly OpenPart[], finish: JsonObject, model: string, requestedModel: string): AiSdkAnswer {
  const content: ContentBlock[] = [];
  const blocks: JsonObject[] = [];
  const before: number[] = [];
  let place = 0;
  let calls = 0;
  const note = (block: JsonObject): void => {
    blocks.push(block);
    before.push(place);
  };
  const stop = toStopReason(
    finish['finishReason'],
    parts.some((part) => part.kind === 'call'),
  );
  for (const [index, part] of parts.entries()) {
    const options = part.options === undefined ? {} : { providerOptions: part.options };
    if (part.kind === 'reasoning') {
      if (part.text !== '') content.push({ type: 'thinking', text: toWellFormed(part.text) });
      if (part.text !== '' || part.options !== undefined) note({ type: 'reasoning', text: part.text, ...options });
      continue;
    }
    if (part.kind === 'text' && part.text === '') continue;
    if (part.options !== undefined) note({ type: 'part-options', place, ...options });
    if (part.call === undefined) content.push({ type: 'text', text: toWellFormed(part.text) });
    else {
      const { toolCallId: id, toolName: name, input } = part.call;
      const isCut = stop === 'max_tokens' && index === parts.length - 1;
      content.push(toToolUse({ id, name, input, ordinal: calls, isCut }));
      calls += 1;
    }
    place += 1;
  }
  const usage = isJsonObject(finish['usage']) ? finish['usage'] : {};
  const { inputTokens: input, outputTokens: output } = usage;
  return {
    response: {
      message: { role: 'assistant', content },
      stop_reason: stop,
      usage: {
        input_tokens: tokenCount(input, 'noCache') || tokenCount(input, 'total'),
        output_tokens: tokenCount(output, 'total'),
        cache_read_tokens: tokenCount(input, 'cacheRead'),
        cache_write_tokens: tokenCount(input, 'cacheWrite'),
      },
      model,
    },
    remembered: blocks.length === 0 ? undefined : { model: requestedModel, blocks, before },
  };
}

function toStopReason(finish: Json | undefined, hasCalls: boolean): StopReason {
  const reason = isJsonObject(finish) ? finish['unified'] : finish;
  if (reason === 'error') throw new EngineError('server_error', 'the model stopped because of an error');
  if (reason === 'length') return 'max_tokens';
  if (hasCalls) return 'tool_use';
  return reason === 'stop' ? 'end_turn' : 'other';
}
