import { isAscii } from 'node:buffer';

/** The text of one file as lines; positions count in its own units (bytes or characters). */
export interface LineSource {
  readonly length: number;
  /** Position of the next newline at or after `from`, else `length`. */
  lineEnd(from: number): number;
  /** Where the line that holds `position` starts. */
  lineStart(position: number): number;
  /** A line without its carriage return. */
  line(start: number, end: number): string;
}

const newline = 0x0a;
const carriageReturn = 0x0d;

/** Lines that are decoded only when asked for. */
export function toByteLines(bytes: Buffer): LineSource {
  return {
    length: bytes.length,
    lineEnd(from) {
      const at = bytes.indexOf(newline, from);
      return at < 0 ? bytes.length : at;
    },
    lineStart: (position) => (position === 0 ? 0 : bytes.lastIndexOf(newline, position - 1) + 1),
    line(start, end) {
      const stop = end > start && bytes[end - 1] === carriageReturn ? end - 1 : end;
      return withoutMark(bytes.toString('utf8', start, stop), start);
    },
  };
}

/** Lines of a decoded text. */
export function toTextLines(text: string): LineSource {
  return {
    length: text.length,
    lineEnd(from) {
      const at = text.indexOf('\n', from);
      return at < 0 ? text.length : at;
    },
    lineStart: (position) => (position === 0 ? 0 : text.lastIndexOf('\n', position - 1) + 1),
    line(start, end) {
      const stop = end > start && text.charCodeAt(end - 1) === carriageReturn ? end - 1 : end;
      return withoutMark(text.slice(start, stop), start);
    },
  };
}

/** Bytes as text; plain ASCII is copied without decoding. */
export function decodeText(bytes: Buffer): string {
  return isAscii(bytes) ? bytes.toString('latin1') : bytes.toString('utf8');
}

function withoutMark(line: string, start: number): string {
  return start === 0 && line.startsWith('\ufeff') ? line.slice(1) : line;
}
