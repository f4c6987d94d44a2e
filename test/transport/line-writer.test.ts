import { Writable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { createLineWriter, type LineWriter, toOutgoing, type WriteFailure } from '../../src/transport/line-writer.ts';

/** A stream whose writes complete when told. */
class SlowStream extends Writable {
  readonly chunks: string[] = [];
  complete: ((error?: Error) => void) | undefined;
  isHeld = false;

  constructor() {
    super({ decodeStrings: false });
    this.on('error', () => {});
  }

  override _write(chunk: string, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.chunks.push(chunk);
    if (this.isHeld) this.complete = done;
    else done();
  }
}

let stream: SlowStream;
let failures: WriteFailure[];
let writer: LineWriter;
let now: number;

function create(limits: { maxQueuedBytes?: number; stallMs?: number } = {}): LineWriter {
  return createLineWriter({
    stream,
    maxQueuedBytes: limits.maxQueuedBytes ?? 1_000_000,
    stallMs: limits.stallMs ?? 60_000,
    elapsed: () => now,
    onFailure: (failure) => failures.push(failure),
  });
}

beforeEach(() => {
  stream = new SlowStream();
  failures = [];
  now = 0;
  writer = create();
});

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('lines of one tick leave in one write, in order; a lone one leaves within its tick', async () => {
  writer.write(toOutgoing('a'));
  await Promise.resolve();
  writer.write(toOutgoing('b'));
  await tick();
  writer.write(toOutgoing('c'));
  await tick();

  expect(stream.chunks).toEqual(['a\nb\n', 'c\n']);
});

test('while a write is on its way the others wait, and a large line goes alone', async () => {
  stream.isHeld = true;
  const large = 'x'.repeat(70_000);

  writer.write(toOutgoing('first'));
  await tick();
  for (const text of ['b', large, 'c']) writer.write(toOutgoing(text));
  await tick();
  expect(stream.chunks).toEqual(['first\n']);
  stream.isHeld = false;
  stream.complete?.();
  await tick();

  expect(stream.chunks.slice(1)).toEqual(['b\n', `${large}\n`, 'c\n']);
});

test('a line is skipped as long as it was not begun, and finished afterwards', async () => {
  stream.isHeld = true;
  const [begun, waiting] = [toOutgoing('begun'), toOutgoing('waiting')];
  writer.write(begun);
  await tick();
  writer.write(waiting);

  writer.skip(begun);
  writer.skip(waiting);
  stream.isHeld = false;
  stream.complete?.();
  await tick();

  expect(begun).toMatchObject({ isBegun: true, isSkipped: false });
  expect(waiting).toMatchObject({ isBegun: false, isSkipped: true });
  expect(stream.chunks).toEqual(['begun\n']);
});

test('more waiting than allowed is a failure that names who was written, who was too many and who waited', async () => {
  writer = create({ maxQueuedBytes: 100 });
  stream.isHeld = true;
  const lines = ['a', 'b'.repeat(60), 'c'.repeat(60)].map((text) => toOutgoing(text));
  writer.write(lines[0]!);
  await tick();
  writer.write(lines[1]!);
  expect(failures).toEqual([]);

  writer.write(lines[2]!);

  expect(failures).toHaveLength(1);
  expect(failures[0]).toMatchObject({ failed: [lines[0], lines[2]], waiting: [lines[1]] });
  expect(writer.isClosed).toBe(true);
});

test('what was skipped no longer counts as waiting', async () => {
  writer = create({ maxQueuedBytes: 100 });
  stream.isHeld = true;
  writer.write(toOutgoing('a'));
  await tick();

  for (let index = 0; index < 10; index += 1) {
    const line = toOutgoing('é'.repeat(40));
    writer.write(line);
    writer.skip(line);
  }

  expect(failures).toEqual([]);
});

test('a write that is stuck is a failure', async () => {
  writer = create({ stallMs: 20 });
  stream.isHeld = true;
  const failed = new Promise((resolve) => {
    failures.push = (failure) => {
      resolve(failure);
      return 1;
    };
  });

  writer.write(toOutgoing('a'));
  await tick();
  now = 20;

  expect(await failed).toMatchObject({ detail: 'a write was stuck for 0.02s' });
});

test('a failed write is told once with its reason', async () => {
  stream.isHeld = true;
  const line = toOutgoing('a');
  writer.write(line);
  await tick();

  stream.complete?.(new Error('write EPIPE'));
  await tick();
  writer.write(toOutgoing('b'));
  await tick();

  expect(failures).toMatchObject([{ detail: 'write EPIPE', failed: [line], waiting: [] }]);
});

test('finish writes what waits and ends the stream', async () => {
  writer.write(toOutgoing('a'));

  await writer.finish(1_000);

  expect(stream.chunks).toEqual(['a\n']);
  expect(stream.writableEnded).toBe(true);
});

test('finish gives up on a reader that does not read and closes the stream anyway', async () => {
  stream.isHeld = true;
  writer.write(toOutgoing('a'));
  await tick();

  await writer.finish(10);

  expect(stream.destroyed).toBe(true);
  expect(failures).toEqual([]);
});
