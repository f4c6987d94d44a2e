import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { Clock } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import { systemClock } from '../protocol/signal.ts';
import { isPidAlive, processStartTime } from './process-identity.ts';

export interface LockOptions {
  /** How long to wait for a living owner, in milliseconds. Default 10 000. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Runs `work` while this process alone holds the lock of `file` (`<file>.lock`, released on every path). A lock whose
 * owner has ended is taken over at once, also when its pid belongs to another process by now; a living owner is never
 * robbed (DU4).
 *
 * The lock is a folder holding one file named after its owner. Taking it is one rename, which fails while the folder has a
 * file in it; taking it over removes the dead owner's file by its unique name, so two contenders cannot undo each other.
 * @throws EngineError `storage` with code `timeout` when a living owner keeps it
 */
export async function withLock<T>(file: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const lock = `${file}.lock`;
  const owner = await currentOwner();
  await acquire(lock, owner, options);
  try {
    return await work();
  } finally {
    await release(lock, owner);
  }
}

interface LockOwner {
  readonly pid: number;
  /** `-` when the system does not tell. */
  readonly start: string;
  readonly host: string;
  readonly token: string;
}

async function currentOwner(): Promise<LockOwner> {
  const start = await processStartTime(process.pid, process.platform);
  return { pid: process.pid, start: start ?? '-', host: thisHost(), token: randomBytes(6).toString('hex') };
}

async function acquire(lock: string, owner: LockOwner, options: LockOptions): Promise<void> {
  const { waitMs = 10_000, signal, clock = systemClock } = options;
  const prepared = `${lock}.${owner.pid}-${owner.token}`;
  const limit = clock.elapsed() + waitMs;
  await mkdir(path.dirname(lock), { recursive: true, mode: 0o700 });
  await mkdir(prepared, { mode: 0o700 });
  try {
    await writeFile(path.join(prepared, toFileName(owner)), '', { mode: 0o600, flag: 'wx' });
    for (let attempt = 0; !(await moveInto(prepared, lock)); attempt += 1) {
      const holder = await clearDeadOwners(lock);
      if (holder === undefined) continue;
      if (clock.elapsed() >= limit) throw heldBy(lock, holder);
      // uneven steps keep contenders from trying in lock step
      await clock.sleep(Math.min(5 + attempt * 3, 50) + Math.random() * 10, signal);
    }
  } catch (error) {
    await rm(prepared, { recursive: true, force: true });
    throw error;
  }
}

async function release(lock: string, owner: LockOwner): Promise<void> {
  await unlink(path.join(lock, toFileName(owner))).catch(ignoreTaken);
  await rmdir(lock).catch(ignoreTaken);
}

/** Whether the prepared folder became the lock. */
async function moveInto(prepared: string, lock: string): Promise<boolean> {
  try {
    await rename(prepared, lock);
    return true;
  } catch (error) {
    // EPERM and EACCES: Windows never renames onto a folder, not even an empty one
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES')) return false;
    throw error;
  }
}

/** Removes what ended processes left; the living owner, or undefined when the lock is worth another try. */
async function clearDeadOwners(lock: string): Promise<LockOwner | undefined> {
  const names = await readdir(lock).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (names === undefined) return undefined;
  for (const name of names) {
    const owner = parseOwner(name);
    if (owner === undefined || (await isAlive(owner))) {
      return owner ?? { pid: 0, start: '-', host: thisHost(), token: name };
    }
    await unlink(path.join(lock, name)).catch(ignoreTaken);
  }
  await rmdir(lock).catch(ignoreTaken);
  return undefined;
}

async function isAlive(owner: LockOwner): Promise<boolean> {
  // another machine's processes cannot be judged from here
  if (owner.host !== thisHost()) return true;
  if (!isPidAlive(owner.pid)) return false;
  if (owner.start === '-') return true;
  return (await processStartTime(owner.pid, process.platform)) === owner.start;
}

function heldBy(lock: string, owner: LockOwner): EngineError {
  const where = owner.host === thisHost() ? '' : ` on ${owner.host}`;
  const who = owner.pid === 0 ? 'something that is no process' : `process ${owner.pid}${where}`;
  return new EngineError('storage', `${lock} is held by ${who}; if that is gone, remove this folder`, {
    code: 'timeout',
  });
}

const separator = '~';

function toFileName(owner: LockOwner): string {
  return [owner.pid, owner.start, owner.host, owner.token].join(separator);
}

function parseOwner(name: string): LockOwner | undefined {
  const [pid, start, host, token, ...rest] = name.split(separator);
  if (pid === undefined || start === undefined || host === undefined || token === undefined || rest.length > 0) {
    return undefined;
  }
  return /^[1-9][0-9]{0,9}$/.test(pid) ? { pid: Number(pid), start, host, token } : undefined;
}

function thisHost(): string {
  return (
    hostname()
      .replace(/[^A-Za-z0-9.-]/g, '-')
      .slice(0, 64) || '-'
  );
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** The next owner may already have cleared or refilled the folder. */
function ignoreTaken(error: unknown): void {
  if (!hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES')) throw error;
}
