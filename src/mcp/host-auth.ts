import path from 'node:path';
import type { Logger } from '../protocol/deps.ts';
import { isEngineError } from '../protocol/error.ts';
import type { McpAuthorization, McpServerRecord, McpTokenStatus } from '../protocol/mcp.ts';
import { childSignal, untilAborted } from '../protocol/signal.ts';
import { createMemorySecrets } from '../store/memory-secrets.ts';
import type { ConnectDeps } from './connect-deps.ts';
import { mcpError } from './errors.ts';
import type { McpHostOptions } from './host-options.ts';
import { lookupAddresses } from './oauth/addresses.ts';
import { createAuthorizations } from './oauth/authorizations.ts';
import { moveOldTokens, type OldTokens } from './oauth/old-tokens.ts';
import type { OAuthForm } from './oauth/settings.ts';
import type { TokenDeps } from './opener.ts';
import type { Place } from './place.ts';
import { fillPlaceholders } from './placeholders.ts';

/** Authorizations of one operation before it fails (mcp-host 10.1). */
const maxAttempts = 3;

/** The part of a host that has to do with tokens. */
export interface HostAuth {
  readonly deps: TokenDeps;
  /** Does `work`; when it needs a token, gets one from the user and does it again. */
  withToken<T>(place: Place, work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  authorize(place: Place, form: OAuthForm): Promise<McpAuthorization>;
  status(place: Place): Promise<McpTokenStatus>;
  signOut(place: Place): Promise<void>;
  forget(server: string): Promise<void>;
  importTokens(file: string): Promise<OldTokens | undefined>;
  stop(): Promise<void>;
}

/** @param urlOf the configured address of a server */
export function createHostAuth(
  options: McpHostOptions,
  logger: Logger,
  env: ConnectDeps['env'],
  urlOf: (server: string) => string | undefined,
): HostAuth {
  const { onAuthorization, publish } = options;
  const store = options.secrets ?? createMemorySecrets();
  let prepared: Promise<void> | undefined;
  const authorizations = createAuthorizations({
    store,
    prepared: () => (prepared ??= takeOver()),
    clock: options.clock,
    logger,
    fetch: options.fetch ?? globalThis.fetch,
    lookup: options.lookup ?? lookupAddresses,
    env,
  });
  const end = childSignal(undefined);
  const asking = new Map<string, Promise<void>>();

  async function secret(name: string): Promise<string | undefined> {
    const stored = await store.read(`mcp.secret.${name}`);
    return stored.kind === 'found' ? stored.value : undefined;
  }

  /** Tokens of the old plaintext file, at the first look for one. A failure is tried again at the next. */
  async function takeOver(): Promise<void> {
    if (options.configDir === undefined) return;
    try {
      await importTokens(path.join(options.configDir, 'mcp-tokens.json'));
    } catch (error) {
      prepared = undefined;
      throw error;
    }
  }

  function importTokens(file: string): Promise<OldTokens | undefined> {
    return moveOldTokens({ file, store, urlOf, clock: options.clock, logger });
  }

  /** Only the address matters to an authorization: the rest may hold the very token that is to be got. */
  async function fill(record: McpServerRecord): Promise<McpServerRecord> {
    const bare = { ...record, args: [], env: {}, headers: {}, sandbox: { read: [], write: [] } };
    const filled = await fillPlaceholders(bare, {
      env,
      workspaceFolder: options.projectRoot,
      userHome: env['HOME'] ?? env['USERPROFILE'],
      secret,
    });
    return filled.record;
  }

  async function authorize(place: Place, form: OAuthForm): Promise<McpAuthorization> {
    const authorization = await authorizations.begin(await fill(place.slot.record()), form);
    place.slot.allowStart();
    return authorization;
  }

  /** Callers that need a token at the same time wait for the same answer of the user. */
  function ask(place: Place, onAsk: NonNullable<McpHostOptions['onAuthorization']>): Promise<void> {
    const server = place.slot.record().name;
    const known = asking.get(server);
    if (known !== undefined) return known;
    const asked = (async () => {
      const authorization = await authorize(place, {});
      try {
        await untilAborted(onAsk(authorization, end.signal), end.signal);
        await untilAborted(authorization.done, end.signal);
        place.dropLists();
      } finally {
        authorization.cancel();
      }
    })().finally(() => asking.delete(server));
    asking.set(server, asked);
    return asked;
  }

  return {
    deps: {
      secret,
      accessToken: async (record) => await authorizations.session(await fill(record)).token(),
      credentials: (record) => authorizations.session(record),
    },
    async withToken(place, work, signal) {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await work();
        } catch (error) {
          if (!isEngineError(error) || error.code !== 'needs_auth') throw error;
          const { name, state } = place.slot.info();
          // why: a failed connect has said so itself
          if (state === 'connected') publish({ type: 'mcp_auth_needed', server_name: name, error_code: error.code });
          if (onAuthorization === undefined || attempt >= maxAttempts) throw error;
          const asked = ask(place, onAuthorization);
          await (signal === undefined ? asked : untilAborted(asked, signal));
        }
      }
    },
    async authorize(place, form) {
      const authorization = await authorize(place, form);
      // why: what was listed and opened with another token is not this one's (MP12)
      const done = authorization.done.then(() => place.disconnect());
      done.catch(() => {});
      return { ...authorization, done };
    },
    status: async (place) => await authorizations.status(await fill(place.slot.record())),
    async signOut(place) {
      await authorizations.signOut(await fill(place.slot.record()));
      await place.disconnect();
    },
    forget: (server) => authorizations.forget(server),
    importTokens,
    async stop() {
      end.abort(mcpError('closed', 'connection ended: the engine is closing'));
      await authorizations.stop();
      await Promise.allSettled(asking.values());
      if (options.secrets === undefined) await store.close();
    },
  };
}
