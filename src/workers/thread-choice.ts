import { type Piscina, queueOptionsSymbol } from 'piscina';

type ChooseThread = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']>;

/**
 * Sends a run to the thread with the fewest, and starts another thread as long as all have one and there may be more:
 * Piscina's own way fills one thread before it starts the next.
 */
export function chooseThread(maxThreads: number): ChooseThread {
  return (task, workers) => {
    let least: (typeof workers)[number] | undefined;
    for (const worker of workers) {
      if (least === undefined || worker.currentUsage < least.currentUsage) least = worker;
    }
    if (least === undefined || (least.currentUsage > 0 && workers.length < maxThreads)) return null;
    toSent(task[queueOptionsSymbol])?.onSent(least.id);
    return least;
  };
}

/** Hears which thread a job goes to. */
export interface Sent {
  onSent(thread: number): void;
}

/** Ties a job to who hears where it goes. A symbol does not cross to the thread. */
export function tellSent<T extends object>(job: T, sent: Sent): T {
  return Object.assign(job, { [queueOptionsSymbol]: sent });
}

function toSent(options: unknown): Sent | undefined {
  return typeof options === 'object' && options !== null && 'onSent' in options ? (options as Sent) : undefined;
}
