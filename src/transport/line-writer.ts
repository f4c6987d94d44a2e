import type { Writable } from 'node:stream';
import { messageOf } from '../protocol/error.ts';

/** One line to be written. The writer keeps its fields up to date; make one with `toOutgoing`. */
export interface OutgoingLine {
  /** Without the newline; emptied once it is handed over or skipped. */
  text: string;
  /** Counted when it is needed. */
  bytes: number;
  isBegun: boolean;
  isSkipped: boolean;
  readonly onBegun?: () => void;
}

export function toOutgoing(text: string, onBegun?: () => void): OutgoingLine {
  const line = { text, bytes: 0, isBegun: false, isSkipped: false };
  return onBegun === undefined ? line : { ...line, onBegun };
}

export interface LineWriterOptions {
  readonly stream: Writable;
  /** More waiting than this is a failure. In bytes. */
  readonly maxQueuedBytes: number;
  /** One write that takes longer is a failure. In milliseconds; absent: any time is fine. */
  readonly stallMs?: number;
  readonly elapsed: () => number;
  /** Called once. `failed` are the lines of the write that failed, or the one too many; `waiting` those not begun. */
  onFailure(failure: WriteFailure): void;
}

export interface WriteFailure {
  readonly detail: string;
  readonly cause?: unknown;
  readonly failed: readonly OutgoingLine[];
  readonly waiting: readonly OutgoingLine[];
}

/** Whole lines, in the order they were given, one write at a time. */
export interface LineWriter {
  /** Nothing more is taken: it failed, or `finish` was called and is through. */
  readonly isClosed: boolean;
  readonly queuedCharacters: number;
  write(line: OutgoingLine): void;
  /** Takes a line out that was not begun; a begun one is finished. */
  skip(line: OutgoingLine): void;
  /** Waits until everything queued is written, it failed, or the limit has passed. Never rejects. */
  flushed(limitMs: number): Promise<void>;
  /** Writes what is queued and ends the stream; after `limitMs` it gives up the rest and closes it anyway. Never rejects. */
  finish(limitMs: number): Promise<void>;
  /** Forgets everything and releases its timer; the stream is left alone. */
  dispose(): void;
}

/**
 * Lines of one tick are joined up to this size: it fits into an empty pipe, so a stalled reader never holds up a line that
 * could still have been skipped. A longer line goes alone.
 */
const batchCharacters = 64 * 1024;

export function createLineWriter(options: LineWriterOptions): LineWriter {
  const { stream, elapsed } = options;
  let queue: OutgoingLine[] = [];
  let head = 0;
  let queuedCharacters = 0;
  let batch: OutgoingLine[] = [];
  let isScheduled = false;
  let isWriting = false;
  let isClosed = false;
  let startedAt = 0;
  let stallTimer: NodeJS.Timeout | undefined;
  let onIdle: (() => void) | undefined;

  function write(line: OutgoingLine): void {
    if (isClosed) return;
    queue.push(line);
    queuedCharacters += line.text.length + 1;
    if (queuedCharacters * 3 > options.maxQueuedBytes && queuedBytes() > options.maxQueuedBytes) {
      queue.pop();
      batch.push(line);
      fail(`more than ${options.maxQueuedBytes} bytes are waiting`);
      return;
    }
    if (isWriting || isScheduled) return;
    isScheduled = true;
    // why: after the microtasks of this tick, so that calls made together leave in one write; a lone one leaves just as soon
    process.nextTick(flush);
  }

  /** Counted only when it may matter: a character has at most three bytes. */
  function queuedBytes(): number {
    let total = 0;
    for (let index = head; index < queue.length; index += 1) {
      const line = queue[index];
      if (line === undefined || line.isSkipped) continue;
      line.bytes ||= Buffer.byteLength(line.text) + 1;
      total += line.bytes;
    }
    return total;
  }

  function flush(): void {
    isScheduled = false;
    if (isWriting || isClosed) return;
    const text = takeBatch();
    if (text === '') {
      onIdle?.();
      return;
    }
    isWriting = true;
    startedAt = elapsed();
    if (options.stallMs !== undefined) watchStall(options.stallMs, options.stallMs);
    stream.write(text, onWritten);
  }

  function takeBatch(): string {
    let text = '';
    for (; head < queue.length; head += 1) {
      const line = queue[head];
      if (line === undefined || line.isSkipped) continue;
      if (text !== '' && text.length + line.text.length > batchCharacters) break;
      text += line.text;
      text += '\n';
      begin(line);
    }
    queue = head === queue.length ? [] : queue.slice(head);
    head = 0;
    return text;
  }

  function begin(line: OutgoingLine): void {
    queuedCharacters -= line.text.length + 1;
    line.text = '';
    line.isBegun = true;
    batch.push(line);
    line.onBegun?.();
  }

  function skip(line: OutgoingLine): void {
    if (line.isBegun || line.isSkipped || isClosed) return;
    line.isSkipped = true;
    queuedCharacters -= line.text.length + 1;
    line.text = '';
  }

  function onWritten(error?: Error | null): void {
    isWriting = false;
    if (isClosed) return;
    if (error !== undefined && error !== null) {
      fail(messageOf(error), error);
      return;
    }
    batch = [];
    flush();
  }

  /** One timer for all writes: it looks again after the limit instead of being set and cleared for each. */
  function watchStall(stallMs: number, ms: number): void {
    if (stallTimer !== undefined) return;
    stallTimer = setTimeout(() => {
      stallTimer = undefined;
      if (!isWriting || isClosed) return;
      const waited = elapsed() - startedAt;
      if (waited >= stallMs) fail(`a write was stuck for ${stallMs / 1_000}s`);
      else watchStall(stallMs, stallMs - waited);
    }, ms);
    stallTimer.unref();
  }

  function fail(detail: string, cause?: unknown): void {
    const failed = batch;
    const waiting = queue.slice(head);
    dispose();
    options.onFailure({ detail, cause, failed, waiting });
  }

  function dispose(): void {
    isClosed = true;
    queue = [];
    head = 0;
    batch = [];
    queuedCharacters = 0;
    clearTimeout(stallTimer);
    stallTimer = undefined;
    onIdle?.();
  }

  async function flushed(limitMs: number): Promise<void> {
    if (isClosed || !(isWriting || isScheduled || head < queue.length)) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      onIdle = resolve;
      timer = setTimeout(resolve, limitMs);
    });
    clearTimeout(timer);
    onIdle = undefined;
  }

  async function finish(limitMs: number): Promise<void> {
    await flushed(limitMs);
    const isStuck = isWriting;
    dispose();
    // why: `end` would wait behind the write that nobody reads
    if (isStuck) stream.destroy();
    else stream.end();
  }

  return {
    get isClosed() {
      return isClosed;
    },
    get queuedCharacters() {
      return queuedCharacters;
    },
    write,
    skip,
    flushed,
    finish,
    dispose,
  };
}
