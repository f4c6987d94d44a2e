import type { Readable } from 'node:stream';

export interface StderrLimits {
  /** A longer line is cut here, also when it never ends. Default 8 192 bytes (PL5). */
  readonly maxLineBytes: number;
  /** How many of the last lines are kept. Default 20 (plugin-protocol 16.4). */
  readonly tailLines: number;
  /** And how many bytes of them. Default 65 536 (PL5). */
  readonly tailBytes: number;
}

export interface StderrReader {
  /** Hands over an unterminated last line and stops listening. */
  end(): void;
  tail(): readonly string[];
}

const newline = 0x0a;

/**
 * Reads a text stream to lines without ever pausing it. Bytes that are not UTF-8 become U+FFFD, whatever way the stream
 * was split; a cut falls between characters.
 */
export function createStderrReader(
  stream: Readable,
  onLine: (line: string) => void,
  limits: Partial<StderrLimits> = {},
): StderrReader {
  const maxLineBytes = limits.maxLineBytes ?? 8_192;
  const tail = createTail(limits.tailLines ?? 20, limits.tailBytes ?? 65_536);
  let pieces: Buffer[] = [];
  let size = 0;
  let isCut = false;
  let isEnded = false;

  function append(piece: Buffer): void {
    if (isCut || piece.length === 0) return;
    pieces.push(piece);
    size += piece.length;
    if (size <= maxLineBytes + 1) return; // one byte of room for the carriage return of a full line
    flush();
    isCut = true;
  }

  function flush(): void {
    const [first] = pieces;
    const bytes = first !== undefined && first.length === size ? first : Buffer.concat(pieces, size);
    pieces = [];
    size = 0;
    const line = bytes.toString('utf8', 0, lineLength(bytes, maxLineBytes));
    tail.add(line);
    onLine(line);
  }

  function endLine(): void {
    if (!isCut) flush();
    isCut = false;
  }

  function onData(chunk: Buffer): void {
    let start = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
      append(chunk.subarray(start, at));
      endLine();
      start = at + 1;
    }
    append(chunk.subarray(start));
  }

  function end(): void {
    if (isEnded) return;
    isEnded = true;
    stream.off('data', onData);
    if (size > 0) flush();
  }

  stream.on('data', onData);
  // why: a read error is the end of this text and nothing else; nobody waits for stderr
  stream.on('error', end);
  stream.once('end', end);
  return { end, tail: () => tail.lines() };
}

/** The length of a line without its carriage return, cut at the limit between two characters. */
function lineLength(bytes: Buffer, limit: number): number {
  const end = bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length;
  if (end <= limit) return end;
  let cut = limit;
  for (let back = 0; back < 3 && cut > 0 && ((bytes[cut] ?? 0) & 0xc0) === 0x80; back += 1) cut -= 1;
  return cut;
}

function createTail(maxLines: number, maxBytes: number): { add(line: string): void; lines(): readonly string[] } {
  const kept: { line: string; bytes: number }[] = [];
  let total = 0;
  return {
    add(line) {
      const bytes = Buffer.byteLength(line);
      kept.push({ line, bytes });
      total += bytes;
      while (kept.length > maxLines || (total > maxBytes && kept.length > 0)) total -= kept.shift()?.bytes ?? 0;
    },
    lines: () => kept.map((entry) => entry.line),
  };
}
