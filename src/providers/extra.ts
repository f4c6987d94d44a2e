import { EngineError } from '../protocol/error.ts';
import type { Json, JsonObject } from '../protocol/json.ts';

/**
 * A body with the opaque provider options under its computed fields: an option never overrides what was computed, and
 * never decides whether the answer is streamed.
 * @param ownKeys options that steer the provider itself and are not sent
 */
export function mergeExtra(extra: JsonObject, ownKeys: readonly string[], computed: JsonObject): JsonObject {
  const names = Object.keys(extra);
  if (names.length === 0) return computed;
  const hidden = new Set([...ownKeys, 'stream', 'stream_options']);
  const body: Record<string, Json> = {};
  for (const name of names) {
    const value = extra[name];
    if (value !== undefined && !hidden.has(name) && name !== '__proto__') body[name] = value;
  }
  return { ...body, ...computed };
}

/**
 * An option that is on or off.
 * @throws EngineError `config` when it is neither
 */
export function flag(extra: JsonObject, name: string, usual: boolean): boolean {
  const value = extra[name] ?? usual;
  if (typeof value === 'boolean') return value;
  throw new EngineError('config', `\`extra.${name}\` must be true or false, not ${JSON.stringify(value)}`);
}
