/** Steps that may begin in one turn of the event loop. */
export const stepsPerTurn = 64;

/** Shares the turns of the event loop among runs. */
export interface Turns {
  /** To be awaited before a step executes its calls; nothing when it may go on at once. */
  take(): Promise<void> | undefined;
}

/**
 * When many models answer at once, the steps of all these runs would follow each other without the event loop having a turn
 * in between: timers, sockets and other tenants would wait until the last is through. So only some steps begin in each turn;
 * the others wait for the next, in the order they came.
 */
export function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let taken = 0;
  let isScheduled = false;

  function onTurn(): void {
    isScheduled = false;
    const next = waiting.splice(0, stepsPerTurn);
    taken = next.length;
    if (taken > 0) schedule();
    for (const go of next) go();
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(onTurn);
  }

  return {
    take() {
      schedule();
      if (taken < stepsPerTurn && waiting.length === 0) {
        taken += 1;
        return undefined;
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}
