import { isDeeperThan, type JsonObject, toWellFormed } from '../protocol/json.ts';
import { rawArgumentsKey, toToolInput, type ToolUseBlock } from '../protocol/message.ts';
import { toWellFormedInput } from './json-body.ts';

/** A tool call as a provider sent it. */
export interface ReceivedCall {
  readonly id: unknown;
  readonly name: unknown;
  readonly input: unknown;
  /** Its number among the calls of the answer, from 0: names a call that came without an id. */
  readonly ordinal: number;
  /** Whether the output limit ended the answer in this call. */
  readonly isCut: boolean;
}

/** Deepest arguments that are taken, in levels. Source: reliability FR9. */
const maxDepth = 256;

/** A received call as a block of the transcript: with an id, and arguments by the rule of agent-runtime 5.1. */
export function toToolUse(call: ReceivedCall): ToolUseBlock {
  const { id, name, ordinal, isCut } = call;
  const input = decodeToolInput(call.input);
  return {
    type: 'tool_use',
    id: typeof id === 'string' && id !== '' ? toWellFormed(id) : `call_${ordinal}`,
    name: typeof name === 'string' ? toWellFormed(name) : '',
    // why: cut off before its first argument, a call would otherwise run with no arguments at all (reliability AG12)
    input: isCut && Object.keys(input).length === 0 ? { [rawArgumentsKey]: '' } : input,
  };
}

/** Too deep arguments stay text under `_raw`, so that the call is refused and nothing further on has to walk them. */
function decodeToolInput(raw: unknown): JsonObject {
  const input = toToolInput(raw);
  if (Object.keys(input).length === 0) return input;
  const isText = typeof raw === 'string';
  // two characters are the least that one level takes
  const mayBeDeep = !isText || raw.length > 2 * maxDepth;
  if (mayBeDeep && isDeeperThan(input, maxDepth)) {
    return { [rawArgumentsKey]: isText ? toWellFormed(raw) : `arguments nested deeper than ${maxDepth} levels` };
  }
  // an escaped surrogate is the only way in for a lone one besides the text itself
  if (isText && !/\\u[dD]/.test(raw) && raw.isWellFormed()) return input;
  return toWellFormedInput(input);
}
