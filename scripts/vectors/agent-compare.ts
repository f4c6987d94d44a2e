import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';

/** Expands the macros of an input: `$repeat` and `$concat`. */
export function expand(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expand);
  if (!isJsonObject(value)) return value;
  const text = expandText(value);
  if (text !== undefined) return text;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, expand(child)]));
}

function expandText(value: JsonObject): string | undefined {
  const keys = Object.keys(value);
  if (keys.length !== 1) return undefined;
  const { $repeat, $concat } = value;
  if (isJsonObject($repeat)) return String($repeat['text']).repeat(Number($repeat['count']));
  if (Array.isArray($concat) && !hasPattern($concat as Json))
    return ($concat as readonly Json[]).map((part) => String(expand(part))).join('');
  return undefined;
}

function hasPattern(value: Json): boolean {
  return JSON.stringify(value).includes('"$match"');
}

/**
 * How `actual` differs from `expected`, as one text, or nothing. Objects are compared on the expected keys only, arrays
 * element by element, strings by the macros `$match`, `$prefix`, `$contains`, `$concat` and `$repeat`.
 */
export function difference(expected: unknown, actual: unknown, path: string): string | undefined {
  if (isJsonObject(expected)) {
    if (Object.keys(expected).some((key) => macros.has(key))) return textDifference(expected, actual, path);
    if (!isJsonObject(actual)) return mismatch(expected, actual, path);
    for (const [key, child] of Object.entries(expected)) {
      const found = difference(child, Object.hasOwn(actual, key) ? actual[key] : undefined, `${path}.${key}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return mismatch(expected, actual, path);
    if (actual.length !== expected.length)
      return `${path}: ${expected.length} entries expected, got ${actual.length} ${shorten(actual)}`;
    for (const [index, child] of expected.entries()) {
      const found = difference(child, actual[index], `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return Object.is(expected, actual) ? undefined : mismatch(expected, actual, path);
}

const macros: ReadonlySet<string> = new Set(['$repeat', '$concat', '$match', '$prefix', '$contains']);

function textDifference(expected: JsonObject, actual: unknown, path: string): string | undefined {
  if (typeof actual !== 'string') return mismatch(expected, actual, path);
  const { $prefix, $contains, ...rest } = expected;
  const matches =
    ($prefix === undefined || actual.startsWith(String(expand($prefix)))) &&
    (!Array.isArray($contains) || $contains.every((part) => actual.includes(String(expand(part))))) &&
    (Object.keys(rest).length === 0 || matchParts(toParts(rest), actual));
  return matches ? undefined : mismatch(expected, actual, path);
}

type Part = string | RegExp;

function toParts(part: unknown): readonly Part[] {
  if (!isJsonObject(part)) return [String(part)];
  if (typeof part['$match'] === 'string') return [new RegExp(`^(?:${part['$match']})$`, 'su')];
  if (isJsonObject(part['$repeat'])) return [String(expand(part))];
  if (Array.isArray(part['$concat'])) return part['$concat'].flatMap(toParts);
  throw new Error(`unknown macro ${JSON.stringify(part)}`);
}

/** Whether the parts, in order, make up the whole text. Literal parts may be too long for one expression. */
function matchParts(parts: readonly Part[], text: string): boolean {
  const [first, ...rest] = parts;
  if (first === undefined) return text === '';
  if (typeof first === 'string') return text.startsWith(first) && matchParts(rest, text.slice(first.length));
  if (rest.length === 0) return first.test(text);
  for (let end = 0; end <= text.length; end += 1) {
    if (typeof rest[0] === 'string') {
      end = text.indexOf(rest[0], end);
      if (end < 0) return false;
    }
    if (first.test(text.slice(0, end)) && matchParts(rest, text.slice(end))) return true;
  }
  return false;
}

/** `<ws>` in an expectation stands for the workspace; in a pattern for its escaped form. */
export function withWorkspace(value: unknown, root: string, isPattern = false): unknown {
  if (typeof value === 'string')
    return value.replaceAll('<ws>', isPattern ? root.replace(/[\\^$.*+?()[\]{}|]/gu, '\\$&') : root);
  if (Array.isArray(value)) return value.map((child) => withWorkspace(child, root));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, withWorkspace(child, root, key === '$match')]),
  );
}

function mismatch(expected: unknown, actual: unknown, path: string): string {
  return `${path}: expected ${shorten(expected)}, got ${shorten(actual)}`;
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? 'nothing' : text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/** Keys of `object` outside `known`: a vector that says more than the player understands must not pass. */
export function unknownKeys(object: object, known: readonly string[]): readonly string[] {
  return Object.keys(object)
    .filter((key) => !known.includes(key))
    .map((key) => `unknown key \`${key}\``);
}

/** An object, or none. */
export function toObject(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A list, or an empty one. */
export function toList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}
