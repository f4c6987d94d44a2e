import { z } from 'zod';
import { type Envelope, envelopeSchema } from '../bus/envelope.ts';
import { type BusEvent, events, type EventType, isEventType } from '../bus/events.ts';
import { SlotList } from './slot-list.ts';

/**
 * The numbered events of one run in little room: values without their keys, what all of them share once, and what most events
 * of a type say not at all. As objects they would be more than half of what a run holds.
 */
export class PackedEvents {
  /** For each event its time when it is another than that of the event before, its layout, and its values or itself. */
  readonly #slots = new SlotList();
  #shared: SharedFields | undefined;
  #at = '';
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
    if (at !== this.#at) {
      this.#at = at;
      this.#slots.push(at);
    }
    this.#slots.push(layout);
    if (layout.isWhole) this.#slots.push(event);
    else for (const key of layout.keys) this.#slots.push(fields[key]);
    this.#count += 1;
    this.#last = seq ?? this.#last;
  }

  /** From an event number on, made anew. */
  *from(sequence: number): Generator<Envelope, void, undefined> {
    const slots = this.#slots.values();
    let seq = this.#last - this.#count;
    let at = '';
    for (const slot of slots) {
      if (typeof slot === 'string') {
        at = slot;
        continue;
      }
      const event = this.#read(slot as Layout, slots);
      seq += 1;
      if (seq >= sequence) yield Object.freeze({ schema: envelopeSchema, seq, at, event });
    }
  }

  #layoutOf(fields: Fields): Layout {
    const layout = layouts.get(fields['type'] as EventType);
    if (layout === undefined || !layout.shared.every((key) => fields[key] === this.#shared?.[key])) return whole;
    for (const [key, value] of layout.usual) if (fields[key] !== value) return layout.unusual;
    return layout;
  }

  #read(layout: Layout, slots: Iterator<unknown>): BusEvent {
    if (layout.isWhole) return slots.next().value as BusEvent;
    const event: Record<string, unknown> = { type: layout.type };
    for (const key of layout.shared) event[key] = this.#shared?.[key];
    for (const key of layout.keys) {
      const { value } = slots.next();
      if (value !== undefined) event[key] = value;
    }
    for (const [key, value] of layout.usual) event[key] = value;
    return Object.freeze(event) as unknown as BusEvent;
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
  /** Fields without a slot, as most events of the type have them. */
  readonly usual: readonly (readonly [key: string, value: false | null])[];
  /** The event is kept as it is. */
  readonly isWhole: boolean;
}

interface UsualLayout extends Layout {
  /** Of the events that say something else in one of the usual fields. */
  readonly unusual: Layout;
}

const sharedKeys = ['run', 'role', 'subtask'] as const;
const whole: Layout = { type: '', keys: [], shared: [], usual: [], isWhole: true };

/** Of the types with fields of their own; the others may hold any. */
const layouts: ReadonlyMap<EventType, UsualLayout> = new Map(
  Object.entries(events).flatMap(([type, schema]) => {
    const fields = Object.keys(schema.shape);
    if (!isEventType(type) || fields.length < 2) return [];
    const shared = sharedKeys.filter((key) => fields.includes(key));
    const own = fields.filter((key) => !shared.includes(key as 'run'));
    const usual = own.flatMap((key): Layout['usual'] => {
      const field: unknown = (schema.shape as Fields)[key];
      if (field instanceof z.ZodBoolean) return [[key, false]];
      return field instanceof z.ZodNullable ? [[key, null]] : [];
    });
    const unusual: Layout = { type, keys: own, shared, usual: [], isWhole: false };
    const keys = own.filter((key) => !usual.some(([name]) => name === key));
    return [[type, { ...unusual, keys, usual, unusual }]];
  }),
);
