import { Buffer } from 'node:buffer';

/**
 * File names as text. A name that is not UTF-8 is held as text in which each odd byte is a lone surrogate (U+DC80 to
 * U+DCFF), so that it survives joining and comes back as the same bytes.
 */
export function decodeName(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd') || Buffer.from(text, 'utf8').equals(bytes)) return text;
  let decoded = '';
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length === 0) {
      decoded += String.fromCharCode(0xdc00 + (bytes[at] ?? 0));
      at += 1;
    } else {
      decoded += bytes.toString('utf8', at, at + length);
      at += length;
    }
  }
  return decoded;
}

/** The path as the file system takes it. */
export function toFsPath(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  const parts: Buffer[] = [];
  for (const character of path) {
    const code = character.charCodeAt(0);
    const isByte = character.length === 1 && code >= 0xdc80 && code <= 0xdcff;
    parts.push(isByte ? Buffer.from([code - 0xdc00]) : Buffer.from(character, 'utf8'));
  }
  return Buffer.concat(parts);
}

/** A path for listings: one line, valid text. What cannot be shown so is quoted as git does: `"a\nb"`, `"\377"`. */
export function quotePath(path: string): string {
  if (!needsQuotes(path)) return path;
  let quoted = '';
  for (const character of path) {
    const code = character.codePointAt(0) ?? 0;
    const isLone = code >= 0xd800 && code <= 0xdfff;
    if (character === '\n') quoted += '\\n';
    else if (character === '\t') quoted += '\\t';
    else if (character === '\r') quoted += '\\r';
    else if (character === '"' || character === '\\') quoted += `\\${character}`;
    else if (isLone || isControl(code)) {
      for (const byte of Buffer.from(toFsPath(character))) quoted += `\\${byte.toString(8).padStart(3, '0')}`;
    } else quoted += character;
  }
  return `"${quoted}"`;
}

/** The path a quoted one stands for; nothing for a text that is not of that form. */
export function unquotePath(text: string): string | undefined {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return undefined;
  const parts: Buffer[] = [];
  const body = text.slice(1, -1);
  const pattern = /\\([0-3][0-7]{2})|\\([ntr"\\])|([^\\"]+)/gy;
  let end = 0;
  for (const [whole, octal, letter, plain] of body.matchAll(pattern)) {
    end += whole.length;
    if (octal !== undefined) parts.push(Buffer.from([Number.parseInt(octal, 8)]));
    else parts.push(Buffer.from(letter === undefined ? (plain ?? '') : (letters[letter] ?? letter), 'utf8'));
  }
  return end === body.length ? decodeName(Buffer.concat(parts)) : undefined;
}

const letters: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function needsQuotes(path: string): boolean {
  return path.startsWith('"') || /\p{Cc}/u.test(path) || !path.isWellFormed();
}

function isControl(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

/** How many bytes the UTF-8 sequence at `at` has; 0 when there is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  const text = bytes.toString('utf8', at, at + length);
  return Buffer.from(text, 'utf8').equals(bytes.subarray(at, at + length)) ? length : 0;
}
