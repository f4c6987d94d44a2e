import { EngineError, messageOf } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import { toToolInput } from '../protocol/message.ts';

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

/** An input without lone surrogates; itself when it has none. */
export function toWellFormedInput(input: JsonObject): JsonObject {
  const json = JSON.stringify(input);
  return json.includes('\\ud') ? toToolInput(replaceLoneSurrogates(json)) : input;
}
