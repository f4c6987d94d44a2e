import { countCharacters, firstCharacters } from '../protocol/json.ts';
import type { LineSource } from './line-source.ts';

export type GrepMode = 'files' | 'content' | 'count';

/** Longest output, in characters; longest line of a file in it. */
const maxCharacters = 30_000;
const maxLineCharacters = 500;

export interface GrepReport {
  readonly files: number;
  readonly matches: number;
  readonly isFull: boolean;
  /** Begins a file; `path` as it is shown. */
  open(path: string): void;
  /** A matching line. @returns false when no more of this file is needed */
  add(source: LineSource, start: number, end: number): boolean;
  close(): void;
  text(): string;
}

/** Collects the result of a search in one of three forms, up to the limit of an output (agent-runtime 16). */
export function createGrepReport(mode: GrepMode, context: number): GrepReport {
  const lines: string[] = [];
  let characters = 0;
  let isFull = false;
  let files = 0;
  let matches = 0;
  let path = '';
  let found = 0;
  let place: Place | undefined;

  function push(line: string): boolean {
    characters += countCharacters(line) + (lines.length === 0 ? 0 : 1);
    if (characters > maxCharacters) isFull = true;
    else lines.push(line);
    return !isFull;
  }

  function pushLine(mark: ':' | '-', number: number, text: string): boolean {
    const shown = text.length > maxLineCharacters ? firstCharacters(text, maxLineCharacters) : text;
    return push(`${path}${mark}${number}${mark}${shown}${shown.length < text.length ? '…' : ''}`);
  }

  /** Shows lines up to `end` that follow the last match, at most `count`. */
  function showAfter(at: Place, end: number, count: number): void {
    for (let shown = 0; shown < count && at.start < end && !isFull; shown += 1) {
      const stop = at.source.lineEnd(at.start);
      pushLine('-', at.number, at.source.line(at.start, stop));
      at.start = stop + 1;
      at.number += 1;
    }
  }

  function showMatch(source: LineSource, start: number, end: number): void {
    const at = (place ??= { source, start: 0, number: 1, shownTo: 0 });
    const isFirst = found === 1;
    if (!isFirst && context > 0) {
      showAfter(at, start, context);
      at.shownTo = at.start;
    }
    const from = firstBefore(source, start, context, at.shownTo);
    if (!isFirst && context > 0 && from > at.start) push('--');
    at.number += countLines(source, at.start, from);
    at.start = from;
    showAfter(at, start, context);
    at.number += countLines(source, at.start, start);
    pushLine(':', at.number, source.line(start, end));
    at.start = end + 1;
    at.number += 1;
    at.shownTo = at.start;
  }

  return {
    get files() {
      return files;
    },
    get matches() {
      return matches;
    },
    get isFull() {
      return isFull;
    },
    open(shown) {
      path = shown;
      found = 0;
      place = undefined;
    },
    add(source, start, end) {
      found += 1;
      matches += 1;
      if (mode === 'content') showMatch(source, start, end);
      return mode !== 'files' && !isFull;
    },
    close() {
      if (found === 0) return;
      files += 1;
      if (mode === 'files') push(path);
      else if (mode === 'count') push(`${path}:${found}`);
      else if (place !== undefined) showAfter(place, place.source.length, context);
    },
    text: () => lines.join('\n'),
  };
}

/** Where the report stands in a file: the next line not shown or passed over. */
interface Place {
  readonly source: LineSource;
  start: number;
  number: number;
  /** Lines before this were shown. */
  shownTo: number;
}

/** Start of the line `count` lines above `start`, not above `limit`. */
function firstBefore(source: LineSource, start: number, count: number, limit: number): number {
  let from = start;
  for (let step = 0; step < count && from > limit; step += 1) from = source.lineStart(from - 1);
  return Math.max(from, limit);
}

function countLines(source: LineSource, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at = source.lineEnd(at) + 1) count += 1;
  return count;
}
