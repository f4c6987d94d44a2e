import type { StreamDelta } from '../protocol/model.ts';

/**
 * Merges what streams in while the event loop is busy: adjacent pieces of one kind become one, shown once per turn of the
 * loop or when flushed. Deltas are a preview; showing each token as its own event would cost more than the step.
 */
export interface DeltaCoalescer {
  add(delta: StreamDelta): void;
  flush(): void;
}

export function createDeltaCoalescer(show: (delta: StreamDelta) => void): DeltaCoalescer {
  let waiting: StreamDelta[] = [];
  let isScheduled = false;

  function flush(): void {
    const ready = waiting;
    waiting = [];
    for (const delta of ready) show(delta);
  }

  return {
    add(delta) {
      if (delta.text === '') return;
      const last = waiting.at(-1);
      if (last !== undefined && last.kind === delta.kind) {
        waiting[waiting.length - 1] = { kind: delta.kind, text: last.text + delta.text };
      } else waiting.push(delta);
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(() => {
        isScheduled = false;
        flush();
      });
    },
    flush,
  };
}
