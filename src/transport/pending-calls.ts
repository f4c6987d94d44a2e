import type { OutgoingLine } from './line-writer.ts';

/** A request from the moment it is made until it is settled. */
export interface PendingCall<Tag> extends OutgoingLine {
  readonly id: number;
  readonly method: string;
  readonly timeoutMs: number;
  startedAt: number;
  deadline: number;
  readonly isSilent: boolean;
  /** Absent as long as nobody looked. */
  signal: AbortSignal | undefined;
  readonly signalSource: SignalSource | undefined;
  readonly tag: Tag | undefined;
  /** Set while its signal is listened to. */
  listening: SignalListener<Tag> | undefined;
  accept: (result: unknown) => void;
  reject: (error: Error) => void;
}

/** Something that makes its signal when it is looked at. */
export interface SignalSource {
  readonly signal: AbortSignal;
}

/** The calls of one signal share one listener: Node warns of a leak at the eleventh. */
interface SignalListener<Tag> {
  readonly calls: Set<PendingCall<Tag>>;
  readonly onAbort: () => void;
}

interface CallOptions<Tag> {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly signalSource?: SignalSource | undefined;
  readonly isSilent?: boolean;
  readonly tag?: Tag;
}

/** A call that nobody waits for yet: `accept` and `reject` are still to be set. */
export function toPendingCall<Tag>(
  id: number,
  method: string,
  text: string,
  options: CallOptions<Tag>,
): PendingCall<Tag> {
  return {
    text,
    bytes: 0,
    isBegun: false,
    isSkipped: false,
    id,
    method,
    timeoutMs: options.timeoutMs,
    startedAt: 0,
    deadline: 0,
    isSilent: options.isSilent === true,
    signal: options.signal,
    signalSource: options.signalSource,
    tag: options.tag,
    listening: undefined,
    accept: ignore,
    reject: ignore,
  };
}

function ignore(): void {}

export interface PendingCalls<Tag> {
  readonly size: number;
  /** Starts the call's clock. */
  add(call: PendingCall<Tag>): void;
  get(id: number): PendingCall<Tag> | undefined;
  /** Removes a call, which is then its taker's to settle; false when it is gone. */
  take(id: number): boolean;
  /** Removes all, in the order they were made. */
  takeAll(): readonly PendingCall<Tag>[];
  /** Restarts the clock of a call; never past three times its limit. */
  prolong(id: number): void;
  dispose(): void;
}

/**
 * A call listens to its signal once it has been in flight for this long; until then the signal is only looked at.
 * Listening and leaving costs more than the rest of a small call, and most calls are over by then. In milliseconds.
 */
const listenAfterMs = 5;
/** Calls whose ids lie further apart share a slot; the older one then moves to a map. A power of two. */
const ringSize = 1_024;

/**
 * The calls in flight and their deadlines.
 *
 * They stand in a ring by their id: a `Map` that is filled and emptied all the time leaves a chain of dead tables behind,
 * which keeps finished calls alive until the next full collection and made up half of the time of a busy connection. Calls with the same limit share one timer, which looks at what is left when it
 * fires: a timer set and cleared for each call costs a fifth of a round trip at 64 in flight.
 */
export function createPendingCalls<Tag>(options: {
  readonly elapsed: () => number;
  onExpired(call: PendingCall<Tag>): void;
  /** The signal of a call aborted; told within `listenAfterMs`. */
  onAborted(call: PendingCall<Tag>): void;
}): PendingCalls<Tag> {
  const { elapsed } = options;
  const ring = Array.from<PendingCall<Tag> | undefined>({ length: ringSize });
  const displaced = new Map<number, PendingCall<Tag>>();
  let size = 0;
  const timers = new Map<number, NodeJS.Timeout>();
  /** Calls with a signal nobody listens to yet; some of them are over already. */
  let fresh: PendingCall<Tag>[] = [];
  let freshTimer: NodeJS.Timeout | undefined;
  const listeners = new Map<AbortSignal, SignalListener<Tag>>();

  function watch(timeoutMs: number, ms: number): void {
    const timer = setTimeout(() => check(timeoutMs), Math.max(1, Math.ceil(ms)));
    // why: while a call is in flight its process keeps the host alive; an idle connection must not
    timer.unref();
    timers.set(timeoutMs, timer);
  }

  function check(timeoutMs: number): void {
    timers.delete(timeoutMs);
    const now = elapsed();
    const expired: PendingCall<Tag>[] = [];
    let next = Infinity;
    for (const call of inOrder()) {
      if (call.timeoutMs !== timeoutMs) continue;
      if (call.deadline <= now) expired.push(call);
      else next = Math.min(next, call.deadline);
    }
    if (next !== Infinity) watch(timeoutMs, next - now);
    for (const call of expired) options.onExpired(call);
  }

  function find(id: number): PendingCall<Tag> | undefined {
    const call = ring[id & (ringSize - 1)];
    return call?.id === id ? call : displaced.get(id);
  }

  function put(call: PendingCall<Tag>): void {
    const slot = call.id & (ringSize - 1);
    const older = ring[slot];
    if (older !== undefined) displaced.set(older.id, older);
    ring[slot] = call;
    size += 1;
  }

  function listenSoon(call: PendingCall<Tag>): void {
    fresh.push(call);
    if (freshTimer !== undefined) return;
    freshTimer = setTimeout(listen, listenAfterMs);
    freshTimer.unref();
  }

  function listen(): void {
    freshTimer = undefined;
    const calls = fresh;
    fresh = [];
    for (const call of calls) {
      if (find(call.id) !== call) continue;
      call.signal ??= call.signalSource?.signal;
      const { signal } = call;
      if (signal === undefined) continue;
      if (signal.aborted) options.onAborted(call);
      else listenTo(signal, call);
    }
  }

  function listenTo(signal: AbortSignal, call: PendingCall<Tag>): void {
    let listener = listeners.get(signal);
    if (listener === undefined) {
      const calls = new Set<PendingCall<Tag>>();
      const onAbort = (): void => {
        for (const aborted of calls) options.onAborted(aborted);
      };
      listener = { calls, onAbort };
      listeners.set(signal, listener);
      signal.addEventListener('abort', onAbort, { once: true });
    }
    listener.calls.add(call);
    call.listening = listener;
  }

  function stopListening(call: PendingCall<Tag>): void {
    const { listening, signal } = call;
    if (listening === undefined || signal === undefined) return;
    listening.calls.delete(call);
    call.listening = undefined;
    if (listening.calls.size > 0) return;
    listeners.delete(signal);
    signal.removeEventListener('abort', listening.onAbort);
  }

  function release(call: PendingCall<Tag>): void {
    const slot = call.id & (ringSize - 1);
    if (ring[slot] === call) ring[slot] = undefined;
    else displaced.delete(call.id);
    size -= 1;
    stopListening(call);
  }

  function inOrder(): PendingCall<Tag>[] {
    const all = [...displaced.values(), ...ring.filter((call) => call !== undefined)];
    return all.sort((left, right) => left.id - right.id);
  }

  return {
    get size() {
      return size;
    },
    add(call) {
      call.startedAt = elapsed();
      call.deadline = call.startedAt + call.timeoutMs;
      put(call);
      if (!timers.has(call.timeoutMs)) watch(call.timeoutMs, call.timeoutMs);
      if (call.signal !== undefined || call.signalSource !== undefined) listenSoon(call);
    },
    get: find,
    take(id) {
      const call = find(id);
      if (call === undefined) return false;
      release(call);
      return true;
    },
    takeAll() {
      const all = inOrder();
      for (const call of all) release(call);
      return all;
    },
    prolong(id) {
      const call = find(id);
      if (call === undefined) return;
      call.deadline = Math.min(elapsed() + call.timeoutMs, call.startedAt + 3 * call.timeoutMs);
    },
    dispose() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      clearTimeout(freshTimer);
      fresh = [];
    },
  };
}
