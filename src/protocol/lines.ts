import { isUtf8 } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';

/** Limit of one line without its newline, in bytes (plugin-protocol 16.1). */
export const defaultMaxLineBytes = 16 * 1024 * 1024;

export interface LineHandler {
  /** One whole line without its newline; may be empty or end in a carriage return. */
  onLine(text: string): void;
  /** A line that is not UTF-8; nothing of it is replaced. */
  onBrokenText(): void;
  /** A line over the limit, told once, when the limit is passed; `head` is its beginning (≤ 256 bytes). */
  onTooLong(head: string): void;
}

export interface LineReader {
  push(chunk: Uint8Array): void;
  /** What is left without a newline is a last line. */
  end(): void;
}

const newline = 0x0a;
const byteOrderMark = [0xef, 0xbb, 0xbf];
const headBytes = 256;
/** Pieces of an unfinished line up to this size are copied together: a million tiny chunks must not stay a million objects. */
const blockBytes = 64 * 1024;

/**
 * Splits bytes into lines on 0x0A alone (plugin-protocol F1–F8). The work per byte is constant: nothing is scanned or
 * joined twice, however the input was cut.
 */
export function createLineReader(handler: LineHandler, maxLineBytes: number = defaultMaxLineBytes): LineReader {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let block: Buffer | undefined;
  let blockUsed = 0;
  let isSkipping = false;
  /** How much of the byte order mark was seen; -1 once the first bytes are past. */
  let markSeen = 0;

  function hold(piece: Buffer): void {
    if (piece.length === 0) return;
    heldBytes += piece.length;
    if (piece.length >= blockBytes / 4) {
      sealBlock();
      held.push(piece);
      return;
    }
    if (block === undefined || blockUsed + piece.length > block.length) {
      sealBlock();
      block = Buffer.allocUnsafeSlow(held.length === 0 && piece.length < 4_096 ? 4_096 : blockBytes);
    }
    piece.copy(block, blockUsed);
    blockUsed += piece.length;
  }

  function sealBlock(): void {
    if (block !== undefined && blockUsed > 0) held.push(block.subarray(0, blockUsed));
    block = undefined;
    blockUsed = 0;
  }

  function takeHeld(last: Buffer): readonly Buffer[] {
    sealBlock();
    if (last.length > 0) held.push(last);
    const pieces = held;
    held = [];
    heldBytes = 0;
    return pieces;
  }

  function emit(...pieces: readonly Buffer[]): void {
    const text = decode(pieces);
    if (text.includes('\ufffd') && !isUtf8(Buffer.concat(pieces))) handler.onBrokenText();
    else handler.onLine(text);
  }

  /** Lines that cannot be over the limit: decoded in one go, split as text. */
  function emitAll(bytes: Buffer): void {
    const text = bytes.toString('utf8');
    if (text.includes('\ufffd') && !isUtf8(bytes)) {
      let start = 0;
      for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, start)) {
        emit(bytes.subarray(start, at));
        start = at + 1;
      }
      emit(bytes.subarray(start));
      return;
    }
    let start = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', start)) {
      handler.onLine(text.slice(start, at));
      start = at + 1;
    }
    handler.onLine(start === 0 ? text : text.slice(start));
  }

  /** Line by line, where one of them may pass the limit. */
  function pushGuarded(chunk: Buffer): void {
    let start = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
      const piece = chunk.subarray(start, at);
      if (isSkipping) isSkipping = false;
      else if (heldBytes + piece.length > maxLineBytes) refuse(piece);
      else emit(...takeHeld(piece));
      start = at + 1;
    }
    const rest = chunk.subarray(start);
    if (isSkipping || rest.length === 0) return;
    if (heldBytes + rest.length > maxLineBytes) {
      refuse(rest);
      isSkipping = true;
    } else hold(rest);
  }

  function refuse(piece: Buffer): void {
    sealBlock();
    const head: Buffer[] = [];
    let size = 0;
    for (const part of [...held, piece]) {
      if (size >= headBytes) break;
      head.push(part.subarray(0, headBytes - size));
      size += part.length;
    }
    held = [];
    heldBytes = 0;
    handler.onTooLong(Buffer.concat(head).toString('utf8'));
  }

  function skipMark(chunk: Buffer): Buffer {
    let at = 0;
    while (at < chunk.length && markSeen < byteOrderMark.length && chunk[at] === byteOrderMark[markSeen]) {
      at += 1;
      markSeen += 1;
    }
    if (at === chunk.length && markSeen < byteOrderMark.length) return chunk.subarray(at);
    const isWhole = markSeen === byteOrderMark.length;
    // why: bytes that only began like a mark belong to the line, also those of earlier chunks
    if (!isWhole && markSeen > at) hold(Buffer.from(byteOrderMark.slice(0, markSeen - at)));
    const rest = isWhole ? chunk.subarray(at) : chunk;
    markSeen = -1;
    return rest;
  }

  function push(data: Uint8Array): void {
    let chunk = Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    if (markSeen >= 0) chunk = skipMark(chunk);
    if (chunk.length === 0) return;
    if (isSkipping || heldBytes + chunk.length > maxLineBytes) {
      pushGuarded(chunk);
      return;
    }
    const last = chunk.lastIndexOf(newline);
    if (last < 0) {
      hold(chunk);
      return;
    }
    let start = 0;
    if (heldBytes > 0) {
      const first = chunk.indexOf(newline);
      emit(...takeHeld(chunk.subarray(0, first)));
      start = first + 1;
    }
    if (start <= last) emitAll(chunk.subarray(start, last));
    hold(chunk.subarray(last + 1));
  }

  function end(): void {
    if (markSeen > 0) hold(Buffer.from(byteOrderMark.slice(0, markSeen)));
    markSeen = -1;
    if (!isSkipping && heldBytes > 0) emit(...takeHeld(Buffer.alloc(0)));
    isSkipping = false;
  }

  return { push, end };
}

/** Piece by piece: joining the bytes first would copy a large line once more, outside the heap. */
function decode(pieces: readonly Buffer[]): string {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first.toString('utf8');
  const decoder = new StringDecoder('utf8');
  let text = '';
  for (const piece of pieces) text += decoder.write(piece);
  return text + decoder.end();
}

/**
 * A value as JSON text for a line: without raw newlines (plugin-protocol F1). Lone surrogates become U+FFFD, since strict
 * readers refuse the escapes that `JSON.stringify` writes for them.
 * @throws TypeError or RangeError for what is no JSON (cycles, BigInt, nesting beyond the stack)
 */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes('\\ud')) return text;
  return text.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|[^u])/g, (match, surrogate?: string) =>
    surrogate === undefined ? match : '\ufffd',
  );
}

/** One message as the text of a line, without its newline. @throws as `toJsonText` */
export function toLine(message: object): string {
  return toJsonText(message);
}
