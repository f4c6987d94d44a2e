import type { Piscina } from 'piscina';

type ChooseThread = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']>;

/**
 * Sends a run to the thread with the fewest, and starts another thread as long as all have one and there may be more:
 * Piscina's own way fills one thread before it starts the next.
 * @param onChosen told the number of the thread that gets the run
 */
export function chooseThread(maxThreads: number, onChosen: (thread: number) => void): ChooseThread {
  return (_task, workers) => {
    let least: (typeof workers)[number] | undefined;
    for (const worker of workers) {
      if (least === undefined || worker.currentUsage < least.currentUsage) least = worker;
    }
    if (least === undefined || (least.currentUsage > 0 && workers.length < maxThreads)) return null;
    onChosen(least.id);
    return least;
  };
}
