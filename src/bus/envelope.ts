import type { Clock } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import { absentCallId, type RunId } from '../protocol/ids.ts';
import { isJsonObject, type JsonObject, ownValue } from '../protocol/json.ts';
import { type BusEvent, ephemeralTypes, type EventType, isEventType } from './events.ts';

/** Version of the envelope; lines without one are version 1. */
export const envelopeSchema = 2;

/** An event with its place in its run and its time. `seq` is absent for ephemeral events and events without a run. */
export interface Envelope<T extends EventType = EventType> {
  readonly schema: typeof envelopeSchema;
  readonly seq?: number;
  /** RFC 3339, UTC. */
  readonly at: string;
  readonly event: BusEvent<T>;
}

/** The only place that numbers events: per run from 1, without gaps. */
export interface Stamper {
  /** Works on a bare `{type, run}`: the schema is someone else's check. `isEphemeral` is looked up when it is not given. */
  stamp<E extends { readonly type: string }>(
    event: E,
    isEphemeral?: boolean,
  ): { schema: typeof envelopeSchema; seq?: number; at: string; event: E };
  /** The next number of this run is at least `last + 1`; never goes back. */
  resumeSequence(run: RunId, last: number): void;
  /** The last number given in this run, 0 when there was none. */
  lastSequence(run: RunId): number;
  /** Forgets the count of a run that has ended. */
  forget(run: RunId): void;
}

export function createStamper(clock: Pick<Clock, 'now'>): Stamper {
  const last = new Map<unknown, { seq: number }>();
  let atMs = Number.NaN;
  let at = '';

  // why: formatting a date costs more than everything else here, and bursts share a millisecond
  function timestamp(): string {
    const now = clock.now();
    if (now !== atMs) {
      atMs = now;
      at = new Date(now).toISOString();
    }
    return at;
  }

  function nextSequence(run: unknown): number {
    const counter = last.get(run);
    if (counter === undefined) {
      last.set(run, { seq: 1 });
      return 1;
    }
    counter.seq += 1;
    return counter.seq;
  }

  return {
    stamp(event, isEphemeral = ephemeralTypes.has(event.type)) {
      const run = (event as { readonly run?: unknown }).run;
      if (typeof run !== 'string' || isEphemeral) {
        return { schema: envelopeSchema, at: timestamp(), event };
      }
      return { schema: envelopeSchema, seq: nextSequence(run), at: timestamp(), event };
    },
    resumeSequence(run, sequence) {
      const counter = last.get(run);
      if (counter === undefined) last.set(run, { seq: sequence });
      else counter.seq = Math.max(counter.seq, sequence);
    },
    lastSequence: (run) => last.get(run)?.seq ?? 0,
    forget: (run) => void last.delete(run),
  };
}

/** One stored line as it reads today. */
export type StoredEnvelope =
  | { readonly schema: number; readonly seq?: number; readonly at: string; readonly event: JsonObject }
  /** A type this version does not know: readers pass over it. */
  | { readonly schema: number; readonly seq?: number; readonly at: string; readonly ignored: true };

/** What fields absent in older lines read as (agent-runtime section 8). */
const olderFields: { readonly [type: string]: JsonObject } = {
  agent_started: { subtask: null, model: '' },
  tool_called: { call: absentCallId, subtask: null },
  tool_returned: {
    call: absentCallId,
    subtask: null,
    exit_code: null,
    timed_out: false,
    output_chars: 0,
    output_file: null,
  },
};

/**
 * Reads one line of an event log.
 * @throws EngineError `storage` when the line is no envelope
 */
export function readEnvelopeLine(line: string): StoredEnvelope {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch (cause) {
    throw new EngineError('storage', 'event log line is not JSON', { cause });
  }
  const event = isJsonObject(parsed) ? ownValue(parsed, 'event') : undefined;
  const type = isJsonObject(event) ? ownValue(event, 'type') : undefined;
  if (!isJsonObject(parsed) || !isJsonObject(event) || typeof type !== 'string') {
    throw new EngineError('storage', 'event log line has no event with a type');
  }
  const { schema, seq, at } = parsed;
  const head = {
    schema: typeof schema === 'number' ? schema : 1,
    ...(typeof seq === 'number' ? { seq } : {}),
    at: typeof at === 'string' ? at : '',
  };
  if (!isEventType(type)) return { ...head, ignored: true };
  return { ...head, event: { ...(Object.hasOwn(olderFields, type) ? olderFields[type] : {}), ...event } };
}
