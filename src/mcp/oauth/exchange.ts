import type { FetchLike, OAuthTokens } from '@modelcontextprotocol/client';
import { isEngineError } from '../../protocol/error.ts';
import { toHttpFailure } from '../http-failure.ts';
import type { AuthorizationServer, Sdk } from './discovery.ts';
import { exchangeFailed, oauthError, toOAuthCode } from './errors.ts';
import { createTokenFetch, UnusableAnswer } from './oauth-fetch.ts';
import type { ClientRow, TokenRow } from './vault.ts';

export interface ExchangeOptions {
  readonly sdk: Sdk;
  readonly server: AuthorizationServer;
  readonly client: ClientRow;
  readonly redirectUri: string;
  readonly fetch: FetchLike;
}

/** Exchanges the code of the browser for tokens. @throws EngineError */
export async function exchangeCode(
  options: ExchangeOptions,
  given: { readonly code: string; readonly iss: string | undefined; readonly codeVerifier: string },
): Promise<OAuthTokens> {
  return await attempt(options, () =>
    options.sdk.exchangeAuthorization(options.server.url, {
      ...common(options),
      authorizationCode: given.code,
      codeVerifier: given.codeVerifier,
      redirectUri: options.redirectUri,
      ...(given.iss === undefined ? {} : { iss: given.iss }),
    }),
  );
}

/**
 * Exchanges a refresh token for new tokens; the answer without a new refresh token keeps the old one (OA4).
 * @throws EngineError; its `data.oauth_error` is the code of the authorization server
 */
export async function exchangeRefreshToken(options: ExchangeOptions, refreshToken: string): Promise<OAuthTokens> {
  return await attempt(options, () =>
    options.sdk.refreshAuthorization(options.server.url, { ...common(options), refreshToken }),
  );
}

/** What is stored of an answer (mcp-host 10.3). @param asked the scope that was asked for: granted unless the answer says otherwise */
export function toTokenRow(
  tokens: OAuthTokens,
  facts: {
    readonly serverUrl: string | undefined;
    readonly issuer: string;
    readonly clientId: string;
    readonly asked: string | undefined;
    readonly now: number;
  },
): TokenRow {
  const scope = tokens.scope ?? facts.asked;
  return {
    v: 1,
    server_url: facts.serverUrl ?? '',
    issuer: facts.issuer,
    client_id: facts.clientId,
    access_token: tokens.access_token,
    token_type: tokens.token_type,
    obtained_at: facts.now,
    ...(tokens.refresh_token === undefined ? {} : { refresh_token: tokens.refresh_token }),
    ...(scope === undefined ? {} : { scope }),
    ...(tokens.expires_in === undefined ? {} : { expires_at: facts.now + tokens.expires_in * 1_000 }),
  };
}

function common({ server, client, fetch }: ExchangeOptions) {
  const { metadata, resource } = server;
  const { client_id, client_secret, token_endpoint_auth_method } = client;
  return {
    clientInformation: {
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(token_endpoint_auth_method === undefined ? {} : { token_endpoint_auth_method }),
    },
    fetchFn: createTokenFetch(fetch),
    ...(metadata === undefined ? {} : { metadata }),
    ...(resource === undefined ? {} : { resource }),
  };
}

/** No text of the server is taken over: neither its body nor its descriptions. */
async function attempt(options: ExchangeOptions, work: () => Promise<OAuthTokens>): Promise<OAuthTokens> {
  const { sdk, redirectUri } = options;
  try {
    return await work();
  } catch (error) {
    if (isEngineError(error)) throw error;
    if (error instanceof sdk.IssuerMismatchError) throw oauthError('oauth_issuer_mismatch');
    if (error instanceof sdk.InsecureTokenEndpointError) throw oauthError('oauth_insecure_url');
    if (error instanceof UnusableAnswer) throw exchangeFailed(error.facts, redirectUri);
    if (error instanceof TypeError) throw toHttpFailure(error) ?? error;
    const code = error instanceof sdk.OAuthError ? toOAuthCode(error.code) : undefined;
    throw exchangeFailed(code ?? 'no usable answer', redirectUri, code);
  }
}
