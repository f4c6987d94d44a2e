import { expect, test } from 'vitest';
import { createLineReader, toJsonText } from '../../src/protocol/lines.ts';

interface Read {
  readonly lines: string[];
  broken: number;
  readonly tooLong: string[];
}

function read(chunks: readonly Uint8Array[], maxLineBytes?: number): Read {
  const found: Read = { lines: [], broken: 0, tooLong: [] };
  const reader = createLineReader(
    {
      onLine: (text) => found.lines.push(text),
      onBrokenText: () => (found.broken += 1),
      onTooLong: (head) => found.tooLong.push(head),
    },
    maxLineBytes,
  );
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return found;
}

const text = '{"a":"é你🚀\u2028\u2029\u0085"}\r\n\n  \nsecond\nlast';
const lines = ['{"a":"é你🚀\u2028\u2029\u0085"}\r', '', '  ', 'second', 'last'];

test('lines end at 0x0A alone and an unterminated last line counts', () => {
  expect(read([Buffer.from(text)]).lines).toEqual(lines);
});

test('every way of cutting the input in two gives the same lines, also inside a character (FR1, FR2)', () => {
  const bytes = Buffer.from(text);

  for (let at = 0; at <= bytes.length; at += 1) {
    expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual({ lines, broken: 0, tooLong: [] });
  }
});

test('single bytes give the same lines (FR1)', () => {
  expect(read([...Buffer.from(text)].map((byte) => Buffer.of(byte))).lines).toEqual(lines);
});

test('all two-part splits of a 4 KiB message and a thousand random ones give one line (F2)', () => {
  const message = JSON.stringify({ text: 'aé你🚀'.repeat(400) });
  const bytes = Buffer.from(`${message}\n`);
  let seed = 7;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const randomCuts = (): Buffer[] => {
    const cuts = Array.from({ length: 1 + Math.floor(random() * 9) }, () => Math.floor(random() * bytes.length)).sort(
      (left, right) => left - right,
    );
    return [0, ...cuts].map((start, index) => bytes.subarray(start, [...cuts, bytes.length][index]));
  };

  const splits = Array.from({ length: bytes.length }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);
  const results = [...splits, ...Array.from({ length: 1_000 }, randomCuts)].map((chunks) => read(chunks).lines);

  expect(bytes.length).toBeGreaterThan(4_000);
  expect(results.filter((found) => found.length !== 1 || found[0] !== message)).toEqual([]);
});

test('a byte order mark at the very start is dropped, in any pieces, and only there', () => {
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  const one = Buffer.of(0xef);

  expect(read([mark, Buffer.from('a\n')]).lines).toEqual(['a']);
  expect(read([one, mark.subarray(1, 2), mark.subarray(2), Buffer.from('a')]).lines).toEqual(['a']);
  expect(read([Buffer.concat([Buffer.from('a\n'), mark, Buffer.from('b\n')])]).lines).toEqual(['a', '\ufeffb']);
  expect(read([Buffer.concat([mark, mark, Buffer.from('a\n')])]).lines).toEqual(['\ufeffa']);
});

test('bytes that only begin like a byte order mark belong to the line', () => {
  const cut = Buffer.from('\u{fa}', 'latin1');

  expect(read([Buffer.of(0xef), Buffer.from('x\nok\n')])).toEqual({ lines: ['ok'], broken: 1, tooLong: [] });
  expect(read([Buffer.of(0xef, 0xbb)])).toEqual({ lines: [], broken: 1, tooLong: [] });
  expect(read([Buffer.from('\ufb01\n')]).lines).toEqual(['\ufb01']);
  expect(read([cut]).broken).toBe(1);
});

test('a line that is not UTF-8 is told as such and leaves its neighbours alone (FR2)', () => {
  const bad = Buffer.from([0x61, 0xff, 0x0a]);

  const found = read([Buffer.concat([Buffer.from('one\n'), bad, Buffer.from('\ufffd real\n')])]);

  expect(found).toEqual({ lines: ['one', '\ufffd real'], broken: 1, tooLong: [] });
});

test('the limit is inclusive, and a longer line is told once, with its head, however it arrives', () => {
  const exact = 'x'.repeat(100);
  const long = `{"id":3}${'y'.repeat(1_000)}`;
  const bytes = Buffer.from(`${exact}\n${long}\nnext\n`);

  for (const size of [1, 7, 64, 5_000]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    const found = read(chunks, 100);
    expect(found.lines).toEqual([exact, 'next']);
    expect(found.tooLong.map((head) => head.slice(0, 8))).toEqual(['{"id":3}']);
    expect(found.tooLong[0]?.length).toBeLessThanOrEqual(256);
  }
});

test('a line that never ends is not kept (FR3)', () => {
  const chunk = Buffer.alloc(64 * 1024, 0x78);
  const found: string[] = [];
  const reader = createLineReader(
    { onLine: (line) => found.push(line), onBrokenText: () => {}, onTooLong: () => found.push('too long') },
    1_000_000,
  );
  const before = process.memoryUsage().arrayBuffers;

  for (let index = 0; index < 4_000; index += 1) reader.push(chunk);
  const after = process.memoryUsage().arrayBuffers;
  reader.push(Buffer.from('\nnext\n'));

  expect(found).toEqual(['too long', 'next']);
  expect(after - before).toBeLessThan(3_000_000);
});

test('a line of the full limit in small pieces arrives whole (FR3)', () => {
  const line = Buffer.alloc(16 * 1024 * 1024, 0x61);
  const found: number[] = [];
  const reader = createLineReader({
    onLine: (text) => found.push(text.length),
    onBrokenText: () => {},
    onTooLong: () => found.push(-1),
  });

  for (let at = 0; at < line.length; at += 4_096) reader.push(line.subarray(at, at + 4_096));
  reader.push(Buffer.from('\n'));

  expect(found).toEqual([line.length]);
});

test('what is written has no raw newline and no lone surrogate', () => {
  const value = { text: 'a\n\u2028\ud800b\udc00', pair: '🚀', 'k\ud800': '\\ud800', quoted: '"\\' };

  const written = toJsonText(value);

  expect(written).not.toContain('\n');
  expect(JSON.parse(written)).toEqual({
    text: 'a\n\u2028\ufffdb\ufffd',
    pair: '🚀',
    'k\ufffd': '\\ud800',
    quoted: '"\\',
  });
});
