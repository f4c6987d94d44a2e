// mcp-host 10.5, OA9.
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/protocol/deps.ts';
import { isEngineError } from '../../src/protocol/error.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import type { Keyring } from '../../src/store/keyring.ts';
import { createMemorySecrets } from '../../src/store/memory-secrets.ts';
import { createSecretDatabase } from '../../src/store/secret-database.ts';
import type { SecretStore } from '../../src/store/secret-store.ts';
import { openSqlite } from '../../src/store/sqlite.ts';

let folder: string;
let stores: SecretStore[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'vibe-secrets-'));
  stores = [];
});

afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  rmSync(folder, { recursive: true, force: true });
});

const file = (): string => path.join(folder, 'user', 'secrets.db');
const keyFile = (): string => path.join(folder, 'user', 'secrets.key');

/** All there is, as it is encrypted. */
function storedRows(): string {
  const database = openSqlite(file());
  try {
    const sql = "SELECT group_concat(key || ' ' || hex(value) || ' ' || updated_at) AS rows FROM secrets";
    return String(database.prepare(sql).get()?.['rows']);
  } finally {
    database.close();
  }
}

function open(openKeyring?: () => Keyring, infos: string[] = []): SecretStore {
  const store = createSecretDatabase({
    file: file(),
    keyFile: keyFile(),
    clock: systemClock,
    logger: { ...silentLogger, info: (message) => void infos.push(message) },
    ...(openKeyring === undefined ? {} : { openKeyring }),
  });
  stores.push(store);
  return store;
}

function openFakeKeyring(): { readonly open: () => Keyring; readonly entry: () => string | undefined; clear(): void } {
  let entry: string | undefined;
  return {
    open: () => ({
      read: () => entry,
      write(key) {
        entry = key;
      },
    }),
    entry: () => entry,
    clear() {
      entry = undefined;
    },
  };
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (isEngineError(error) && error.code === 'store_unavailable') return error.message;
    throw error;
  }
  throw new Error('expected a rejection');
}

const unreachable = (): Keyring => {
  throw new Error('no service');
};

describe.each<[string, () => SecretStore]>([
  ['in memory', createMemorySecrets],
  ['in a database', () => open()],
])('a store %s', (_, make) => {
  test('keeps, replaces and removes values', async () => {
    const store = make();
    expect(await store.read('a')).toEqual({ kind: 'missing' });

    await store.write('a', 'one');
    await store.write('a', 'zwö');

    expect(await store.read('a')).toEqual({ kind: 'found', value: 'zwö' });
    expect(await store.remove(['a', 'b'])).toBe(1);
    expect(await store.read('a')).toEqual({ kind: 'missing' });
  });

  test('lets one at a time work under a name, also after a failure', async () => {
    const store = make();
    let inside = 0;
    const seen: number[] = [];
    const work = async (): Promise<void> => {
      inside += 1;
      seen.push(inside);
      await systemClock.sleep(2);
      inside -= 1;
      if (seen.length === 2) throw new Error('broken');
    };

    const all = await Promise.allSettled(Array.from({ length: 5 }, () => store.withLease('x', 30_000, work)));

    expect(seen).toEqual([1, 1, 1, 1, 1]);
    expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });
});

describe('the database', () => {
  test('makes nothing before something is written', async () => {
    const store = open();

    await store.read('a');
    await store.remove(['a']);

    expect(existsSync(path.dirname(file()))).toBe(false);
  });

  test('is private and holds nothing readable', async () => {
    const store = open();
    await store.write('mcp.oauth.web', 'CANARY-VALUE');

    const mode = (name: string): number => statSync(name).mode & 0o777;
    expect(mode(path.dirname(file()))).toBe(0o700);
    for (const name of readdirSync(path.dirname(file())).filter((each) => !each.endsWith('.lock'))) {
      const full = path.join(path.dirname(file()), name);
      expect([name, mode(full)]).toEqual([name, 0o600]);
      expect(readFileSync(full).includes('CANARY-VALUE')).toBe(false);
    }
  });

  test('has the documented form: version 1, nonce, tag, text', async () => {
    const store = open();
    await store.write('a', 'text');
    await store.close();

    const database = openSqlite(file());
    const row = database.prepare('SELECT * FROM secrets').get();
    const about = database.prepare('PRAGMA user_version').get();
    const journal = database.prepare('PRAGMA journal_mode').get();
    database.close();

    const value = Buffer.from(row?.['value'] as Uint8Array);
    expect(value[0]).toBe(1);
    expect(value).toHaveLength(1 + 12 + 16 + 4);
    expect(row?.['updated_at']).toBeTypeOf('number');
    expect(about?.['user_version']).toBe(1);
    expect(journal?.['journal_mode']).toBe('wal');
    expect(readFileSync(keyFile(), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
  });

  test('survives its process, and every value has a nonce of its own', async () => {
    const first = open();
    await first.write('a', 'same');
    await first.write('b', 'same');
    await first.close();

    expect(await open().read('a')).toEqual({ kind: 'found', value: 'same' });
    const database = openSqlite(file());
    const count = database.prepare('SELECT count(DISTINCT value) AS n FROM secrets').get();
    database.close();
    expect(count?.['n']).toBe(2);
  });

  test('a row copied under another name or changed does not open, and is kept', async () => {
    const store = open();
    await store.write('a', 'text');
    await store.write('c', 'text');
    const database = openSqlite(file());
    database.exec("INSERT INTO secrets SELECT 'b', value, updated_at FROM secrets WHERE key = 'a'");
    database.exec("UPDATE secrets SET value = x'0102' WHERE key = 'c'");
    database.close();

    expect(await store.read('b')).toEqual({ kind: 'unreadable' });
    expect(await store.read('c')).toEqual({ kind: 'unreadable' });
    expect(await store.read('a')).toEqual({ kind: 'found', value: 'text' });
    expect(await store.remove(['b', 'c'])).toBe(2);
  });

  test('is not followed where a link stands in its place', async () => {
    await open().write('a', 'text');
    const elsewhere = path.join(folder, 'elsewhere.db');
    writeFileSync(elsewhere, '');
    rmSync(file());
    symlinkSync(elsewhere, file());

    expect(await reasonOf(open().write('a', 'text'))).toBe('Tokens cannot be read: not writable.');
    expect(readFileSync(elsewhere, 'utf8')).toBe('');
  });

  test('of a newer version is left alone', async () => {
    await open().write('a', 'text');
    const database = openSqlite(file());
    database.exec('PRAGMA user_version = 2');
    database.close();

    expect(await reasonOf(open().read('a'))).toBe('Tokens cannot be read: made by a newer version.');
  });

  test('a lease whose holder is gone is taken over when its time is up', async () => {
    const store = open();
    await store.write('a', 'text');
    const database = openSqlite(file());
    database.prepare('INSERT INTO leases VALUES (?, ?, ?)').run('x', 'dead', Date.now() + 150);
    database.close();

    const started = Date.now();
    expect(await store.withLease('x', 30_000, async () => 'mine')).toBe('mine');
    expect(Date.now()).toBeGreaterThanOrEqual(started + 100);
  });
});

describe('the key', () => {
  test('lies in the keyring where there is one, and then in no file', async () => {
    const keyring = openFakeKeyring();
    await open(keyring.open).write('a', 'text');

    expect(keyring.entry()).toMatch(/^[0-9a-f]{64}$/);
    expect(existsSync(keyFile())).toBe(false);
    expect(await open(keyring.open).read('a')).toEqual({ kind: 'found', value: 'text' });
  });

  test('lies in the key file where the keyring cannot be reached, said once', async () => {
    const infos: string[] = [];
    const store = open(unreachable, infos);
    await store.write('a', 'text');
    await store.read('a');

    expect(infos).toEqual(['secrets.keyring.unavailable']);
    expect(existsSync(keyFile())).toBe(true);
  });

  test('stays in the key file when a keyring appears later', async () => {
    await open(unreachable).write('a', 'text');
    const keyring = openFakeKeyring();

    expect(await open(keyring.open).read('a')).toEqual({ kind: 'found', value: 'text' });
    expect(keyring.entry()).toBeUndefined();
  });

  test.each<[string, boolean]>([
    ['keyring', true],
    ['key file', false],
  ])('lost from the %s: nothing is overwritten', async (_, inKeyring) => {
    const keyring = openFakeKeyring();
    const openKeyring = inKeyring ? keyring.open : undefined;
    const first = open(openKeyring);
    await first.write('a', 'text');
    await first.close();
    const before = storedRows();
    keyring.clear();
    rmSync(keyFile(), { force: true });

    expect(await reasonOf(open(openKeyring).write('a', 'other'))).toBe('Tokens cannot be read: key missing.');
    expect(await reasonOf(open(openKeyring).read('a'))).toBe('Tokens cannot be read: key missing.');
    // the rows and not the file: SQLite moves them out of its log whenever a connection is gone for good
    expect(before).toMatch(/^a [0-9A-F]+ \d+$/);
    expect(storedRows()).toBe(before);
    expect(keyring.entry()).toBeUndefined();
    expect(existsSync(keyFile())).toBe(false);
  });

  test('is not read through a link, and damage is no key', async () => {
    await open().write('a', 'text');
    const real = path.join(folder, 'real.key');
    writeFileSync(real, readFileSync(keyFile()));
    rmSync(keyFile());
    symlinkSync(real, keyFile());
    expect(await reasonOf(open().read('a'))).toContain('key missing');

    rmSync(keyFile());
    writeFileSync(keyFile(), 'short');
    expect(await reasonOf(open().read('a'))).toContain('key missing');
  });

  test('two stores that begin at the same time agree on one', async () => {
    const [first, second] = [open(), open()];

    await Promise.all([first.write('a', 'one'), second.write('b', 'two')]);

    expect(await first.read('b')).toEqual({ kind: 'found', value: 'two' });
    expect(await second.read('a')).toEqual({ kind: 'found', value: 'one' });
  });
});
