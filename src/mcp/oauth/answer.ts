import { createHash, timingSafeEqual } from 'node:crypto';
import { oauthError } from './errors.ts';

/** What the browser brought back. `code` and `error` exclude each other. */
export interface CallbackAnswer {
  /** Absent for a bare code the user typed in. */
  readonly state: string | undefined;
  readonly code: string | undefined;
  readonly iss: string | undefined;
  /** Foreign text. */
  readonly error: string | undefined;
}

/** Reads the query of a callback; a doubled or missing parameter makes it none (OA1). @throws EngineError `oauth_state_mismatch` */
export function readCallback(query: URLSearchParams): CallbackAnswer {
  const [state, code, iss, error] = ['state', 'code', 'iss', 'error'].map((name) => {
    const values = query.getAll(name);
    if (values.length > 1) throw oauthError('oauth_state_mismatch');
    return values[0];
  });
  if (state === undefined || (code === undefined) === (error === undefined)) throw oauthError('oauth_state_mismatch');
  return { state, code, iss, error };
}

/**
 * Reads what a user pasted: the whole address the browser was sent to, or the code alone.
 * @throws EngineError `oauth_state_mismatch` for the address of another flow, or none of ours
 */
export function readPasted(text: string, redirectUri: string): CallbackAnswer {
  const pasted = text.trim();
  if (!/^https?:\/\//i.test(pasted) || !URL.canParse(pasted)) {
    if (!/^[\x21-\x7e]{1,4096}$/.test(pasted)) throw oauthError('oauth_state_mismatch');
    return { state: undefined, code: pasted, iss: undefined, error: undefined };
  }
  const [url, expected] = [new URL(pasted), new URL(redirectUri)];
  if (url.origin !== expected.origin || url.pathname !== expected.pathname) throw oauthError('oauth_state_mismatch');
  return readCallback(url.searchParams);
}

/** Compares two texts in a time that does not tell where they differ. */
export function isSameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
