import { toWellFormed } from '../protocol/json.ts';

/** C0 but tab and newline, DEL, C1, line and paragraph separators, and the controls that reorder text. */
const hidden = /[^\P{Cc}\t\n]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Outside text as a terminal may show it: control characters (so also every escape sequence) and bidirectional controls
 * become visible escapes, `\x1b` or `\u202e` (PD9). Tabs and newlines stay.
 */
export function toPrintable(text: string): string {
  return toWellFormed(text).replace(hidden, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}

/** The same on one line: newlines and tabs are shown as `\n` and `\t`. */
export function toPrintableLine(text: string): string {
  return toPrintable(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}
