import { z } from 'zod';
import type { Logger } from '../../protocol/deps.ts';
import type { SecretStore } from '../../store/secret-store.ts';

/** `mcp.oauth.<server>` (mcp-host 10.3). Times in milliseconds since the epoch. */
const tokenRow = z.looseObject({
  v: z.literal(1),
  /** The address the token was issued for; empty for a program. */
  server_url: z.string(),
  issuer: z.string(),
  client_id: z.string(),
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).optional(),
  token_type: z.string(),
  scope: z.string().optional(),
  obtained_at: z.number(),
  expires_at: z.number().optional(),
});
export type TokenRow = z.infer<typeof tokenRow>;

/** `mcp.client.<server>`: who this client is to one authorization server. */
const clientRow = z.looseObject({
  v: z.literal(1),
  issuer: z.string(),
  client_id: z.string().min(1),
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
  /** What a registration is bound to; absent when the client was not registered by us. */
  redirect_uri: z.string().optional(),
  /** Given by hand: then nothing is looked up for a refresh either. */
  endpoints: z.object({ auth_url: z.string(), token_url: z.string() }).optional(),
});
export type ClientRow = z.infer<typeof clientRow>;

/** The rows of one server. */
export interface Vault {
  tokens(): Promise<TokenRow | undefined>;
  saveTokens(row: TokenRow): Promise<void>;
  removeTokens(): Promise<void>;
  /** What is known of this client at that authorization server; another one's is none. */
  client(issuer: string): Promise<ClientRow | undefined>;
  saveClient(row: ClientRow): Promise<void>;
  removeClient(): Promise<void>;
  /** One at a time, across processes (mcp-host 10.2). */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
}

/** How long a refresh may keep others waiting, in milliseconds (mcp-host 10.2). */
const leaseMs = 30_000;

/** @param prepared settles when what an older version kept has been taken over */
export function createVault(store: SecretStore, server: string, logger: Logger, prepared: () => Promise<void>): Vault {
  const keys = vaultKeys(server);

  async function read<T>(key: string, schema: z.ZodType<T>): Promise<T | undefined> {
    const stored = await store.read(key);
    if (stored.kind === 'missing') return undefined;
    const parsed = stored.kind === 'found' ? schema.safeParse(parse(stored.value)) : undefined;
    if (parsed?.success === true) return parsed.data;
    logger.warn('mcp.oauth.token.unreadable', { server_name: server });
    return undefined;
  }

  return {
    async tokens() {
      await prepared();
      return await read(keys.tokens, tokenRow);
    },
    saveTokens: (row) => store.write(keys.tokens, JSON.stringify(row)),
    async removeTokens() {
      await store.remove([keys.tokens]);
    },
    async client(issuer) {
      const row = await read(keys.client, clientRow);
      return row?.issuer === issuer ? row : undefined;
    },
    saveClient: (row) => store.write(keys.client, JSON.stringify(row)),
    async removeClient() {
      await store.remove([keys.client]);
    },
    exclusively: (work) => store.withLease(keys.tokens, leaseMs, work),
  };
}

/** Everything that is stored for a server. */
export function vaultKeys(server: string): { readonly tokens: string; readonly client: string } {
  return { tokens: `mcp.oauth.${server}`, client: `mcp.client.${server}` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // why: the schema says what is wrong with it, and its text is a secret
    return undefined;
  }
}
