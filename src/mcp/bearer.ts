import type { Challenge } from './oauth/discovery.ts';
import { needsAuth } from './oauth/errors.ts';

/** Puts a token into requests, and another one after a refusal. */
export interface Bearer {
  readonly credentials: ServerCredentials;
  /** Whether the token may go to this address of the server. */
  covers(target: URL): boolean;
  readChallenge(response: Response): Challenge;
}

/** The token of one server in use. */
export interface ServerCredentials {
  /** The token to send now. */
  token(): Promise<string | undefined>;
  /** The server refused a request made with `used`; another token to try, or undefined. */
  refused(challenge: Challenge, used: string | undefined): Promise<string | undefined>;
}

/**
 * Sends a request with the token of the server, and once more with another one when the server refuses it.
 * @throws EngineError `needs_auth` when the token does not allow enough
 */
export async function sendWithToken(
  bearer: Bearer,
  headers: Headers,
  send: () => Promise<Response>,
): Promise<Response> {
  const { credentials } = bearer;
  const token = await credentials.token();
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  const response = await send();
  if (response.status !== 401 && response.status !== 403) return response;
  const challenge = bearer.readChallenge(response);
  if (response.status === 403 && !challenge.isInsufficient) return response;
  const other = await credentials.refused(challenge, token);
  if (other !== undefined && other !== token) {
    await response.body?.cancel();
    headers.set('authorization', `Bearer ${other}`);
    return await send();
  }
  if (!challenge.isInsufficient) return response;
  await response.body?.cancel();
  throw needsAuth();
}
