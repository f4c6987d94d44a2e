import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';

/** Values of `{{name}}` in configurations and expectations. */
export type Places = ReadonlyMap<string, string>;

/** Fills places into every string of a value; keys stay. */
export function fillPlaces(value: unknown, places: Places): unknown {
  if (typeof value === 'string') return fillText(value, places, (text) => text);
  if (Array.isArray(value)) return value.map((item) => fillPlaces(item, places));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillPlaces(item, places)]));
}

function fillText(text: string, places: Places, quote: (value: string) => string): string {
  return text.replace(/\{\{([^{}]+)\}\}/g, (whole, name: string) => {
    const value = places.get(name);
    return value === undefined ? whole : quote(value);
  });
}

/** Expands `{"$repeat": "x", "count": n}` of inputs. */
export function expandInput(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expandInput);
  if (!isJsonObject(value)) return value;
  const { $repeat: unit, count } = value;
  if (typeof unit === 'string' && typeof count === 'number') return unit.repeat(count);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expandInput(item)]));
}

/** What keeps a value from matching a pattern (README of the VPP vectors, Patterns); undefined when it matches. */
export function mismatch(pattern: unknown, value: unknown, places: Places, path = '$'): string | undefined {
  if (Array.isArray(pattern)) return mismatchArray(pattern, value, places, path);
  if (isJsonObject(pattern)) {
    const [operator] = Object.keys(pattern);
    if (operator?.startsWith('$') === true) return mismatchOperator(operator, pattern, value, places, path);
    return mismatchObject(pattern, value, places, path);
  }
  const expected = typeof pattern === 'string' ? fillText(pattern, places, (text) => text) : pattern;
  return isDeepStrictEqual(expected, value) ? undefined : differs(path, expected, value);
}

function mismatchArray(pattern: readonly unknown[], value: unknown, places: Places, path: string): string | undefined {
  if (!Array.isArray(value)) return differs(path, pattern, value);
  if (value.length !== pattern.length) return `${path}: expected ${pattern.length} elements, got ${show(value)}`;
  for (const [index, item] of pattern.entries()) {
    const found = mismatch(item, value[index], places, `${path}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function mismatchObject(pattern: JsonObject, value: unknown, places: Places, path: string): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return differs(path, pattern, value);
  for (const [key, item] of Object.entries(pattern)) {
    const isPresent = Object.hasOwn(value, key);
    const actual = isPresent ? (value as Record<string, unknown>)[key] : undefined;
    if (isJsonObject(item) && item['$absent'] === true) {
      if (isPresent && actual !== undefined) return `${path}.${key}: expected to be absent, got ${show(actual)}`;
      continue;
    }
    if (!isPresent) return `${path}.${key}: missing in ${show(value)}`;
    const found = mismatch(item, actual, places, `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function mismatchOperator(
  operator: string,
  pattern: JsonObject,
  value: unknown,
  places: Places,
  path: string,
): string | undefined {
  const operand: unknown = pattern[operator];
  switch (operator) {
    case '$exact': {
      const expected = fillPlaces(operand, places);
      return isDeepStrictEqual(expected, toPlain(value)) ? undefined : differs(path, expected, value);
    }
    case '$any':
      return value === undefined ? `${path}: expected to be present` : undefined;
    case '$absent':
      return value === undefined ? undefined : `${path}: expected to be absent`;
    case '$oneOf': {
      const options = Array.isArray(operand) ? operand : [];
      return options.some((option) => mismatch(option, value, places) === undefined)
        ? undefined
        : differs(path, pattern, value);
    }
    case '$re': {
      const source = fillText(String(operand), places, (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      const isMatch = typeof value === 'string' && new RegExp(source, 's').test(value);
      return isMatch ? undefined : differs(path, pattern, value);
    }
    case '$len': {
      const length = typeof value === 'string' || Array.isArray(value) ? value.length : undefined;
      return length === operand ? undefined : `${path}: expected length ${show(operand)}, got ${show(length)}`;
    }
    case '$contains': {
      const wanted = Array.isArray(operand) ? operand : [];
      const items = Array.isArray(value) ? value : [];
      const missing = wanted.find((item) => !items.some((entry) => mismatch(item, entry, places) === undefined));
      return missing === undefined ? undefined : `${path}: nothing matches ${show(missing)} in ${show(value)}`;
    }
    case '$jsonText': {
      if (typeof value !== 'string') return differs(path, pattern, value);
      return mismatch(operand, JSON.parse(value), places, `${path}(json)`);
    }
    case '$repeat': {
      if (!isJsonObject(operand)) throw new Error('$repeat needs unit and count');
      const expected = textOf(operand['unit']).repeat(Number(operand['count']));
      return value === expected ? undefined : `${path}: expected a repetition of length ${expected.length}`;
    }
    default:
      throw new Error(`unknown pattern ${operator}`);
  }
}

/** Patterns that match, in order, some of the values; the first that finds no place. */
export function missingInOrder(patterns: readonly unknown[], values: readonly unknown[], places: Places): unknown {
  let next = 0;
  for (const pattern of patterns) {
    while (next < values.length && mismatch(pattern, values[next], places) !== undefined) next += 1;
    if (next >= values.length) return pattern;
    next += 1;
  }
  return undefined;
}

function toPlain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function differs(path: string, expected: unknown, value: unknown): string {
  return `${path}: expected ${show(expected)}, got ${show(value)}`;
}

/** A text as it is; anything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
