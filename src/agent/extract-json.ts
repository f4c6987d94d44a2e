import type { Json, JsonObject } from '../protocol/json.ts';
import { closerOf, isOpener } from './code-units.ts';
import { createJsonSpans, type JsonSpans } from './json-spans.ts';
import { isJsonText } from './json-text.ts';

export type JsonDocument = JsonObject | readonly Json[];

/**
 * The JSON document of an answer (agent-runtime section 10): the whole text, else the last fenced block tagged `json`, else
 * the last untagged one, else the last balanced span that parses. Only objects and arrays count; nothing found is
 * `undefined`. Strict JSON: no comments, no trailing commas, the last of two equal keys wins. Takes linear time.
 */
export function extractJson(text: string): JsonDocument | undefined {
  const trimmed = text.trim();
  const spans = createJsonSpans(trimmed);
  return (
    wholeDocument(trimmed, spans) ??
    lastFenced(trimmed) ??
    spans.findLast((start, end) => parseDocument(trimmed, start, end + 1))
  );
}

function wholeDocument(text: string, spans: JsonSpans): JsonDocument | undefined {
  if (!hasOuterBrackets(text, 0, text.length)) return undefined;
  // why: looked at before it is parsed, because a text that lacks its last bracket would be built and thrown away
  const last = spans.findLast((start, end) => ({ start, end }));
  return last?.start === 0 && last.end === text.length - 1 ? parseDocument(text, 0, text.length) : undefined;
}

/** The last fenced document: of those tagged `json`, else of those without a tag. A body ends at the next fence mark. */
function lastFenced(text: string): JsonDocument | undefined {
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

function parseDocument(text: string, start: number, end: number): JsonDocument | undefined {
  if (!hasOuterBrackets(text, start, end)) return undefined;
  // why: a failing JSON.parse costs some 4 µs for its error, which is much for a few characters, and an answer can hold
  // hundreds of thousands of short spans that are no JSON
  if (end - start < longText && !isJsonText(text, start, end)) return undefined;
  try {
    return JSON.parse(text.slice(start, end)) as JsonDocument;
  } catch {
    return undefined; // no JSON, so no document
  }
}

function hasOuterBrackets(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start);
  return end > start && isOpener(first) && text.charCodeAt(end - 1) === closerOf(first);
}

const fence = '```';
/** Characters from which on the error of JSON.parse costs little beside reading them. */
const longText = 1_024;
