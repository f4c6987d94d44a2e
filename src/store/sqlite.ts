import { createRequire } from 'node:module';

/** The part of a SQLite database that is used here. All calls are synchronous; only the thread that opened it may use it. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  run(...values: readonly SqliteValue[]): { readonly changes: number };
  get(...values: readonly SqliteValue[]): { readonly [column: string]: unknown } | undefined;
}

export type SqliteValue = string | number | Uint8Array;

/** How long a statement waits for another process, in milliseconds (mcp-host 10.5). */
const busyMs = 5_000;

/** Opens a database file, loading SQLite at this first use. */
export function openSqlite(file: string): SqliteDatabase {
  // why: native, and a process that keeps nothing must not pay for it
  const Database: new (file: string, options: { readonly timeout: number }) => SqliteDatabase = createRequire(
    import.meta.url,
  )('libsql');
  return new Database(file, { timeout: busyMs });
}

/** Whether another process kept the database for too long. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}
