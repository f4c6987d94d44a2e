import { EngineError, messageOf } from '../protocol/error.ts';
import { decodeText, type LineSource, toByteLines, toTextLines } from './line-source.ts';
import { requiredLiteral } from './literal.ts';

/** Called with each matching line; returns false to end the search of this file. */
export type OnLine = (source: LineSource, start: number, end: number) => boolean;

export interface LineMatcher {
  /** Finds the lines that match, in order. `check` is called now and then and throws to end the search. */
  search(bytes: Buffer, onLine: OnLine, check: () => void): void;
}

/** Lines between two checks where each line is tried. */
const linesPerCheck = 2_000;

/**
 * A matcher of single lines by regular expression (JavaScript's, `u` flag). Where every match holds a known text, only
 * lines with its bytes are decoded and tried, and a pattern that is such a text alone is not tried at all.
 * @throws EngineError `invalid_request` for a pattern that cannot be compiled; the message is the compiler's
 */
export function createLineMatcher(pattern: string, isCaseInsensitive: boolean): LineMatcher {
  const flags = isCaseInsensitive ? 'iu' : 'u';
  const regex = compile(pattern, flags);
  const literal = isCaseInsensitive ? { text: '', isWhole: false } : requiredLiteral(pattern);
  // A lone surrogate never occurs in decoded text, and U+FFFD stands for bytes that are no text.
  const isSearchable = literal.text !== '' && !/[\n\r\ufffd\ufeff]/.test(literal.text) && literal.text.isWellFormed();
  if (isSearchable) return matchByLiteral(Buffer.from(literal.text), literal.isWhole ? undefined : regex);
  return staysInLine(pattern) ? matchByScan(regex, compile(pattern, `g${flags}m`)) : matchByLine(regex);
}

function compile(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch (cause) {
    throw new EngineError('invalid_request', messageOf(cause), { cause });
  }
}

function matchByLiteral(literal: Buffer, regex: RegExp | undefined): LineMatcher {
  return {
    search(bytes, onLine, check) {
      let at = bytes.indexOf(literal);
      if (at < 0) return;
      const source = toByteLines(bytes);
      for (let tried = 0; at >= 0; tried += 1) {
        if (tried % linesPerCheck === 0) check();
        const start = source.lineStart(at);
        const end = source.lineEnd(at);
        const isMatch = regex === undefined || regex.test(source.line(start, end));
        if (isMatch && !onLine(source, start, end)) return;
        at = end >= bytes.length ? -1 : bytes.indexOf(literal, end + 1);
      }
    },
  };
}

/** Runs over the whole text at once; each line a match lies in is tried on its own. */
function matchByScan(regex: RegExp, scan: RegExp): LineMatcher {
  return {
    search(bytes, onLine, check) {
      const text = decodeText(bytes);
      const source = toTextLines(text);
      scan.lastIndex = 0;
      for (let tried = 0; ; tried += 1) {
        if (tried % linesPerCheck === 0) check();
        const found = scan.exec(text);
        if (found === null) return;
        const start = source.lineStart(found.index);
        const end = source.lineEnd(found.index);
        // An empty match may lie behind the last newline, where no line is.
        if (start < source.length && regex.test(source.line(start, end)) && !onLine(source, start, end)) return;
        if (end >= source.length) return;
        scan.lastIndex = end + 1;
      }
    },
  };
}

function matchByLine(regex: RegExp): LineMatcher {
  return {
    search(bytes, onLine, check) {
      const source = toTextLines(decodeText(bytes));
      let tried = 0;
      for (let start = 0; start < source.length;) {
        if (tried % linesPerCheck === 0) check();
        tried += 1;
        const end = source.lineEnd(start);
        if (regex.test(source.line(start, end)) && !onLine(source, start, end)) return;
        start = end + 1;
      }
    },
  };
}

/**
 * Whether no match can reach over a newline and no part looks at what is around it, so that a scan of the whole text finds
 * at least the lines that match alone. A wrong no costs time only.
 */
function staysInLine(pattern: string): boolean {
  return !/\[\^|\\[sWDPpnrxuc0]|\\[tfv]-|\(\?<?[=!]|[\t\n\v\f\r]/.test(pattern);
}
