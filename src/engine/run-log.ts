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
  /** No event of this run follows. */
  end(): void;
}

/** Starts collecting at once. */
export function createRunLog(bus: Bus, run: RunId): RunLog {
  const numbered: Envelope[] = [];
  const ended = new AbortController();
  const firstSequence = bus.lastSequence(run) + 1;
  const off = bus.on({ run }, (envelope) => {
    if (envelope.seq !== undefined) numbered.push(envelope);
  });

  /** Numbered events from a sequence number on; they lie in order without gaps. */
  function since(sequence: number): readonly Envelope[] {
    return numbered.slice(Math.max(0, sequence - firstSequence));
  }

  async function* read(options: { readonly from?: number } = {}): AsyncGenerator<Envelope, void, undefined> {
    const { from } = options;
    if (from !== undefined && (!Number.isSafeInteger(from) || from < 1)) {
      throw new EngineError('invalid_request', `events({from}) takes an event number from 1 on, not ${from}`);
    }
    // why: subscribed before the past is read, so nothing falls between
    await using stream = bus.stream({ run, signal: ended.signal });
    let next = from ?? firstSequence + numbered.length;
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
    end() {
      off();
      ended.abort();
    },
  };
}
