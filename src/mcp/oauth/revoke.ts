import type { FetchLike } from '@modelcontextprotocol/client';
import { ownValue } from '../../protocol/json.ts';
import { childSignal, untilAborted } from '../../protocol/signal.ts';
import type { Sdk } from './discovery.ts';
import type { TokenSession } from './session.ts';
import type { ClientRow, TokenRow } from './vault.ts';

/** How long a revocation may take, in milliseconds (mcp-host 10.6). */
const revokeMs = 10_000;

export interface Revocation {
  readonly sdk: Sdk;
  readonly session: TokenSession;
  readonly row: TokenRow;
  readonly client: ClientRow | undefined;
  readonly fetch: FetchLike;
}

/** Tells the authorization server that the tokens are no longer used, where it offers that. Never rejects: it is best effort. */
export async function revokeTokens(revocation: Revocation): Promise<void> {
  using limit = childSignal(undefined, revokeMs);
  try {
    await untilAborted(revoke(revocation), limit.signal);
  } catch {
    // why: the token is deleted here in any case, and there it ends by itself
  }
}

async function revoke({ sdk, session, row, client, fetch }: Revocation): Promise<void> {
  // why: endpoints entered by hand name none for revocation
  if (client?.endpoints !== undefined) return;
  const { issuer, metadata } = await session.authorizationServer(sdk);
  const endpoint = metadata === undefined ? undefined : ownValue(metadata, 'revocation_endpoint');
  if (issuer !== row.issuer || typeof endpoint !== 'string') return;
  const body = new URLSearchParams({ client_id: row.client_id });
  const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' });
  if (client?.client_secret !== undefined) {
    const words = [row.client_id, client.client_secret].map(encodeURIComponent).join(':');
    headers.set('authorization', `Basic ${Buffer.from(words).toString('base64')}`);
  }
  // why: with the refresh token the tokens made from it end as well
  body.set('token', row.refresh_token ?? row.access_token);
  body.set('token_type_hint', row.refresh_token === undefined ? 'access_token' : 'refresh_token');
  await fetch(endpoint, { method: 'POST', headers, body });
}
