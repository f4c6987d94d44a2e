import { EngineError, type ErrorKind, errorKinds } from '../protocol/error.ts';
import { isJsonObject, type JsonObject, ownValue } from '../protocol/json.ts';
import { type ContentBlock, type Message, toToolInput, type ToolUseBlock, type Usage } from '../protocol/message.ts';
import type { StopReason, StreamDelta } from '../protocol/model.ts';

/** One entry of a script, ready to be played. */
export interface ScriptEntry {
  readonly outcome: ScriptAnswer | ScriptFailure;
  /** Sent before the outcome by the streaming form; absent = none were written down. */
  readonly deltas: readonly StreamDelta[] | undefined;
  readonly delayMs: number;
}

export interface ScriptAnswer {
  readonly kind: 'answer';
  readonly message: Message;
  readonly stopReason: StopReason;
  readonly usage: Usage;
}

export interface ScriptFailure {
  readonly kind: 'failure';
  readonly errorKind: ErrorKind;
  readonly text: string;
  readonly retryAfterMs: number | undefined;
}

const entryKeys: ReadonlySet<string> = new Set([
  'text',
  'thinking',
  'tool_calls',
  'content',
  'stop_reason',
  'usage',
  'deltas',
  'error',
  'delay_ms',
  // why: played by whoever drives the run; the entry itself answers as usual
  'cancel_during',
]);
const stopReasons: readonly StopReason[] = ['end_turn', 'tool_use', 'max_tokens', 'stop_sequence', 'other'];
const usualUsage: Usage = { input_tokens: 10, output_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0 };

/**
 * Reads one script entry (the table "Scripted provider" of the agent vectors).
 * @throws EngineError `config` for an unknown key or a wrong type, naming the entry by its position
 */
export function parseScriptEntry(raw: unknown, position: number): ScriptEntry {
  const refuse = (what: string): EngineError => new EngineError('config', `script entry ${position}: ${what}`);
  if (!isJsonObject(raw)) throw refuse('not an object');
  for (const key of Object.keys(raw)) if (!entryKeys.has(key)) throw refuse(`unknown key \`${key}\``);

  const delayMs = raw['delay_ms'] ?? 0;
  if (typeof delayMs !== 'number' || !(delayMs >= 0)) throw refuse('`delay_ms` must be a number, 0 or more');
  const deltas = readDeltas(raw['deltas'], refuse);
  const error = raw['error'];
  if (error !== undefined) return { outcome: readFailure(error, refuse), deltas, delayMs };

  const content = readContent(raw, refuse);
  const usual: StopReason = content.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';
  const stopReason = stopReasons.find((reason) => reason === (raw['stop_reason'] ?? usual));
  if (stopReason === undefined) throw refuse(`unknown \`stop_reason\` ${JSON.stringify(raw['stop_reason'])}`);
  const message: Message = { role: 'assistant', content };
  return {
    outcome: { kind: 'answer', message, stopReason, usage: readUsage(raw['usage'], refuse) },
    deltas,
    delayMs,
  };
}

type Refuse = (what: string) => EngineError;

function readFailure(error: unknown, refuse: Refuse): ScriptFailure {
  if (!isJsonObject(error)) throw refuse('`error` must be an object');
  const errorKind = errorKinds.find((kind) => kind === error['kind']);
  if (errorKind === undefined) throw refuse(`unknown error kind ${JSON.stringify(error['kind'])}`);
  const text = error['message'] ?? '';
  const retryAfterMs = error['retry_after_ms'] ?? undefined;
  if (typeof text !== 'string') throw refuse('`error.message` must be a string');
  if (retryAfterMs !== undefined && typeof retryAfterMs !== 'number') {
    throw refuse('`error.retry_after_ms` must be a number');
  }
  return { kind: 'failure', errorKind, text, retryAfterMs };
}

function readContent(entry: JsonObject, refuse: Refuse): readonly ContentBlock[] {
  const { content, thinking, text, tool_calls: calls } = entry;
  if (content !== undefined) {
    if (!Array.isArray(content)) throw refuse('`content` must be an array');
    return content.map((block) => readBlock(block, refuse));
  }
  const blocks: ContentBlock[] = [];
  if (thinking !== undefined) blocks.push({ type: 'thinking', text: readText(thinking, 'thinking', refuse) });
  if (text !== undefined) blocks.push({ type: 'text', text: readText(text, 'text', refuse) });
  if (calls !== undefined) {
    if (!Array.isArray(calls)) throw refuse('`tool_calls` must be an array');
    for (const call of calls) blocks.push(readCall(call, refuse));
  }
  return blocks;
}

function readBlock(block: unknown, refuse: Refuse): ContentBlock {
  if (!isJsonObject(block)) throw refuse('a content block must be an object');
  const type = block['type'];
  if (type === 'text' || type === 'thinking') return { type, text: readText(block['text'], 'text', refuse) };
  if (type === 'tool_use') return readCall(block, refuse);
  throw refuse(`unknown content block type ${JSON.stringify(type)}`);
}

function readCall(call: unknown, refuse: Refuse): ToolUseBlock {
  if (!isJsonObject(call)) throw refuse('a tool call must be an object');
  // `input` is the value a provider decoded, `arguments` what it still has to decode; one rule covers both
  const raw = ownValue(call, 'arguments') ?? ownValue(call, 'input');
  return {
    type: 'tool_use',
    id: readText(call['id'] ?? '', 'id', refuse),
    name: readText(call['name'], 'name', refuse),
    input: toToolInput(raw),
  };
}

function readUsage(raw: unknown, refuse: Refuse): Usage {
  if (raw === undefined) return usualUsage;
  if (!isJsonObject(raw)) throw refuse('`usage` must be an object');
  const usage = { ...usualUsage, ...raw };
  for (const [key, value] of Object.entries(usage)) {
    if (!Object.hasOwn(usualUsage, key)) throw refuse(`unknown usage field \`${key}\``);
    if (typeof value !== 'number') throw refuse(`usage field \`${key}\` must be a number`);
  }
  return usage;
}

function readDeltas(raw: unknown, refuse: Refuse): readonly StreamDelta[] | undefined {
  if (raw === undefined) return undefined;
  if (!Array.isArray(raw)) throw refuse('`deltas` must be an array');
  return raw.map((delta: unknown): StreamDelta => {
    if (!isJsonObject(delta)) throw refuse('a delta must be an object');
    const { kind } = delta;
    if (kind !== 'text' && kind !== 'thinking') throw refuse(`unknown delta kind ${JSON.stringify(kind)}`);
    return { kind, text: readText(delta['text'], 'text', refuse) };
  });
}

function readText(value: unknown, key: string, refuse: Refuse): string {
  if (typeof value !== 'string') throw refuse(`\`${key}\` must be a string`);
  return value;
}
