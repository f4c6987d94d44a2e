import type { OutgoingLine } from './line-writer.ts';

/** A request from the moment it is made until it is settled. */
export interface PendingCall<Tag> extends OutgoingLine {
  readonly id: number;
  readonly method: string;
  readonly timeoutMs: number;
  startedAt: number;
  deadline: number;
  readonly isSilent: boolean;
  readonly signal: AbortSignal | undefined;
  readonly tag: Tag | undefined;
  onAbort: (() => void) | undefined;
  accept(result: unknown): void;
  reject(error: Error): void;
}

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
 * The calls in flight and their deadlines. Calls with the same limit share one timer, which looks at what is left when it
 * fires: a timer set and cleared for each call costs a fifth of a round trip at 64 in flight.
 */
export function createPendingCalls<Tag>(options: {
  readonly elapsed: () => number;
  onExpired(call: PendingCall<Tag>): void;
}): PendingCalls<Tag> {
  const { elapsed } = options;
  const calls = new Map<number, PendingCall<Tag>>();
  const timers = new Map<number, NodeJS.Timeout>();

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
    for (const call of calls.values()) {
      if (call.timeoutMs !== timeoutMs) continue;
      if (call.deadline <= now) expired.push(call);
      else next = Math.min(next, call.deadline);
    }
    if (next !== Infinity) watch(timeoutMs, next - now);
    for (const call of expired) options.onExpired(call);
  }

  function release(call: PendingCall<Tag>): void {
    calls.delete(call.id);
    if (call.onAbort !== undefined) call.signal?.removeEventListener('abort', call.onAbort);
  }

  return {
    get size() {
      return calls.size;
    },
    add(call) {
      call.startedAt = elapsed();
      call.deadline = call.startedAt + call.timeoutMs;
      calls.set(call.id, call);
      if (!timers.has(call.timeoutMs)) watch(call.timeoutMs, call.timeoutMs);
    },
    get: (id) => calls.get(id),
    take(id) {
      const call = calls.get(id);
      if (call === undefined) return false;
      release(call);
      return true;
    },
    takeAll() {
      const all = [...calls.values()];
      for (const call of all) release(call);
      return all;
    },
    prolong(id) {
      const call = calls.get(id);
      if (call === undefined) return;
      call.deadline = Math.min(elapsed() + call.timeoutMs, call.startedAt + 3 * call.timeoutMs);
    },
    dispose() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
