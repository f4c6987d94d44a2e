/** JSON as data. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own property of foreign data; inherited names (`constructor`, `__proto__`) do not exist. */
export function ownValue(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}

/**
 * Whether a value nests deeper than `limit` levels (an outermost object or array is level 1). Without recursion, so that
 * hostile depth cannot overflow the stack: V8 parses 100 000 levels but throws on 5 000 when it writes or clones them.
 */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > limit) return true;
    const next: object[] = [];
    for (const node of level) {
      for (const child of Object.values(node)) {
        if (typeof child === 'object' && child !== null) next.push(child as object);
      }
    }
    level = next;
  }
  return false;
}

/** Lone surrogates become U+FFFD: such text cannot be written as UTF-8. */
export function toWellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** The number of Unicode code points. */
export function countCharacters(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const next = text.charCodeAt(index + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        count -= 1;
        index += 1;
      }
    }
  }
  return count;
}

/** The first `limit` code points; never cuts inside one. */
export function firstCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let index = 0;
  for (let taken = 0; taken < limit && index < text.length; taken += 1) {
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(0, index);
}

/** The last `limit` code points; never cuts inside one. */
export function lastCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let index = text.length;
  for (let taken = 0; taken < limit && index > 0; taken += 1) {
    const low = text.charCodeAt(index - 1);
    const high = index > 1 ? text.charCodeAt(index - 2) : 0;
    index -= low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff ? 2 : 1;
  }
  return text.slice(index);
}
