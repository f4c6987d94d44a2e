import { randomBytes, randomUUID } from 'node:crypto';
import { EngineError } from './error.ts';

declare const brand: unique symbol;

/** A UUID v4 text. */
export type RunId = string & { readonly [brand]: 'run' };
/** Twelve lower-case hex digits. */
export type CallId = string & { readonly [brand]: 'call' };

/** Where ids come from; a field of the engine's options so that tests can fix them. */
export interface NewId {
  run(): RunId;
  call(): CallId;
  uuid(): string;
}

/** What a call id reads as in logs older than call ids. */
export const absentCallId = '000000000000' as CallId;

/** Ids from the system's random source. One per engine. */
export function createRandomIds(): NewId {
  // why: one system call per id would cost more than a whole agent step, so a block of random bytes is drawn at a time
  let block = '';
  let offset = 0;

  function call(): CallId {
    if (offset === block.length) {
      block = randomBytes(6 * 256).toString('hex');
      offset = 0;
    }
    const id = block.slice(offset, offset + 12) as CallId;
    offset += 12;
    return id === absentCallId ? call() : id;
  }

  return { run: () => randomUUID() as RunId, call, uuid: () => randomUUID() };
}

/**
 * Reads a call id: exactly 12 hex digits in any case, returned in lower case.
 * @throws EngineError `invalid_request`
 */
export function parseCallId(text: string): CallId {
  if (!/^[0-9a-f]{12}$/i.test(text)) {
    throw new EngineError('invalid_request', `invalid call id \`${text}\`: expected 12 hex digits`);
  }
  return text.toLowerCase() as CallId;
}
