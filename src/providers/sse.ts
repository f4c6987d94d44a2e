import { createParser } from 'eventsource-parser';
import { EngineError } from '../protocol/error.ts';

export interface ServerSentEvent {
  /** The `event:` field; absent when the server sent none. */
  readonly event?: string | undefined;
  readonly data: string;
}

export interface EventStreamReader {
  /** Takes the next bytes, split anywhere. */
  push(chunk: Uint8Array): void;
  /** The bytes are over; an event that was not closed by a blank line is dropped. */
  end(): void;
}

/** Longest event, in characters. Source: reliability AG7. */
const maxEventLength = 16 * 1024 * 1024;

/**
 * Reads a stream of server-sent events: LF, CR or CRLF, split anywhere, also inside a character.
 * Invalid UTF-8 becomes U+FFFD.
 * @throws EngineError `server_error` from `push` when one event is longer than `maxLength`
 */
export function createEventStreamReader(
  onEvent: (event: ServerSentEvent) => void,
  maxLength = maxEventLength,
): EventStreamReader {
  const decoder = new TextDecoder();
  let tooLong = false;
  let endsWithReturn = false;
  const parser = createParser({
    onEvent,
    onError: (error) => {
      // unknown fields and odd retry values are ignored, as the format asks
      tooLong ||= error.type === 'max-buffer-size-exceeded';
    },
    maxBufferSize: maxLength,
  });

  function feed(text: string): void {
    if (text === '') return;
    endsWithReturn = text.endsWith('\r');
    parser.feed(text);
    if (tooLong) throw new EngineError('server_error', `an event of the stream is longer than ${maxLength} characters`);
  }

  return {
    push: (chunk) => feed(decoder.decode(chunk, { stream: true })),
    end: () => {
      feed(decoder.decode());
      // why: the parser holds a final CR back, since an LF could follow it; with it the last event would be lost
      if (endsWithReturn) feed('\n');
    },
  };
}
