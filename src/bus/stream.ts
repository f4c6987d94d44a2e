import type { RunId } from '../protocol/ids.ts';
import type { Envelope } from './envelope.ts';
import { ephemeralTypes, type EventType } from './events.ts';

export interface StreamOptions {
  /** Only these types. Default: all. */
  readonly types?: readonly EventType[];
  /** Only this run. */
  readonly run?: RunId;
  /** Events kept for a reader that is behind. Default 1024 (agent-runtime 18.11). */
  readonly capacity?: number;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** What a reader gets: an envelope, or how many events it lost since the last read. */
export type StreamItem = Envelope | { readonly lagged: number };

export function isLagged(item: StreamItem): item is { readonly lagged: number } {
  return 'lagged' in item;
}

/** A bounded queue behind a subscription. When full, ephemeral events go first, then the oldest. */
export interface EventStream extends AsyncIterableIterator<StreamItem>, AsyncDisposable {
  next(): Promise<IteratorResult<StreamItem, undefined>>;
  close(): void;
  /** Events lost in all. */
  lagged(): number;
  /** Events that wait for the reader. */
  waiting(): number;
  onClose(listener: () => void): void;
}

export function createEventStream(
  options: StreamOptions,
  subscribe: (listener: (envelope: Envelope) => void) => () => void,
): EventStream {
  const capacity = Math.max(1, options.capacity ?? 1024);
  const types = options.types === undefined ? undefined : new Set<string>(options.types);
  const closeListeners: (() => void)[] = [];
  const readers: ((result: IteratorResult<StreamItem, undefined>) => void)[] = [];
  let queue: Envelope[] = [];
  let head = 0;
  let ephemerals = 0;
  let missed = 0;
  let missedInAll = 0;
  let isClosed = false;

  const unsubscribe = subscribe(accept);
  const onAbort = (): void => close();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.signal?.aborted) close();

  function accept(envelope: Envelope): void {
    if (types !== undefined && !types.has(envelope.event.type)) return;
    const reader = readers.shift();
    if (reader !== undefined) {
      reader({ value: envelope, done: false });
      return;
    }
    const isEphemeral = ephemeralTypes.has(envelope.event.type);
    if (queue.length - head >= capacity) {
      missed += 1;
      missedInAll += 1;
      if (isEphemeral) return;
      dropOne();
    }
    queue.push(envelope);
    if (isEphemeral) ephemerals += 1;
  }

  function dropOne(): void {
    if (ephemerals > 0) {
      const index = queue.findIndex((entry, at) => at >= head && ephemeralTypes.has(entry.event.type));
      queue.splice(index, 1);
      ephemerals -= 1;
    } else head += 1;
    compact();
  }

  // why: shifting an array of a thousand for each lost event would cost the publisher; a moving head costs nothing
  function compact(): void {
    if (head > 1024 && head * 2 > queue.length) {
      queue = queue.slice(head);
      head = 0;
    }
  }

  function take(): StreamItem | undefined {
    if (missed > 0) {
      const lagged = missed;
      missed = 0;
      return { lagged };
    }
    const envelope = queue[head];
    if (envelope === undefined) {
      queue.length = 0;
      head = 0;
      return undefined;
    }
    head += 1;
    if (ephemeralTypes.has(envelope.event.type)) ephemerals -= 1;
    compact();
    return envelope;
  }

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    unsubscribe();
    options.signal?.removeEventListener('abort', onAbort);
    for (const reader of readers.splice(0)) reader({ value: undefined, done: true });
    for (const listener of closeListeners.splice(0)) listener();
  }

  return {
    next() {
      const item = take();
      if (item !== undefined) return Promise.resolve({ value: item, done: false });
      if (isClosed) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve) => readers.push(resolve));
    },
    return() {
      close();
      return Promise.resolve({ value: undefined, done: true });
    },
    close,
    lagged: () => missedInAll,
    waiting: () => queue.length - head,
    onClose: (listener) => void closeListeners.push(listener),
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]() {
      close();
      return Promise.resolve();
    },
  };
}
