import { countCharacters, firstCharacters } from '../protocol/json.ts';
import type { LineSource } from './line-source.ts';

export type GrepMode = 'files' | 'content' | 'count';

/** Longest output, in characters; longest line of a file in it (agent-runtime 16). */
export const maxGrepCharacters = 30_000;
const maxLineCharacters = 500;

/** What was found in one file. */
export interface GrepBlock {
  /** Place of the file in the order of the output. */
  readonly path: string;
  readonly lines: readonly string[];
  readonly matches: number;
}

/** Collects what is found, file by file, until an output would be full. */
export interface GrepReport {
  readonly blocks: readonly GrepBlock[];
  readonly isFull: boolean;
  /** Begins a file. */
  open(path: string): void;
  /** A matching line. @returns false when no more of this file is needed */
  add(source: LineSource, start: number, end: number): boolean;
  close(): void;
}

/** @param show how the output names the file at a path */
export function createGrepReport(mode: GrepMode, context: number, show: (path: string) => string): GrepReport {
  const blocks: GrepBlock[] = [];
  /** Of the lines joined by newlines. */
  let characters = -1;
  let isFull = false;
  let path = '';
  let shown = '';
  let lines: string[] = [];
  let matches = 0;
  let place: Place | undefined;

  function push(line: string): void {
    lines.push(line);
    characters += countCharacters(line) + 1;
    isFull ||= characters > maxGrepCharacters;
  }

  function pushLine(mark: ':' | '-', number: number, text: string): void {
    const kept = text.length > maxLineCharacters ? firstCharacters(text, maxLineCharacters) : text;
    push(`${shown}${mark}${number}${mark}${kept}${kept.length < text.length ? '…' : ''}`);
  }

  /** Shows lines up to `end` that follow the last match, at most `count`. */
  function showAfter(at: Place, end: number, count: number): void {
    for (let seen = 0; seen < count && at.start < end && !isFull; seen += 1) {
      const stop = at.source.lineEnd(at.start);
      pushLine('-', at.number, at.source.line(at.start, stop));
      at.start = stop + 1;
      at.number += 1;
    }
  }

  function showMatch(source: LineSource, start: number, end: number): void {
    const at = (place ??= { source, start: 0, number: 1, shownTo: 0 });
    const isFirst = matches === 1;
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
    blocks,
    get isFull() {
      return isFull;
    },
    open(at) {
      path = at;
      lines = [];
      matches = 0;
      place = undefined;
    },
    add(source, start, end) {
      matches += 1;
      if (matches === 1) shown = show(path);
      if (mode === 'content') showMatch(source, start, end);
      return mode !== 'files' && !isFull;
    },
    close() {
      if (matches === 0) return;
      if (mode === 'files') push(shown);
      else if (mode === 'count') push(`${shown}:${matches}`);
      else if (place !== undefined) showAfter(place, place.source.length, context);
      blocks.push({ path, lines, matches });
    },
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

/** Start of the line `count` lines above `start`, not above `limit`, where a line starts too. */
function firstBefore(source: LineSource, start: number, count: number, limit: number): number {
  let from = start;
  for (let step = 0; step < count && from > limit; step += 1) from = source.lineStart(from - 1);
  return from;
}

function countLines(source: LineSource, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at = source.lineEnd(at) + 1) count += 1;
  return count;
}
