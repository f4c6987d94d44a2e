import { randomUUID } from 'node:crypto';
import type { Clock, Logger } from '../../protocol/deps.ts';
import { toEngineError } from '../../protocol/error.ts';
import type { McpAuthorization, McpServerRecord, McpTokenStatus } from '../../protocol/mcp.ts';
import { childSignal } from '../../protocol/signal.ts';
import type { SecretStore } from '../../store/secret-store.ts';
import { mcpError } from '../errors.ts';
import { createAddressCheck, type LookupAddresses } from './addresses.ts';
import { chooseClient } from './client-id.ts';
import { type Sdk, toAuthorizationServer } from './discovery.ts';
import { exchangeCode, toTokenRow } from './exchange.ts';
import { openFlow } from './flow.ts';
import { createCallbackListener } from './listener.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import { revokeTokens } from './revoke.ts';
import { chooseScope } from './scopes.ts';
import { createTokenSession, type TokenSession } from './session.ts';
import { type FlowSettings, type OAuthForm, redirectUriOf, toFlowSettings } from './settings.ts';
import { createVault, type Vault, vaultKeys } from './vault.ts';

export interface AuthorizationsOptions {
  readonly store: SecretStore;
  /** Settles when the tokens of older versions have been taken over. */
  readonly prepared: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fetch: typeof fetch;
  readonly lookup: LookupAddresses;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Authorizations and tokens of all servers. Records are taken with their placeholders filled in. */
export interface Authorizations {
  session(record: McpServerRecord): TokenSession;
  /** @throws EngineError with a code of mcp-host section 15 */
  begin(record: McpServerRecord, form: OAuthForm): Promise<McpAuthorization>;
  status(record: McpServerRecord): Promise<McpTokenStatus>;
  /** Revokes the token where that is offered, and deletes it (mcp-host 10.6). */
  signOut(record: McpServerRecord): Promise<void>;
  /** Deletes everything of a server that is gone. */
  forget(server: string): Promise<void>;
  /** Ends the flows that wait. */
  stop(): Promise<void>;
}

export function createAuthorizations(options: AuthorizationsOptions): Authorizations {
  const { store, clock, logger, env } = options;
  const listener = createCallbackListener();
  const sessions = new Map<string, Connected>();
  const waiting = new Set<Promise<void>>();
  const end = childSignal(undefined);
  let sdk: Promise<Sdk> | undefined;

  const loadSdk = (): Promise<Sdk> => (sdk ??= import('@modelcontextprotocol/client'));

  /** What belongs to one server at one address; another address is another session. */
  function connected(record: McpServerRecord): Connected {
    const key = JSON.stringify([record.url, record.oauth]);
    const known = sessions.get(record.name);
    if (known?.key === key) return known;
    const vault = createVault(store, record.name, logger, options.prepared);
    const fetch = oauthFetch(record, record.oauth ?? {});
    const session = createTokenSession({
      server: record.name,
      serverUrl: record.url,
      issuer: record.oauth?.issuer,
      redirectUri: redirectUriOf(record, env),
      vault,
      fetch,
      addresses: addressCheck(record, record.oauth ?? {}),
      clock,
      logger,
      loadSdk,
    });
    const made = { key, vault, session };
    sessions.set(record.name, made);
    return made;
  }

  function addressCheck(record: McpServerRecord, settings: OAuthForm) {
    const { auth_url, token_url, issuer, client_metadata_url } = settings;
    const typed = [record.url, auth_url, token_url, issuer, client_metadata_url].filter((text) => text !== undefined);
    return createAddressCheck({ typed, lookup: options.lookup });
  }

  function oauthFetch(record: McpServerRecord, settings: OAuthForm) {
    return createOAuthFetch({
      fetch: options.fetch,
      addresses: addressCheck(record, settings),
      signal: end.signal,
    });
  }

  async function begin(record: McpServerRecord, form: OAuthForm): Promise<McpAuthorization> {
    logger.info('mcp.oauth.start', { server_name: record.name });
    try {
      return await open(record, toFlowSettings(record, form, env), { ...record.oauth, ...form });
    } catch (error) {
      throw failed(record.name, error);
    }
  }

  async function open(record: McpServerRecord, settings: FlowSettings, typed: OAuthForm): Promise<McpAuthorization> {
    const { vault, session } = connected(record);
    const { endpoints, redirect_uri: redirectUri, scopes } = settings;
    const fetch = oauthFetch(record, typed);
    const loaded = await loadSdk();
    const server =
      endpoints === undefined
        ? await session.authorizationServer(loaded)
        : toAuthorizationServer(endpoints, settings.issuer, record.url);
    const granted = (await session.current())?.scope;
    const scope = chooseScope(loaded, server, { challenge: session.challenge(), configured: scopes, granted });
    const client = await chooseClient({ sdk: loaded, server, settings, scope, vault, fetch });
    const flow = await openFlow({
      sdk: loaded,
      server,
      clientId: client.client_id,
      redirectUri,
      scope,
      clock,
      signal: end.signal,
      async finish(given) {
        const tokens = await exchangeCode({ sdk: loaded, server, client, redirectUri, fetch }, given);
        const facts = { serverUrl: record.url, issuer: server.issuer, clientId: client.client_id, asked: scope };
        await vault.saveTokens(toTokenRow(tokens, { ...facts, now: clock.now() }));
        session.settled();
      },
    });
    const closeDoor = await admit();
    const done = flow.done.then(
      () => logger.info('mcp.oauth.ok', { server_name: record.name }),
      (error: unknown) => {
        throw failed(record.name, error);
      },
    );
    const closed = done.then(closeDoor, closeDoor);
    waiting.add(closed);
    // why: it only tidies up, and `done` tells how the flow ended
    void closed.finally(() => waiting.delete(closed));
    done.catch(() => {});
    return {
      id: randomUUID(),
      server_name: record.name,
      url: flow.url.href,
      redirect_uri: redirectUri,
      done,
      complete: (answer) => flow.paste(answer),
      cancel: () => flow.cancel(),
    };

    async function admit(): Promise<() => Promise<void>> {
      try {
        // why: the server named what the browser is to open
        await addressCheck(record, typed).require(flow.url);
        return await listener.wait(redirectUri, flow.state, flow.answer);
      } catch (error) {
        flow.cancel();
        throw error;
      }
    }
  }

  function failed(server_name: string, error: unknown): Error {
    const known = toEngineError(error, 'plugin');
    logger.warn('mcp.oauth.failed', { server_name, error_code: known.code });
    return known;
  }

  return {
    session: (record) => connected(record).session,
    begin,
    async status(record) {
      const row = await connected(record).session.current();
      if (row === undefined) return { connected: false, expired: true, renews: false };
      const { expires_at, scope, issuer } = row;
      return {
        connected: true,
        expired: expires_at !== undefined && expires_at <= clock.now(),
        issuer,
        renews: row.refresh_token !== undefined,
        ...(expires_at === undefined ? {} : { expires_at }),
        ...(scope === undefined ? {} : { scope }),
      };
    },
    async signOut(record) {
      const { vault, session } = connected(record);
      const row = await session.current();
      if (row !== undefined) {
        const loaded = await loadSdk();
        const target = { sdk: loaded, session, row, client: await vault.client(row.issuer) };
        await revokeTokens({ ...target, fetch: oauthFetch(record, record.oauth ?? {}) });
      }
      await vault.removeTokens();
      logger.info('mcp.oauth.token.revoked', { server_name: record.name });
    },
    async forget(server) {
      sessions.delete(server);
      await store.remove(Object.values(vaultKeys(server)));
    },
    async stop() {
      end.abort(mcpError('closed', 'the engine is closing'));
      await Promise.all(waiting);
    },
  };
}

interface Connected {
  readonly key: string;
  readonly vault: Vault;
  readonly session: TokenSession;
}
