import type { Piscina } from 'piscina';

type ChooseThread = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']>;

/**
 * Sends a run to the thread with the fewest, and starts another thread as long as all have one and there may be more:
 * Piscina's own way fills one thread before it starts the next.
 */
export function chooseThread(maxThreads: number): ChooseThread {
  return (_task, workers) => {
    let least: (typeof workers)[number] | null = null;
    for (const worker of workers) {
      if (worker.currentUsage === 0) return worker;
      if (least === null || worker.currentUsage < least.currentUsage) least = worker;
    }
    return workers.length < maxThreads ? null : least;
  };
}
