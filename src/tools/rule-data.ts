import { canonicalJson } from '../protocol/canonical.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import type { JudgedArgument } from './rule-judgement.ts';
import { escapeWildcards, matchesWildcard, parseWildcard } from './wildcards.ts';

/**
 * An input whose meaning only its tool knows, as plugins and MCP servers have it. `key=pattern` is about one property of
 * the input, anything else about the whole of it as compact JSON with sorted keys. What forbids or asks also looks at every
 * text anywhere in the input; a lone text may be allowed without its key.
 */
export function openDataArgument(input: JsonObject): JudgedArgument {
  const json = canonicalJson(input);
  const texts = textsOf(input);
  const entries = Object.values(input);
  const [only] = entries;
  const lone = entries.length === 1 && typeof only === 'string' ? only : undefined;

  function named(pattern: string): boolean | undefined {
    const found = /^([\w.-]+)=/.exec(pattern);
    const key = found?.[1];
    if (key === undefined) return undefined;
    const value = ownValue(input, key);
    if (value === undefined) return false;
    const text = typeof value === 'string' ? value : canonicalJson(value);
    return matchesWildcard(parseWildcard(pattern.slice(key.length + 1)), text);
  }

  function isCovered(pattern: string): boolean {
    const wildcard = parseWildcard(pattern);
    if (matchesWildcard(wildcard, json)) return true;
    return named(pattern) ?? (lone !== undefined && matchesWildcard(wildcard, lone));
  }

  return {
    mayBe(pattern) {
      const wildcard = parseWildcard(pattern);
      return named(pattern) === true || [json, ...texts].some((text) => matchesWildcard(wildcard, text));
    },
    isCoveredBy: (patterns) => patterns.some(isCovered),
    exact: escapeWildcards(json),
  };
}

/** Every text of a value at any depth, keys included. */
function textsOf(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap((item: Json) => textsOf(item));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsOf(item as Json)]);
}
