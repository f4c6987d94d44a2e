import { type RunCounters, runCounters } from './run-port.ts';

// Texts sent to a run in a thread are counted in memory both sides share, so that a text is either answered or refused: a run
// that looked for the last time lets none in, and one that let a text in does not end before it came.

const { texts } = runCounters;

/** Main thread: lets a text in; false when the run has ended. */
export function enterText(counters: RunCounters): boolean {
  for (;;) {
    const count = Atomics.load(counters, texts);
    if (count < 0) return false;
    if (Atomics.compareExchange(counters, texts, count, count + 1) === count) return true;
  }
}

/** Run thread: closes the gate; false while texts are on their way. */
export function closeGate(counters: RunCounters, received: number): boolean {
  return Atomics.compareExchange(counters, texts, received, closed) === received;
}

/** Run thread: the run goes on with another session. */
export function openGate(counters: RunCounters, received: number): void {
  Atomics.compareExchange(counters, texts, closed, received);
}

const closed = -1;
