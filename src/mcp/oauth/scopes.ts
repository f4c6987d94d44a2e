import type { AuthorizationServer, Challenge, Sdk } from './discovery.ts';

export interface ScopeSources {
  readonly challenge: Challenge | undefined;
  /** Of the form or the record. */
  readonly configured: string | undefined;
  /** What the token in hand was granted. */
  readonly granted: string | undefined;
}

/**
 * The scope to ask for (mcp-host 10.1, 10.2): what the server's refusal names, else the configured one, else what the
 * server supports, else none; more permissions never take away those in hand. `offline_access` is added where announced.
 */
export function chooseScope(sdk: Sdk, server: AuthorizationServer, sources: ScopeSources): string | undefined {
  const { challenge, configured, granted } = sources;
  const wanted = challenge?.scope ?? configured ?? server.scopesSupported;
  const scope = challenge?.isInsufficient === true ? sdk.computeScopeUnion(granted, wanted) : wanted;
  if (scope === undefined || scope === '') return undefined;
  const announced = server.metadata?.scopes_supported?.includes('offline_access') === true;
  return announced ? sdk.computeScopeUnion(scope, 'offline_access') : scope;
}
