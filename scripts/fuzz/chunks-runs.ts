import { createLineReader } from '../../src/protocol/lines.ts';
import { createEventStreamReader } from '../../src/providers/sse.ts';
import { createRandom, cutRandomly, type Random, randomText } from './random.ts';

export interface ChunkFuzzReport {
  readonly splits: number;
  readonly streams: number;
  readonly violations: readonly string[];
}

/** Random splits of the message besides all splits in two. */
const randomSplits = 1_000;

/**
 * F2 (reliability section 14): a message of 4 KiB cut at every place and at random ones is always the same message; `count`
 * event streams with each kind of line end, cut at random, are always the same events.
 */
export function fuzzChunks(options: { readonly count: number; readonly seed: number }): ChunkFuzzReport {
  const random = createRandom(options.seed);
  const violations: string[] = [];
  const splits = splitMessage(random, violations);
  for (let made = 0; made < options.count && violations.length <= 20; made += 1) readStream(made, random, violations);
  return { splits, streams: options.count, violations };
}

function splitMessage(random: Random, violations: string[]): number {
  const message = JSON.stringify({ text: 'aé你🚀'.repeat(400) });
  const bytes = Buffer.from(`${message}\n`);
  const inTwo = Array.from(bytes, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);
  const atRandom = Array.from({ length: randomSplits }, () => cutRandomly(bytes, 1 + random() * 20, random));
  for (const pieces of [...inTwo, ...atRandom]) {
    const lines = readLines(pieces);
    if (lines.length === 1 && lines[0] === message) continue;
    violations.push(`cut into ${pieces.map((piece) => piece.length).join('+')} bytes: ${lines.length} lines`);
  }
  return inTwo.length + randomSplits;
}

function readLines(pieces: readonly Uint8Array[]): readonly string[] {
  const lines: string[] = [];
  const reader = createLineReader({
    onLine: (text) => lines.push(text),
    onBrokenText: () => lines.push('not UTF-8'),
    onTooLong: () => lines.push('too long'),
  });
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return lines;
}

interface StreamEvent {
  readonly event: string | undefined;
  readonly data: string;
}

const lineEnds = ['\n', '\r', '\r\n'] as const;

function readStream(index: number, random: Random, violations: string[]): void {
  const expected = Array.from({ length: 1 + Math.floor(random() * 4) }, () => randomEvent(random));
  const lineEnd = lineEnds[index % lineEnds.length] ?? '\n';
  const bytes = Buffer.from(expected.map((event) => toStreamText(event, lineEnd, random)).join(''));
  const pieces = cutRandomly(bytes, random() * 12, random);
  const seen: StreamEvent[] = [];
  const reader = createEventStreamReader(({ event, data }) => seen.push({ event, data }));
  for (const piece of pieces) reader.push(piece);
  reader.end();
  if (JSON.stringify(seen) === JSON.stringify(expected)) return;
  const sizes = pieces.map((piece) => piece.length).join('+');
  violations.push(`stream ${index} in ${sizes} bytes: ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`);
}

function randomEvent(random: Random): StreamEvent {
  const name = random() < 0.5 ? undefined : 'delta';
  // why: an event whose data is empty is none
  return { event: name, data: `x${randomText(random, 30)}` };
}

/** With and without a blank after the colon, with comments and unknown fields in between. */
function toStreamText({ event, data }: StreamEvent, lineEnd: string, random: Random): string {
  const blank = random() < 0.5 ? ' ' : '';
  const noise = random() < 0.3 ? [': keep-alive', 'color: red'] : [];
  const name = event === undefined ? [] : [`event:${blank}${event}`];
  const lines = data
    .split('\n')
    .map((line) => (blank === '' && !line.startsWith(' ') ? `data:${line}` : `data: ${line}`));
  return [...noise, ...name, ...lines, '', ''].join(lineEnd);
}
