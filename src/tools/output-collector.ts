import { countCharacters, firstCharacters, lastCharacters } from '../protocol/json.ts';

/** Bytes kept from each end of a command's output; characters of it that are shown (agent-runtime 16). */
const keptBytes = 64 * 1_024;
const shownCharacters = 30_000;

/** Keeps the beginning and the end of a byte stream of any length. */
export interface OutputCollector {
  add(chunk: Buffer): void;
  /** The text: bytes that are not UTF-8 become U+FFFD, both cuts fall between characters. */
  text(): string;
}

export function createOutputCollector(): OutputCollector {
  const head: Buffer[] = [];
  let headBytes = 0;
  let tail: Buffer[] = [];
  let tailBytes = 0;
  let total = 0;

  function addTail(chunk: Buffer): void {
    tail.push(chunk);
    tailBytes += chunk.length;
    // why: joined only when twice as much is there, so that many small chunks stay cheap
    if (tailBytes > keptBytes * 2) {
      tail = [Buffer.concat(tail).subarray(-keptBytes)];
      tailBytes = keptBytes;
    }
  }

  return {
    add(chunk) {
      total += chunk.length;
      const forHead = chunk.subarray(0, keptBytes - headBytes);
      if (forHead.length > 0) {
        head.push(forHead);
        headBytes += forHead.length;
      }
      if (forHead.length < chunk.length) addTail(chunk.subarray(forHead.length));
    },
    text() {
      if (total <= keptBytes * 2)
        return cutMiddle(
          Buffer.concat([...head, ...tail])
            .toString('utf8')
            .trimEnd(),
        );
      const first = withoutOpenEnd(Buffer.concat(head));
      const last = withoutOpenStart(Buffer.concat(tail).subarray(-keptBytes));
      const omitted = total - first.length - last.length;
      const text = `${first.toString('utf8')}\n[... ${omitted} bytes omitted ...]\n${last.toString('utf8')}`;
      return cutMiddle(text.trimEnd());
    },
  };
}

function cutMiddle(text: string): string {
  const total = countCharacters(text);
  if (total <= shownCharacters) return text;
  const half = shownCharacters / 2;
  const omitted = total - shownCharacters;
  const head = firstCharacters(text, half);
  return `${head}\n\n[... ${omitted} characters omitted ...]\n\n${lastCharacters(text, half)}`;
}

/** Drops the bytes of a character that the cut fell into. */
export function withoutOpenEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.subarray(0, -back) : bytes;
  }
  return bytes;
}

function withoutOpenStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
