import { setMaxListeners } from 'node:events';
import type { Bus } from '../bus/bus.ts';
import type { Envelope } from '../bus/envelope.ts';
import { isLagged } from '../bus/stream.ts';
import { EngineError } from '../protocol/error.ts';
import type { RunId } from '../protocol/ids.ts';

/** The numbered events of one run, in memory, for readers that come late. */
export interface RunLog {
  /**
   * From event number `from` (default: only what comes from now on, ephemeral events included) to the end of the run: first
   * what happened, then live, no gap, no repeat.
   */
  read(options?: { readonly from?: number }): AsyncGenerator<Envelope, void, undefined>;
  /** No event follows until the run goes on. */
  end(): void;
  /** The run goes on: events are collected again, numbered after those before. */
  reopen(): void;
}

/** Starts collecting at once. */
export function createRunLog(bus: Bus, run: RunId): RunLog {
  const numbered: Envelope[] = [];
  let session = open();

  function open(): { readonly signal: AbortSignal; end(): void } {
    const ended = new AbortController();
    setMaxListeners(0, ended.signal); // one for each reader
    const off = bus.on({ run }, (envelope) => {
      if (envelope.seq !== undefined) numbered.push(envelope);
    });
    return {
      signal: ended.signal,
      end() {
        off();
        ended.abort();
      },
    };
  }

  /** Numbered events from a sequence number on. */
  function since(sequence: number): readonly Envelope[] {
    let low = 0;
    let high = numbered.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((numbered[middle]?.seq ?? 0) < sequence) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? numbered : numbered.slice(low);
  }

  async function* read(options: { readonly from?: number } = {}): AsyncGenerator<Envelope, void, undefined> {
    const { from } = options;
    if (from !== undefined && (!Number.isSafeInteger(from) || from < 1)) {
      throw new EngineError('invalid_request', `events({from}) takes an event number from 1 on, not ${from}`);
    }
    // why: subscribed before the past is read, so nothing falls between
    await using stream = bus.stream({ run, signal: session.signal });
    let next = from ?? (numbered.at(-1)?.seq ?? 0) + 1;
    function* past(): Generator<Envelope, void, undefined> {
      for (const envelope of since(next)) {
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

  return {
    read,
    end: () => session.end(),
    reopen() {
      bus.resumeSequence(run, numbered.at(-1)?.seq ?? 0);
      session = open();
    },
  };
}
