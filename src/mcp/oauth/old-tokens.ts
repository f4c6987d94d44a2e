import { lstat, readFile, rm } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock, Logger } from '../../protocol/deps.ts';
import { isJsonObject, type Json } from '../../protocol/json.ts';
import type { SecretStore } from '../../store/secret-store.ts';
import { type TokenRow, vaultKeys } from './vault.ts';

export interface OldTokens {
  /** Written to the store; those the store had already are not counted. */
  readonly migrated: number;
  /** The file is gone: everything in it is in the store. */
  readonly isDone: boolean;
}

export interface OldTokensOptions {
  readonly file: string;
  readonly store: SecretStore;
  /** The address a server has now; undefined for a program or an unknown one. */
  readonly urlOf: (server: string) => string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A token as older files hold it: itself, or with what belongs to it. */
const oldToken = z.preprocess(
  (value) => (typeof value === 'string' ? { access_token: value } : value),
  z.looseObject({
    access_token: z.string().min(1),
    refresh_token: z.string().min(1).optional(),
    scope: z.string().optional(),
    issuer: z.string().optional(),
    client_id: z.string().optional(),
    expires_at: z.number().positive().optional(),
  }),
);

/**
 * Moves plaintext tokens, `{<server>: <token>}`, into the store (mcp-host 10.5): what the store has is kept, the file is
 * deleted once everything is committed. Undefined when there is no such file, or it holds something else; then it stays.
 * @throws EngineError `store_unavailable`; the file stays
 */
export async function moveOldTokens(options: OldTokensOptions): Promise<OldTokens | undefined> {
  const { file, store, logger } = options;
  const tokens = await readTokens(file);
  if (tokens === undefined) return undefined;
  let migrated = 0;
  let isDone = true;
  for (const [server, value] of Object.entries(tokens)) {
    const { tokens: key } = vaultKeys(server);
    if ((await store.read(key)).kind !== 'missing') continue;
    const parsed = oldToken.safeParse(value);
    if (parsed.success) {
      await store.write(key, JSON.stringify(toRow(parsed.data, server, options)));
      migrated += 1;
    } else {
      isDone = false;
    }
  }
  if (isDone) await rm(file);
  if (migrated > 0) logger.info('mcp.oauth.token.migrated', { count: migrated });
  return { migrated, isDone };
}

function toRow(token: z.infer<typeof oldToken>, server: string, { urlOf, clock }: OldTokensOptions): TokenRow {
  return {
    ...token,
    v: 1,
    issuer: token.issuer ?? '',
    client_id: token.client_id ?? '',
    server_url: urlOf(server) ?? '',
    token_type: 'Bearer',
    obtained_at: clock.now(),
  };
}

async function readTokens(file: string): Promise<{ readonly [server: string]: Json } | undefined> {
  try {
    if (!(await lstat(file)).isFile()) return undefined;
    const value: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    // why: what cannot be read as such a file is left as it is
    return undefined;
  }
}
