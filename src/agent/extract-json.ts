import type { Json, JsonObject } from '../protocol/json.ts';
import { isJsonText } from './json-text.ts';

/**
 * The JSON document of an answer (agent-runtime section 10): the whole text, else the last fenced block tagged `json`, else
 * the last untagged one, else the last balanced span that parses. Only objects and arrays count; nothing found is
 * `undefined`. Strict JSON: no comments, no trailing commas, the last of two equal keys wins. Takes linear time.
 */
export function extractJson(text: string): JsonObject | readonly Json[] | undefined {
  const trimmed = text.trim();
  return parseDocument(trimmed, 0, trimmed.length) ?? lastFenced(trimmed) ?? lastSpan(trimmed);
}

// why: checked before it is parsed, because a failing JSON.parse costs 4 µs for its error, and an answer can hold
// hundreds of thousands of brackets that are no JSON
function parseDocument(text: string, start: number, end: number): JsonObject | readonly Json[] | undefined {
  if (end <= start || !isOpener(text.charCodeAt(start)) || !isJsonText(text, start, end)) return undefined;
  return JSON.parse(text.slice(start, end)) as JsonObject | readonly Json[];
}

/** The last fenced document: of those tagged `json`, else of those without a tag. A body ends at the next fence mark. */
function lastFenced(text: string): JsonObject | readonly Json[] | undefined {
  // where each body starts and ends, in order
  const tagged: number[] = [];
  const untagged: number[] = [];
  for (let open = text.indexOf(fence); open >= 0;) {
    const tagStart = open + fence.length;
    const lineEnd = text.indexOf('\n', tagStart);
    const close = lineEnd < 0 ? -1 : text.indexOf(fence, lineEnd + 1);
    if (close < 0) break;
    const tag = lineEnd === tagStart ? '' : text.slice(tagStart, lineEnd).trim();
    if (tag === '') untagged.push(lineEnd + 1, close);
    else if (tag.length === 4 && tag.toLowerCase() === 'json') tagged.push(lineEnd + 1, close);
    open = text.indexOf(fence, close + fence.length);
  }
  for (const bodies of [tagged, untagged]) {
    for (let index = bodies.length - 2; index >= 0; index -= 2) {
      const body = text.slice(bodies[index], bodies[index + 1]).trim();
      const document = parseDocument(body, 0, body.length);
      if (document !== undefined) return document;
    }
  }
  return undefined;
}

/**
 * The last outermost balanced span that is a document. Spans run from left to right; a bracket without an end (wrong closer,
 * end of the text) is passed over and the search goes on one character later.
 */
function lastSpan(text: string): JsonObject | readonly Json[] | undefined {
  // why: behind the last closer no span can end; most texts with many openers and few closers are done here
  const n = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1;
  const next = nextClosers(text, n);
  let last = -1;
  for (let p = 0; p < n; p += 1) {
    const end = isOpener(text.charCodeAt(p)) ? endOfSpan(text, next, p, n) : -1;
    if (end < 0) continue;
    // why: the entry of an outermost opener is not read again, so it can hold the way back to the span before
    next[p] = last;
    last = p;
    p = end;
  }
  for (let start = last; start >= 0; start = next[start] ?? -1) {
    const document = parseDocument(text, start, endOfSpan(text, next, start, n) + 1);
    if (document !== undefined) return document;
  }
  return undefined;
}

function endOfSpan(text: string, next: Int32Array, open: number, n: number): number {
  const closer = next[open + 1] ?? n;
  if (closer === n) return -1;
  return text.charCodeAt(closer) === text.charCodeAt(open) + 2 ? closer : -1;
}

/**
 * For each position: where a walk that starts there, outside of strings, meets the first closer it has no opener for, or `n`
 * when it never does before there. An opener at `p` ends at the closer for `p + 1`, if that has its kind. Filled from the
 * right, so that no text is walked twice.
 */
function nextClosers(text: string, n: number): Int32Array {
  const next = new Int32Array(n + 2).fill(n);
  let closer = n; // for p + 1, then for p
  let quote = n; // where a string ends that is open at p + 1
  let quoteAfter = n; // the same for p + 2, behind an escaped character
  for (let p = n - 1; p >= 0; p -= 1) {
    const unit = text.charCodeAt(p);
    let quoteHere = quote;
    if (isOpener(unit)) {
      // why: a closer follows its opener by two in both pairs of code units
      const isSpan = closer !== n && text.charCodeAt(closer) === unit + 2;
      closer = isSpan ? (next[closer + 1] ?? n) : n;
    } else if (unit === closeBrace || unit === closeBracket) closer = p;
    else if (unit === backslash) quoteHere = quoteAfter;
    else if (unit === doubleQuote) {
      closer = quote === n ? n : (next[quote + 1] ?? n);
      quoteHere = p;
    }
    next[p] = closer;
    quoteAfter = quote;
    quote = quoteHere;
  }
  return next;
}

function isOpener(unit: number): boolean {
  return unit === openBrace || unit === openBracket;
}

const fence = '```';
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const doubleQuote = 0x22;
const backslash = 0x5c;
