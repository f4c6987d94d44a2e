import type * as SdkModule from '@modelcontextprotocol/client';
import type {
  AuthorizationServerMetadata,
  FetchLike,
  OAuthProtectedResourceMetadata,
} from '@modelcontextprotocol/client';
import { isEngineError } from '../../protocol/error.ts';
import { connectError } from '../errors.ts';
import { toHttpFailure } from '../http-failure.ts';
import type { AddressCheck } from './addresses.ts';
import { oauthError } from './errors.ts';
import { UnusableAnswer } from './oauth-fetch.ts';

export type Sdk = typeof SdkModule;

/** Where a token for one server comes from. */
export interface AuthorizationServer {
  readonly url: string;
  /** Credentials are kept by it. */
  readonly issuer: string;
  /** Absent for servers of the time before metadata, whose addresses are fixed. */
  readonly metadata?: AuthorizationServerMetadata;
  /** What the token is asked for; absent for a program. */
  readonly resource?: string;
  /** What the server itself says may be asked for. */
  readonly scopesSupported?: string;
}

/** What a server said when it refused a request. */
export interface Challenge {
  readonly resourceMetadataUrl?: URL;
  readonly scope?: string;
  /** The token is good, its scope is not enough. */
  readonly isInsufficient: boolean;
}

export interface DiscoveryOptions {
  readonly sdk: Sdk;
  readonly serverUrl: string;
  readonly challenge: Challenge | undefined;
  /** The issuer the user wrote down; absent: the server names it. */
  readonly issuer?: string;
  readonly fetch: FetchLike;
  readonly addresses: AddressCheck;
}

/**
 * Finds the authorization server of an MCP server: the resource's metadata, then the authorization server's (mcp-host 10.1).
 * @throws EngineError `oauth_issuer_mismatch`, `oauth_insecure_url`, `oauth_pkce_unsupported`, `connect_failed`, `http_error`
 */
export async function findAuthorizationServer(options: DiscoveryOptions): Promise<AuthorizationServer> {
  try {
    return await find(options);
  } catch (error) {
    throw toDiscoveryError(error, options.sdk);
  }
}

async function find(options: DiscoveryOptions): Promise<AuthorizationServer> {
  const { sdk, serverUrl, fetch } = options;
  const resource = await findResource(options);
  if (resource !== undefined && !covers(resource.resource, serverUrl)) throw oauthError('oauth_issuer_mismatch');
  const named = options.issuer ?? resource?.authorization_servers?.[0];
  const url = named ?? new URL('/', serverUrl).href;
  if (named !== undefined && !URL.canParse(named)) throw oauthError('oauth_insecure_url');
  await options.addresses.require(new URL(url));
  const metadata = await sdk.discoverAuthorizationServerMetadata(url, { fetchFn: fetch });
  // why: the SDK lets a slash at the end differ, also where the name was given and not derived
  if (named !== undefined && metadata !== undefined && metadata.issuer !== named)
    throw oauthError('oauth_issuer_mismatch');
  // why: a server that does not announce S256 may ignore the challenge, and a stolen code would be enough
  if (metadata !== undefined && metadata.code_challenge_methods_supported?.includes('S256') !== true) {
    throw oauthError('oauth_pkce_unsupported');
  }
  const scopesSupported = resource?.scopes_supported?.join(' ');
  return {
    url,
    issuer: metadata?.issuer ?? url,
    resource: resource?.resource ?? withoutFragment(serverUrl),
    ...(metadata === undefined ? {} : { metadata }),
    ...(scopesSupported === undefined || scopesSupported === '' ? {} : { scopesSupported }),
  };
}

async function findResource(options: DiscoveryOptions): Promise<OAuthProtectedResourceMetadata | undefined> {
  const { sdk, serverUrl, challenge, fetch } = options;
  const resourceMetadataUrl = challenge?.resourceMetadataUrl;
  try {
    return await sdk.discoverOAuthProtectedResourceMetadata(
      serverUrl,
      resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl },
      fetch,
    );
  } catch (error) {
    if (isEngineError(error) || error instanceof TypeError || error instanceof UnusableAnswer) throw error;
    // why: servers of 2025-03-26 have none; then the authorization server is the server itself
    return undefined;
  }
}

/** The endpoints a user entered by hand. */
export function toAuthorizationServer(
  endpoints: { readonly auth_url: string; readonly token_url: string },
  issuer: string | undefined,
  serverUrl: string | undefined,
): AuthorizationServer {
  const name = issuer ?? new URL(endpoints.token_url).origin;
  return {
    url: name,
    issuer: name,
    metadata: {
      issuer: name,
      authorization_endpoint: endpoints.auth_url,
      token_endpoint: endpoints.token_url,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    },
    ...(serverUrl === undefined ? {} : { resource: withoutFragment(serverUrl) }),
  };
}

/** Whether metadata about one address speaks for another: the same origin, and the path or one above it. */
export function covers(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [named, asked] = [new URL(resource), new URL(serverUrl)];
  if (named.origin !== asked.origin) return false;
  const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return withSlash(asked.pathname).startsWith(withSlash(named.pathname));
}

function withoutFragment(text: string): string {
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

/** No text of a server is taken over. */
function toDiscoveryError(error: unknown, sdk: Sdk): unknown {
  if (isEngineError(error)) return error;
  if (error instanceof sdk.IssuerMismatchError) return oauthError('oauth_issuer_mismatch');
  if (error instanceof TypeError) return toHttpFailure(error) ?? error;
  const facts = error instanceof UnusableAnswer ? ` (${error.facts})` : '';
  return connectError('connect_failed', `the metadata of the authorization server is not usable${facts}.`);
}
