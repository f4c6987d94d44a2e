import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { EngineError, toEngineError } from '../protocol/error.ts';

export interface AtomicWriteOptions {
  /** Permission bits of the new file. Default: those of the file it replaces, else 0600. */
  readonly mode?: number;
  /** Permission bits of folders created on the way. Default 0700. */
  readonly folderMode?: number;
}

/**
 * Replaces a file in one step: readers see the old text or the new one, also after a power cut. The text is written to a
 * temporary file beside it, flushed, and renamed over it; missing folders are created. A symbolic link is refused, so
 * nothing is ever written where a link points.
 * @throws EngineError `storage`; the old file is then untouched and no temporary file is left
 */
export async function writeFileAtomic(
  file: string,
  text: string | Uint8Array,
  options: AtomicWriteOptions = {},
): Promise<void> {
  try {
    const folder = path.dirname(file);
    await mkdir(folder, { recursive: true, mode: options.folderMode ?? 0o700 });
    const mode = options.mode ?? (await modeOf(file)) ?? 0o600;
    if (await isLink(file)) {
      throw new EngineError('storage', `cannot write ${file}: it is a symbolic link; replace it with a regular file`);
    }
    const temporary = path.join(folder, `.${path.basename(file)}.${randomBytes(6).toString('hex')}.tmp`);
    try {
      await writeFlushed(temporary, text, mode);
      await rename(temporary, file);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    await flushFolder(folder);
  } catch (error) {
    const known = toEngineError(error, 'storage');
    if (known === error) throw known;
    throw new EngineError('storage', `cannot write ${file}: ${known.message}`, { cause: error });
  }
}

async function writeFlushed(file: string, text: string | Uint8Array, mode: number): Promise<void> {
  // why: created with owner bits only and widened afterwards, so that a secret is never readable for a moment
  const handle = await open(file, 'wx', mode & 0o700);
  try {
    if ((mode & 0o077) !== 0) await handle.chmod(mode);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function modeOf(file: string): Promise<number | undefined> {
  const stats = await lstat(file).catch(ignoreMissing);
  return stats?.isFile() === true ? stats.mode & 0o777 : undefined;
}

async function isLink(file: string): Promise<boolean> {
  const stats = await lstat(file).catch(ignoreMissing);
  return stats?.isSymbolicLink() === true;
}

/** Makes the rename itself durable. Windows and some file systems cannot flush a folder; the rename is atomic there too. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  if (handle === undefined) return;
  try {
    await handle.sync();
  } catch {
    // best effort, see above
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
