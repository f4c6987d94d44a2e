import { EngineError, messageOf } from '../protocol/error.ts';
import { isDeeperThan, type JsonObject, toWellFormed } from '../protocol/json.ts';
import { rawArgumentsKey, toToolInput } from '../protocol/message.ts';

/**
 * A request body as JSON text. Lone surrogates anywhere in it, keys included, become U+FFFD: providers refuse the rest
 * of the text with them.
 * @throws EngineError `invalid_request` when the body cannot be written, for instance because it nests too deeply
 */
export function encodeBody(body: JsonObject): string {
  try {
    return replaceLoneSurrogates(JSON.stringify(body));
  } catch (cause) {
    throw new EngineError('invalid_request', `the request cannot be written as JSON: ${messageOf(cause)}`, { cause });
  }
}

// JSON.stringify escapes exactly the surrogates that stand alone; the second branch steps over every other escape, so
// that an escaped backslash in front of `ud800` is not taken for one
const escapes = /\\(?:u(d[89a-f][0-9a-f]{2})|[^])/g;

function replaceLoneSurrogates(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(escapes, (whole: string, lone: string | undefined) => (lone === undefined ? whole : '\ufffd'));
}

/** Deepest arguments of a tool call that are taken, in levels. Source: reliability FR9. */
const maxDepth = 256;

/**
 * Arguments of a tool call as a provider sent them, by the rule of agent-runtime 5.1. Too deep ones stay text under
 * `_raw`, so that the call is refused and nothing further on has to walk them.
 */
export function decodeToolInput(raw: unknown): JsonObject {
  const input = toToolInput(raw);
  if (Object.keys(input).length === 0) return input;
  // two characters are the least that one level takes
  const mayBeDeep = typeof raw !== 'string' || raw.length > 2 * maxDepth;
  if (mayBeDeep && isDeeperThan(input, maxDepth)) {
    return {
      [rawArgumentsKey]: typeof raw === 'string' ? toWellFormed(raw) : `arguments nested deeper than ${maxDepth}`,
    };
  }
  if (typeof raw === 'string' && !/\\u[dD]/.test(raw) && raw.isWellFormed()) return input;
  const json = JSON.stringify(input);
  return json.includes('\\ud') ? toToolInput(replaceLoneSurrogates(json)) : input;
}
