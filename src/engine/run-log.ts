import type { Bus } from '../bus/bus.ts';
import type { Envelope } from '../bus/envelope.ts';
import type { BusEvent } from '../bus/events.ts';
import { type EventStream, isLagged } from '../bus/stream.ts';
import { EngineError } from '../protocol/error.ts';
import type { RunId } from '../protocol/ids.ts';
import { PackedEvents } from './packed-events.ts';

/** The numbered events of one run, in memory, for readers that come late. Collects from the start. */
export class RunLog {
  readonly #bus: Bus;
  readonly #run: RunId;
  readonly #numbered = new PackedEvents();
  #off: (() => void) | undefined;
  #streams: Set<EventStream> | undefined;

  constructor(bus: Bus, run: RunId) {
    this.#bus = bus;
    this.#run = run;
    this.#collect();
  }

  /**
   * From event number `from` (default: only what comes from now on, ephemeral events included) to the end of the run: first
   * what happened, then live, no gap, no repeat.
   * @throws EngineError `invalid_request` for a `from` below 1
   */
  async *read(options: { readonly from?: number } = {}): AsyncGenerator<Envelope, void, undefined> {
    const { from } = options;
    if (from !== undefined && (!Number.isSafeInteger(from) || from < 1)) {
      throw new EngineError('invalid_request', `events({from}) takes an event number from 1 on, not ${from}`);
    }
    // why: subscribed before the past is read, so nothing falls between
    await using stream = this.#bus.stream({ run: this.#run });
    this.#follow(stream);
    let next = from ?? this.#numbered.last() + 1;
    const numbered = this.#numbered;
    function* past(): Generator<Envelope, void, undefined> {
      for (const envelope of numbered.from(next)) {
        next = (envelope.seq ?? next) + 1;
        yield envelope;
      }
    }
    yield* past();
    for await (const item of stream) {
      if (isLagged(item)) yield* past();
      else if (item.seq === undefined) yield item;
      else if (item.seq >= next) {
        next = item.seq + 1;
        yield item;
      }
    }
    yield* past();
  }

  /** All that happened so far. */
  *seen(): Generator<BusEvent, void, undefined> {
    for (const { event } of this.#numbered.from(1)) yield event;
  }

  /** No event follows until the run goes on. */
  end(): void {
    this.#off?.();
    this.#off = undefined;
    for (const stream of this.#streams ?? []) stream.close();
    this.#streams = undefined;
  }

  /** The run goes on: events are collected again, numbered after those before. */
  reopen(): void {
    this.#bus.resumeSequence(this.#run, this.#numbered.last());
    this.#collect();
  }

  #collect(): void {
    this.#off = this.#bus.on({ run: this.#run }, (envelope) => {
      if (envelope.seq !== undefined) this.#numbered.push(envelope);
    });
  }

  /** A reader ends with the run. */
  #follow(stream: EventStream): void {
    if (this.#off === undefined) stream.close();
    else {
      this.#streams ??= new Set();
      this.#streams.add(stream);
      stream.onClose(() => this.#streams?.delete(stream));
    }
  }
}
