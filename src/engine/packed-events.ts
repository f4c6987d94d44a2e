import { type Envelope, envelopeSchema } from '../bus/envelope.ts';
import { type BusEvent, events, type EventType, isEventType } from '../bus/events.ts';

/**
 * The numbered events of one run in little room: values without their keys, and what all of them share once. As objects they
 * would be more than half of what a run holds.
 */
export class PackedEvents {
  /** For each event its layout, its time and its values, or itself. */
  readonly #slots: unknown[] = [];
  #shared: SharedFields | undefined;
  #count = 0;
  #last = 0;

  /** Of the last event; 0 when there is none. */
  last(): number {
    return this.#last;
  }

  /** Takes the event that follows the last one. */
  push({ seq, at, event }: Envelope): void {
    const fields = event as unknown as Fields;
    this.#shared ??= { run: fields['run'], role: fields['role'], subtask: fields['subtask'] };
    const layout = this.#layoutOf(fields);
    this.#slots.push(layout, at);
    if (layout.isWhole) this.#slots.push(event);
    else for (const key of layout.keys) this.#slots.push(fields[key]);
    this.#count += 1;
    this.#last = seq ?? this.#last;
  }

  /** From an event number on, made anew. */
  *from(sequence: number): Generator<Envelope, void, undefined> {
    let index = 0;
    let seq = this.#last - this.#count;
    while (index < this.#slots.length) {
      const layout = this.#slots[index] as Layout;
      seq += 1;
      if (seq >= sequence) {
        const event = layout.isWhole ? this.#slots[index + 2] : this.#unpack(layout, index + 2);
        const at = this.#slots[index + 1] as string;
        yield Object.freeze({ schema: envelopeSchema, seq, at, event: event as BusEvent });
      }
      index += 2 + (layout.isWhole ? 1 : layout.keys.length);
    }
  }

  #layoutOf(fields: Fields): Layout {
    const layout = layouts.get(fields['type'] as EventType) ?? whole;
    const isShared = layout.shared.every((key) => fields[key] === this.#shared?.[key]);
    return isShared ? layout : whole;
  }

  #unpack(layout: Layout, start: number): object {
    const event: Record<string, unknown> = { type: layout.type };
    for (const key of layout.shared) event[key] = this.#shared?.[key];
    for (const [offset, key] of layout.keys.entries()) {
      const value = this.#slots[start + offset];
      if (value !== undefined) event[key] = value;
    }
    return Object.freeze(event);
  }
}

type Fields = { readonly [key: string]: unknown };
type SharedFields = { readonly [key in (typeof sharedKeys)[number]]: unknown };

/** How the events of one type lie in the slots. */
interface Layout {
  readonly type: string;
  readonly keys: readonly string[];
  /** Fields that are the run's own. */
  readonly shared: readonly (keyof SharedFields)[];
  /** The event is kept as it is. */
  readonly isWhole: boolean;
}

const sharedKeys = ['run', 'role', 'subtask'] as const;
const whole: Layout = { type: '', keys: [], shared: [], isWhole: true };

/** Of the types with fields of their own; the others may hold any. */
const layouts: ReadonlyMap<EventType, Layout> = new Map(
  Object.entries(events).flatMap(([type, schema]) => {
    const fields = Object.keys(schema.shape);
    if (!isEventType(type) || fields.length < 2) return [];
    const shared = sharedKeys.filter((key) => fields.includes(key));
    return [[type, { type, keys: fields.filter((key) => !shared.includes(key as 'run')), shared, isWhole: false }]];
  }),
);
