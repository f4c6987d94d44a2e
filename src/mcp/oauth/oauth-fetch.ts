import type { FetchLike } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { childSignal } from '../../protocol/signal.ts';
import type { AddressCheck } from './addresses.ts';
import { toOAuthCode } from './errors.ts';

/** Limits of one exchange with an authorization server (OA6). */
const maxBodyBytes = 1_024 * 1_024;
const exchangeMs = 30_000;

export interface OAuthFetchOptions {
  readonly fetch: typeof fetch;
  readonly addresses: AddressCheck;
  readonly signal?: AbortSignal;
}

/** An answer that is no answer of the protocol, by the facts that may be shown. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
  /** `HTTP <status>, <content type>`. */
  readonly facts: string;

  constructor(response: Response) {
    const [essence = ''] = (response.headers.get('content-type') ?? '').split(';');
    const type = essence.trim().replaceAll(/[^\w/.+-]/g, '');
    const facts = `HTTP ${response.status}, ${type.slice(0, 64) || 'no content type'}`;
    super(facts);
    this.facts = facts;
  }
}

/**
 * `fetch` towards authorization servers: judges every address, reads at most 1 MiB, waits at most 30 s, follows no
 * redirect by itself and none at all of a request that carries something.
 */
export function createOAuthFetch(options: OAuthFetchOptions): FetchLike {
  return async (address, init) => {
    const url = new URL(address);
    await options.addresses.require(url);
    using limit = childSignal(options.signal, exchangeMs);
    const isReading = (init?.method ?? 'GET') === 'GET';
    const send = async (): Promise<Response> =>
      await options.fetch(url, { ...init, redirect: 'manual', signal: limit.signal });
    const response = await send().catch(async (error: unknown) => {
      // why: a kept connection may have been closed by the other side at that moment; reading again changes nothing
      if (!isReading || !isBrokenConnection(error)) throw error;
      return await send();
    });
    const isRedirect = response.status >= 300 && response.status < 400;
    if (isRedirect && !isReading) {
      await response.body?.cancel();
      throw new UnusableAnswer(response);
    }
    const body = await readBody(response);
    const { status, statusText, headers } = response;
    return new Response(body.length === 0 ? null : body, { status, statusText, headers });
  };
}

/**
 * The same towards a token endpoint. An answer without an error is taken only when it is JSON with a bearer token in it;
 * a lifetime that is no positive number is an unknown one (OA4).
 * @throws UnusableAnswer
 */
export function createTokenFetch(inner: FetchLike): FetchLike {
  return async (address, init) => {
    const response = await inner(address, init);
    const answer = await readJson(response);
    if (answer === undefined) throw new UnusableAnswer(response);
    const error = toOAuthCode(answer['error']);
    // why: the description is foreign text, which the SDK would quote
    if (error !== undefined) return Response.json({ error }, { status: Math.max(response.status, 400) });
    const { access_token, token_type, refresh_token, scope, expires_in } = answer;
    const isBearer = typeof token_type === 'string' && token_type.toLowerCase() === 'bearer';
    if (!response.ok || typeof access_token !== 'string' || access_token === '' || !isBearer) {
      throw new UnusableAnswer(response);
    }
    const lifetime = typeof expires_in === 'string' ? Number(expires_in) : expires_in;
    return Response.json({
      access_token,
      token_type,
      ...(typeof refresh_token === 'string' && refresh_token !== '' ? { refresh_token } : {}),
      ...(typeof scope === 'string' ? { scope } : {}),
      ...(typeof lifetime === 'number' && Number.isFinite(lifetime) && lifetime > 0 ? { expires_in: lifetime } : {}),
    });
  };
}

function isBrokenConnection(error: unknown): boolean {
  const cause = error instanceof TypeError ? error.cause : undefined;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
}

async function readJson(response: Response): Promise<JsonObject | undefined> {
  try {
    const value: unknown = JSON.parse(await response.text());
    return isJsonObject(value) ? value : undefined;
  } catch {
    // why: what is no JSON is told by its status and type, never by its text
    return undefined;
  }
}

async function readBody(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new UnusableAnswer(response);
    chunks.push(chunk);
  }
  return Uint8Array.from(Buffer.concat(chunks));
}
