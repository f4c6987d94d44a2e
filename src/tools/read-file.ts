import { closeSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { firstCharacters } from '../protocol/json.ts';
import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { denied, locate, openContained, openScope, type Opened, type Scope } from './containment.ts';
import { looksBinary, sniffedBytes } from './text-bytes.ts';

export interface ReadFileInput {
  readonly path: string;
  /** First line, from 1. */
  readonly offset: number;
  /** How many lines, 1 to 10 000. */
  readonly limit: number;
}

/** A longer line is cut here, in characters. */
const maxLineCharacters = 2_000;
const chunkBytes = 256 * 1_024;

/** One page of a text file with line numbers (agent-runtime 16). Memory does not grow with the file. */
export function readFile(input: ReadFileInput, context: ToolContext): ToolOutput {
  const scope = openScope(context);
  const located = locate(input.path, scope);
  if (!located.ok) return located.output;
  const { shown, real } = located.place;
  const opened = openContained(real, scope);
  if (!opened.ok) return describeRefusal(opened, shown, input.path, scope);
  try {
    return readPage(opened.fd, opened.stats.size, shown, input, context);
  } finally {
    closeSync(opened.fd);
  }
}

function describeRefusal(opened: Opened & { ok: false }, shown: string, given: string, scope: Scope): ToolOutput {
  switch (opened.reason) {
    case 'missing':
      return errorOutput(`File \`${shown}\` does not exist.`);
    case 'directory':
      return errorOutput(`\`${shown}\` is a directory; use \`list_dir\` to see its contents.`);
    case 'special':
      return errorOutput(`\`${shown}\` is not a regular file and cannot be read.`);
    case 'escaped':
      return denied(`path \`${given}\` escapes the workspace \`${scope.configured}\``);
    case 'failed':
      return errorOutput(`\`${shown}\` cannot be read (${opened.code}).`);
  }
}

function readPage(fd: number, size: number, shown: string, input: ReadFileInput, context: ToolContext): ToolOutput {
  // why: one byte of room, so that the end of a small file shows in the first read
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size + 1));
  const page = createPage(input.offset, input.limit);
  let isFirst = true;
  for (;;) {
    const length = fill(fd, chunk, isFirst ? sniffedBytes : 1);
    if (isFirst && length === 0) return okOutput(`(\`${shown}\` is empty)`, metadataOf(shown, 0, 0, 0));
    if (isFirst && looksBinary(chunk.subarray(0, length))) {
      return errorOutput(`\`${shown}\` looks like a binary file and cannot be shown as text.`);
    }
    isFirst = false;
    if (length === 0) break;
    page.add(chunk.subarray(0, length));
    context.throwIfCancelled?.();
  }
  const { lines, total } = page.end();
  const last = input.offset + lines.length - 1;
  if (lines.length === 0) {
    return errorOutput(`\`${shown}\` has ${total} lines; offset ${input.offset} is past the end.`);
  }
  const numbered = lines.map((line, index) => `${String(input.offset + index).padStart(6)}\t${line}`).join('\n');
  const isPartial = lines.length < total;
  const more = last < total ? ` Use offset=${last + 1} to read more.` : '';
  const note = isPartial ? `\n\n(Showing lines ${input.offset}-${last} of ${total} total lines.${more})` : '';
  return okOutput(numbered + note, metadataOf(shown, total, input.offset, last));
}

function metadataOf(path: string, total: number, first: number, last: number): ToolOutput['metadata'] {
  return { path, total_lines: total, first_line: first, last_line: last, truncated: last < total };
}

/** Reads until at least `wanted` bytes are there or the file ends. */
function fill(fd: number, chunk: Buffer, wanted: number): number {
  let length = 0;
  while (length < wanted) {
    const count = readSync(fd, chunk, length, chunk.length - length, null);
    if (count === 0) break;
    length += count;
  }
  return length;
}

interface Page {
  add(chunk: Buffer): void;
  end(): { readonly lines: readonly string[]; readonly total: number };
}

const newline = 0x0a;

/** Collects the lines of one page from chunks and counts the rest without decoding them. */
function createPage(offset: number, limit: number): Page {
  const lines: string[] = [];
  let number = 1;
  /** The line that began in an earlier piece. */
  let line: Line | undefined;
  let hasOpenLine = false;

  const isWanted = (): boolean => number >= offset && number < offset + limit;

  return {
    add(chunk) {
      let start = 0;
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
        if (isWanted()) {
          if (line === undefined && number > 1 && at - start <= maxLineCharacters) {
            lines.push(decodeShort(chunk, start, at));
          } else {
            line ??= createLine(number === 1);
            line.add(chunk.subarray(start, at));
            lines.push(line.end());
            line = undefined;
          }
        }
        number += 1;
        start = at + 1;
      }
      hasOpenLine = start < chunk.length;
      if (hasOpenLine && isWanted()) (line ??= createLine(number === 1)).add(chunk.subarray(start));
    },
    end() {
      if (hasOpenLine && isWanted() && line !== undefined) lines.push(line.end());
      return { lines, total: hasOpenLine ? number : number - 1 };
    },
  };
}

const carriageReturn = 0x0d;

/** A line that is whole and not too long. */
function decodeShort(chunk: Buffer, start: number, end: number): string {
  const stop = end > start && chunk[end - 1] === carriageReturn ? end - 1 : end;
  return chunk.toString('utf8', start, stop);
}

interface Line {
  add(piece: Buffer): void;
  end(): string;
}

/** One line from pieces: its first characters and the number of all. The byte order mark of a file is no part of its first. */
function createLine(isFirst: boolean): Line {
  const decoder = new StringDecoder('utf8');
  let kept = '';
  let characters = 0;
  let endsWithReturn = false;
  let mayBeMark = isFirst;

  function append(piece: string): void {
    const text = mayBeMark && piece.startsWith('\ufeff') ? piece.slice(1) : piece;
    if (piece === '') return;
    mayBeMark = false;
    if (text === '') return;
    if (kept.length <= maxLineCharacters * 2) kept += text.slice(0, maxLineCharacters * 2 + 2);
    characters += countCodePoints(text);
    endsWithReturn = text.endsWith('\r');
  }

  return {
    add: (piece) => append(decoder.write(piece)),
    end() {
      append(decoder.end());
      if (endsWithReturn) characters -= 1;
      if (characters > maxLineCharacters) {
        return `${firstCharacters(kept, maxLineCharacters)}… [line truncated, ${characters} characters in total]`;
      }
      return endsWithReturn ? kept.slice(0, -1) : kept;
    },
  };
}

function countCodePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    // A decoder never splits a pair, so counting the first halves only is exact.
    if (unit < 0xdc00 || unit > 0xdfff) count += 1;
  }
  return count;
}
