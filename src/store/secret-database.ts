import { randomUUID } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { lstat, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Logger } from '../protocol/deps.ts';
import type { Keyring } from './keyring.ts';
import { seal, unseal } from './seal.ts';
import { loadSecretKey } from './secret-key.ts';
import type { SecretStore } from './secret-store.ts';
import { isBusy, openSqlite, type SqliteDatabase } from './sqlite.ts';
import { storeUnavailable } from './store-unavailable.ts';

export interface SecretDatabaseOptions {
  readonly file: string;
  readonly keyFile: string;
  /** Absent: the key lies in the key file. */
  readonly openKeyring?: () => Keyring;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The form of the tables; a higher one was made by a newer version. */
const version = 1;
const tables = `
  CREATE TABLE IF NOT EXISTS secrets (key TEXT PRIMARY KEY, value BLOB NOT NULL, updated_at INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires_at INTEGER NOT NULL);
  PRAGMA user_version = ${version};
`;

interface Opened {
  readonly database: SqliteDatabase;
  readonly key: Buffer;
}

/**
 * Secrets in an encrypted SQLite table (mcp-host 10.5), opened at the first use; nothing is made before something is
 * written. Several processes may use it at once.
 */
export function createSecretDatabase(options: SecretDatabaseOptions): SecretStore {
  const { file, clock } = options;
  let opening: Promise<Opened> | undefined;
  let isClosed = false;

  function opened(): Promise<Opened> {
    if (isClosed) throw storeUnavailable('not writable');
    const attempt = (opening ??= openDatabase(options));
    attempt.catch(() => {
      // why: what was in the way may be gone the next time
      if (opening === attempt) opening = undefined;
    });
    return attempt;
  }

  async function use<T>(work: (open: Opened) => T): Promise<T> {
    try {
      return work(await opened());
    } catch (error) {
      throw storeUnavailable(isBusy(error) ? 'database locked' : 'not writable', error);
    }
  }

  function isMade(): boolean {
    return opening !== undefined || lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  }

  async function takeLease(name: string, owner: string, ttlMs: number): Promise<void> {
    const sql = `INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT (name)
      DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at WHERE leases.expires_at <= ?`;
    for (;;) {
      const now = clock.now();
      const { changes } = await use(({ database }) => database.prepare(sql).run(name, owner, now + ttlMs, now));
      if (changes > 0) return;
      // uneven steps keep contenders from trying in lock step
      await clock.sleep(20 + Math.random() * 30);
    }
  }

  async function giveBack(name: string, owner: string): Promise<void> {
    try {
      await use(({ database }) => database.prepare('DELETE FROM leases WHERE name = ? AND owner = ?').run(name, owner));
    } catch {
      // why: it ends by itself, and what was done under it counts
    }
  }

  return {
    async read(key) {
      if (!isMade()) return { kind: 'missing' };
      return await use((open) => {
        const row = open.database.prepare('SELECT value FROM secrets WHERE key = ?').get(key);
        if (row === undefined) return { kind: 'missing' };
        const value = row['value'] instanceof Uint8Array ? unseal(open.key, key, row['value']) : undefined;
        return value === undefined ? { kind: 'unreadable' } : { kind: 'found', value };
      });
    },
    async write(key, value) {
      const sql = `INSERT INTO secrets VALUES (?, ?, ?) ON CONFLICT (key)
        DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`;
      await use((open) => open.database.prepare(sql).run(key, seal(open.key, key, value), clock.now()));
    },
    async remove(keys) {
      if (!isMade()) return 0;
      return await use(({ database }) => {
        const statement = database.prepare('DELETE FROM secrets WHERE key = ?');
        return keys.filter((key) => statement.run(key).changes > 0).length;
      });
    },
    async withLease(name, ttlMs, work) {
      const owner = randomUUID();
      await takeLease(name, owner, ttlMs);
      try {
        return await work();
      } finally {
        await giveBack(name, owner);
      }
    },
    async close() {
      const known = opening;
      isClosed = true;
      opening = undefined;
      const open = await known?.catch(() => undefined);
      open?.database.close();
    },
  };
}

async function openDatabase(options: SecretDatabaseOptions): Promise<Opened> {
  const { file, keyFile, openKeyring, logger } = options;
  let database: SqliteDatabase | undefined;
  try {
    await makePrivateFile(file);
    database = openSqlite(file);
    const made = database;
    made.exec('PRAGMA journal_mode = WAL');
    const found = Number(made.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
    if (found > version) throw storeUnavailable('made by a newer version');
    if (found < version) made.exec(tables);
    const hasRows = (): boolean => made.prepare('SELECT 1 AS one FROM secrets LIMIT 1').get() !== undefined;
    const key = await loadSecretKey({
      keyFile,
      hasRows,
      logger,
      ...(openKeyring === undefined ? {} : { openKeyring }),
    });
    return { database, key };
  } catch (error) {
    database?.close();
    throw storeUnavailable(isBusy(error) ? 'database locked' : 'not writable', error);
  }
}

/** Made for the owner only from the first moment, and never where a link points (OA9). SQLite gives its side files the same mode. */
async function makePrivateFile(file: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    await (await open(file, 'wx', 0o600)).close();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    if (!(await lstat(file)).isFile()) throw storeUnavailable('not writable');
  }
}
