import { EngineError, type ErrorKind } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, toWellFormed } from '../protocol/json.ts';
import { rawArgumentsKey } from '../protocol/message.ts';
import type { OnDelta } from '../protocol/model.ts';
import { scrubSecrets } from './scrub.ts';
import { createDeltaSink, endedEarly, parseEventData, type StreamAssembler } from './stream-events.ts';

/** Reads the event stream of the Messages API. */
export function createAnthropicAssembler(onDelta: OnDelta): StreamAssembler {
  const send = createDeltaSink(onDelta);
  const blocks = new Map<number, OpenBlock>();
  let head: JsonObject = {};
  let tail: JsonObject = {};
  const usage: Record<string, Json> = {};
  let isClosed = false;

  function addDelta(index: number, delta: JsonObject): void {
    let block = blocks.get(index);
    if (block === undefined) blocks.set(index, (block = openBlock({})));
    const take = (key: string): string => textOf(delta, key);
    switch (take('type')) {
      case 'text_delta':
        block.text += take('text');
        send('text', take('text'));
        break;
      case 'thinking_delta':
        block.thinking += take('thinking');
        send('thinking', take('thinking'));
        break;
      case 'signature_delta':
        block.signature += take('signature');
        break;
      case 'input_json_delta':
        block.json += take('partial_json');
        break;
      default:
      // deltas of later versions and of blocks we do not keep
    }
  }

  function take(type: unknown, data: JsonObject): boolean {
    const index = typeof data['index'] === 'number' ? data['index'] : 0;
    switch (type) {
      case 'ping':
        return false;
      case 'message_start':
        if (isJsonObject(data['message'])) head = data['message'];
        mergeCounts(usage, head['usage']);
        return true;
      case 'content_block_start':
        if (isJsonObject(data['content_block'])) {
          const block = openBlock(data['content_block']);
          blocks.set(index, block);
          send('thinking', block.thinking);
          send('text', block.text);
        }
        return true;
      case 'content_block_delta':
        if (isJsonObject(data['delta'])) addDelta(index, data['delta']);
        return true;
      case 'content_block_stop': {
        const block = blocks.get(index);
        if (block !== undefined) block.isClosed = true;
        return true;
      }
      case 'message_delta':
        if (isJsonObject(data['delta'])) tail = data['delta'];
        mergeCounts(usage, data['usage']);
        return true;
      case 'message_stop':
        isClosed = true;
        return true;
      case 'error':
        throw toStreamError(data['error']);
      default:
        return true;
    }
  }

  return {
    take: (event) => {
      const data = parseEventData(event.data);
      return isJsonObject(data) ? take(data['type'] ?? event.event, data) : true;
    },
    isClosed: () => isClosed,
    finish: () => {
      if (!isClosed) throw endedEarly();
      return { ...head, ...tail, usage, content: [...blocks.values()].map(closeBlock) };
    },
  };
}

/** A block that is still being written: as it started, and what came after. */
interface OpenBlock {
  readonly start: JsonObject;
  text: string;
  thinking: string;
  signature: string;
  json: string;
  isClosed: boolean;
}

function openBlock(start: JsonObject): OpenBlock {
  const take = (key: string): string => textOf(start, key);
  return {
    start,
    text: take('text'),
    thinking: take('thinking'),
    signature: take('signature'),
    json: '',
    isClosed: false,
  };
}

function closeBlock(block: OpenBlock): JsonObject {
  const { start, text, thinking, signature, json } = block;
  const type = textOf(start, 'type');
  if (type === 'text') return { ...start, text };
  if (type === 'thinking') return { ...start, thinking, signature };
  if (type === 'tool_use') return { ...start, input: toInput(block) };
  if (type !== '') return start;
  // a block without a start: what it holds tells what it is
  if (thinking !== '') return { type: 'thinking', thinking, signature };
  return json === '' ? { type: 'text', text } : { type: 'tool_use', input: json };
}

function textOf(data: JsonObject, key: string): string {
  const value = data[key];
  return typeof value === 'string' ? value : '';
}

/** The arguments of a call that was never closed stay text, whatever they look like (reliability AG12). */
function toInput(block: OpenBlock): Json {
  if (!block.isClosed) return { [rawArgumentsKey]: toWellFormed(block.json) };
  return block.json === '' ? (block.start['input'] ?? null) : block.json;
}

/** Later counts replace earlier ones; the API repeats them as running totals. */
function mergeCounts(usage: Record<string, Json>, counts: unknown): void {
  if (!isJsonObject(counts)) return;
  for (const [key, count] of Object.entries(counts)) if (typeof count === 'number') usage[key] = count;
}

const errorKinds: ReadonlyMap<unknown, ErrorKind> = new Map<unknown, ErrorKind>([
  ['overloaded_error', 'server_error'],
  ['api_error', 'server_error'],
  ['rate_limit_error', 'rate_limited'],
]);

/** An error event, also when it stands alone in a body with status 200. */
export function toStreamError(error: unknown): EngineError {
  const type = isJsonObject(error) ? error['type'] : undefined;
  const message = isJsonObject(error) ? error['message'] : error;
  const text = typeof message === 'string' ? message : 'unknown error';
  return new EngineError(
    errorKinds.get(type) ?? 'other',
    `stream error: ${scrubSecrets(toWellFormed(text))}`,
    type === 'overloaded_error' ? { code: 'overloaded' } : {},
  );
}
