/**
 * Counts the texts sent to a run in a thread, in memory both sides share, so that a text is either answered or refused: a run
 * that looked for the last time lets none in, and one that let a text in does not end before it came.
 */
export type TextGate = Int32Array;

/** Main thread: lets a text in; false when the run has ended. */
export function enterText(gate: TextGate): boolean {
  for (;;) {
    const count = Atomics.load(gate, 0);
    if (count < 0) return false;
    if (Atomics.compareExchange(gate, 0, count, count + 1) === count) return true;
  }
}

/** Run thread: closes the gate; false while texts are on their way. */
export function closeGate(gate: TextGate, received: number): boolean {
  return Atomics.compareExchange(gate, 0, received, closed) === received;
}

/** Run thread: the run goes on with another session. */
export function openGate(gate: TextGate, received: number): void {
  Atomics.compareExchange(gate, 0, closed, received);
}

const closed = -1;
