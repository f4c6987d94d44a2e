import { randomBytes } from 'node:crypto';
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

  function draw(digits: number): string {
    if (offset + digits > block.length) {
      block = randomBytes(blockBytes).toString('hex');
      offset = 0;
    }
    offset += digits;
    return block.slice(offset - digits, offset);
  }

  function call(): CallId {
    const id = draw(12) as CallId;
    return id === absentCallId ? call() : id;
  }

  function uuid(): string {
    const hex = draw(32);
    const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
    const parts = [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      variant + hex.slice(17, 20),
      hex.slice(20),
    ];
    // why: joined it is one flat string; one that is put together by `+`, as that of `randomUUID`, takes ten times the room
    return parts.join('-');
  }

  return { run: () => uuid() as RunId, call, uuid };
}

const blockBytes = 6 * 256;

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
