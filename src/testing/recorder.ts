import type { Bus } from '../bus/bus.ts';
import type { Envelope } from '../bus/envelope.ts';
import type { EventType } from '../bus/events.ts';

/** Remembers every event of a bus, and lets a test wait for one instead of sleeping. */
export interface EventRecorder extends Disposable {
  readonly envelopes: readonly Envelope[];
  /** The types seen, in order. */
  types(): readonly EventType[];
  /** The first event of this type that was not handed out by an earlier `next` of the type. */
  next<T extends EventType>(type: T): Promise<Envelope<T>>;
}

export function createRecorder(bus: Bus): EventRecorder {
  const envelopes: Envelope[] = [];
  const taken = new Map<EventType, number>();
  const waiting: { readonly type: EventType; resolve(envelope: Envelope): void }[] = [];
  const off = bus.on('*', (envelope) => {
    envelopes.push(envelope);
    const index = waiting.findIndex((entry) => entry.type === envelope.event.type);
    if (index < 0) return;
    take(envelope.event.type);
    waiting.splice(index, 1)[0]?.resolve(envelope);
  });

  function take(type: EventType): number {
    const count = taken.get(type) ?? 0;
    taken.set(type, count + 1);
    return count;
  }

  return {
    envelopes,
    types: () => envelopes.map(({ event }) => event.type),
    next<T extends EventType>(type: T): Promise<Envelope<T>> {
      const seen = envelopes.filter((envelope) => envelope.event.type === type);
      const envelope = seen[taken.get(type) ?? 0];
      if (envelope !== undefined) {
        take(type);
        return Promise.resolve(envelope as Envelope<T>);
      }
      return new Promise((resolve) => waiting.push({ type, resolve: resolve as (envelope: Envelope) => void }));
    },
    [Symbol.dispose]: off,
  };
}
