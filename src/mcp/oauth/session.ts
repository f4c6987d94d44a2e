import type { FetchLike } from '@modelcontextprotocol/client';
import type { Clock, Logger } from '../../protocol/deps.ts';
import { isEngineError, toEngineError } from '../../protocol/error.ts';
import { isJsonObject, ownValue } from '../../protocol/json.ts';
import type { AddressCheck } from './addresses.ts';
import {
  type AuthorizationServer,
  type Challenge,
  findAuthorizationServer,
  type Sdk,
  toAuthorizationServer,
} from './discovery.ts';
import { exchangeRefreshToken, toTokenRow } from './exchange.ts';
import type { ClientRow, TokenRow, Vault } from './vault.ts';

/** A token is replaced so long before it expires, in milliseconds (mcp-host 10.2). */
const earlyMs = 60_000;

export interface SessionOptions {
  readonly server: string;
  /** The record's address, filled in; absent for a program. */
  readonly serverUrl: string | undefined;
  readonly issuer: string | undefined;
  readonly redirectUri: string;
  readonly vault: Vault;
  readonly fetch: FetchLike;
  readonly addresses: AddressCheck;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly loadSdk: () => Promise<Sdk>;
}

/** The token of one server in use: kept fresh, replaced once for all who need it. */
export interface TokenSession {
  /** The stored token if it was issued for this address. */
  current(): Promise<TokenRow | undefined>;
  /** The token to send now; one that is about to expire is replaced first. */
  token(): Promise<string | undefined>;
  /**
   * The server refused a request made with `used`.
   * @returns another token to try; undefined when only the user can help
   */
  refused(challenge: Challenge, used: string | undefined): Promise<string | undefined>;
  /** What the server last refused with. */
  challenge(): Challenge | undefined;
  /** The authorization server as it was last found; found anew after a refusal. */
  authorizationServer(sdk: Sdk): Promise<AuthorizationServer>;
  /** A new token was stored. */
  settled(): void;
}

export function createTokenSession(options: SessionOptions): TokenSession {
  const { server, serverUrl, vault, clock, logger } = options;
  let challenge: Challenge | undefined;
  let found: Promise<AuthorizationServer> | undefined;
  let renewing: Promise<string | undefined> | undefined;

  async function current(): Promise<TokenRow | undefined> {
    const row = await vault.tokens();
    return row !== undefined && isSameAddress(row.server_url, serverUrl ?? '') ? row : undefined;
  }

  async function token(): Promise<string | undefined> {
    const row = await current();
    if (row?.expires_at === undefined || row.refresh_token === undefined) return row?.access_token;
    if (clock.now() < row.expires_at - earlyMs) return row.access_token;
    try {
      return await renew(row.access_token);
    } catch (error) {
      if (clock.now() < row.expires_at) return row.access_token;
      throw error;
    }
  }

  async function refused(given: Challenge, used: string | undefined): Promise<string | undefined> {
    challenge = given;
    if (given.isInsufficient) return undefined;
    // why: the authorization server may have moved
    found = undefined;
    return used === undefined ? (await current())?.access_token : await renew(used);
  }

  /** One refresh at a time, here and in other processes; everyone gets its result (OA3). */
  function renew(used: string): Promise<string | undefined> {
    renewing ??= vault
      .exclusively(async () => {
        const row = await current();
        if (row === undefined || row.access_token !== used) return row?.access_token;
        return row.refresh_token === undefined ? undefined : await refresh(row, row.refresh_token);
      })
      .finally(() => {
        renewing = undefined;
      });
    return renewing;
  }

  async function refresh(row: TokenRow, refreshToken: string): Promise<string | undefined> {
    const sdk = await options.loadSdk();
    try {
      const client: ClientRow = (await vault.client(row.issuer)) ?? {
        v: 1,
        issuer: row.issuer,
        client_id: row.client_id,
      };
      const target =
        client.endpoints === undefined
          ? await authorizationServer(sdk)
          : toAuthorizationServer(client.endpoints, row.issuer, serverUrl);
      // why: a refresh token is shown to nobody but who issued it
      if (target.issuer !== row.issuer) return undefined;
      const exchange = { sdk, server: target, client, redirectUri: options.redirectUri, fetch: options.fetch };
      const tokens = await exchangeRefreshToken(exchange, refreshToken);
      const next = toTokenRow(tokens, {
        serverUrl,
        issuer: row.issuer,
        clientId: row.client_id,
        asked: row.scope,
        now: clock.now(),
      });
      await vault.saveTokens(next);
      logger.info('mcp.oauth.refresh', { server_name: server });
      return next.access_token;
    } catch (error) {
      logger.warn('mcp.oauth.failed', { server_name: server, error_code: toEngineError(error, 'plugin').code });
      const code = oauthCodeOf(error);
      if (code === 'invalid_client' || code === 'unauthorized_client') await vault.removeClient();
      else if (code !== 'invalid_grant') throw error;
      await vault.removeTokens();
      return undefined;
    }
  }

  function authorizationServer(sdk: Sdk): Promise<AuthorizationServer> {
    const { issuer, fetch, addresses } = options;
    const finding = (found ??= findAuthorizationServer({
      sdk,
      serverUrl: serverUrl ?? '',
      challenge,
      fetch,
      addresses,
      ...(issuer === undefined ? {} : { issuer }),
    }));
    finding.catch(() => {
      if (found === finding) found = undefined;
    });
    return finding;
  }

  return {
    current,
    token,
    refused,
    challenge: () => challenge,
    authorizationServer,
    settled() {
      challenge = undefined;
    },
  };
}

/** Spelled differently is still the same address. */
function isSameAddress(a: string, b: string): boolean {
  const normal = (text: string): string => (URL.canParse(text) ? new URL(text).href : text);
  return normal(a) === normal(b);
}

function oauthCodeOf(error: unknown): unknown {
  return isEngineError(error) && isJsonObject(error.data) ? ownValue(error.data, 'oauth_error') : undefined;
}
