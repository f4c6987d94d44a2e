import { EngineError, messageOf } from '../protocol/error.ts';
import type { OnDelta, StreamDelta } from '../protocol/model.ts';
import type { ServerSentEvent } from './sse.ts';
import { scrubSecrets } from './scrub.ts';

/** Puts the events of one dialect's stream together to the answer it would have given in one piece. */
export interface StreamAssembler {
  /**
   * Takes the next event; whether it was a sign of progress (keep-alives are not).
   * @throws EngineError the failure that an error event tells
   */
  take(event: ServerSentEvent): boolean;
  /** Whether the closing event was seen: nothing more is to come. */
  isClosed(): boolean;
  /**
   * The whole answer, for the dialect's reader.
   * @throws EngineError `network` when the stream ended before it was complete
   */
  finish(): unknown;
}

/** @throws EngineError `server_error` when the data of an event is no JSON */
export function parseEventData(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw malformedJson(data, cause);
  }
}

export function malformedJson(text: string, cause: unknown): EngineError {
  const start = text.length > 200 ? `${text.slice(0, 200).toWellFormed()}…` : text;
  const message = scrubSecrets(`malformed JSON response (${messageOf(cause)}): ${start}`);
  return new EngineError('server_error', message);
}

export function endedEarly(): EngineError {
  return new EngineError('network', 'the stream ended before the answer was complete');
}

/**
 * Passes text pieces on as deltas: no empty ones, and never half a character, should a provider split one between two
 * events.
 */
export function createDeltaSink(onDelta: OnDelta): (kind: StreamDelta['kind'], text: string) => void {
  const held = { text: '', thinking: '' };
  return (kind, text) => {
    const whole = held[kind] + text;
    const last = whole.charCodeAt(whole.length - 1);
    const endsInside = last >= 0xd800 && last <= 0xdbff;
    held[kind] = endsInside ? whole.slice(-1) : '';
    const piece = endsInside ? whole.slice(0, -1) : whole;
    if (piece !== '') onDelta({ kind, text: piece.toWellFormed() });
  };
}
