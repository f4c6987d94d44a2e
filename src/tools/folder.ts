import { constants, existsSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from '../protocol/error.ts';
import { codeOf } from './containment.ts';
import { decodeName, toFsPath } from './names.ts';

export interface StepProblem {
  readonly reason: 'link' | 'missing' | 'file' | 'failed';
  readonly code: string;
}

/** A directory that can be moved down step by step without ever following a link. */
export interface Folder {
  /** A path that leads to this very directory, also for a child process while it is being started. */
  readonly self: string;
  /** Its canonical path when it was entered. */
  readonly real: string;
  at(name: string): string;
  /** Moves into a directory of this one; the problem when it cannot. */
  enter(name: string, create: boolean): Promise<StepProblem | undefined>;
  close(): Promise<void>;
}

const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/**
 * Opens a canonical directory.
 * @throws EngineError `workspace` when it is no longer there
 */
export async function openFolder(root: string): Promise<Folder> {
  const hasHandlePaths = existsSync('/proc/self/fd');
  let handle = await open(toFsPath(root), folderFlags);
  let path = root;

  // why: the kernel resolves the first form from the handle itself; without it the name is all there is
  const at = (name: string): string => (hasHandlePaths ? `/proc/self/fd/${handle.fd}/${name}` : join(path, name));

  async function isWhatItWas(directory: FileHandle, expected: string): Promise<boolean> {
    const link = hasHandlePaths
      ? readlink(`/proc/self/fd/${directory.fd}`, 'buffer')
      : realpath(toFsPath(expected), 'buffer');
    return decodeName(await link) === expected;
  }

  async function enter(name: string, create: boolean): Promise<StepProblem | undefined> {
    let next: FileHandle;
    try {
      next = await open(toFsPath(at(name)), folderFlags);
    } catch (error) {
      const stats = await statsOf(at(name));
      if (stats === undefined && create) {
        await mkdir(toFsPath(at(name))).catch((failure: unknown) => {
          if (codeOf(failure) !== 'EEXIST') throw failure; // someone else was faster
        });
        return enter(name, false);
      }
      if (stats === undefined) return { reason: 'missing', code: 'ENOENT' };
      if (stats.isSymbolicLink()) return { reason: 'link', code: '' };
      if (!stats.isDirectory()) return { reason: 'file', code: '' };
      // why: someone else made it between the two looks
      if (create && codeOf(error) === 'ENOENT') return enter(name, false);
      return { reason: 'failed', code: codeOf(error) };
    }
    await handle.close();
    handle = next;
    path = join(path, name);
    if (!hasHandlePaths && !(await isWhatItWas(next, path))) return { reason: 'link', code: '' };
    return undefined;
  }

  if (!(await isWhatItWas(handle, root))) {
    await handle.close();
    throw new EngineError('workspace', `the workspace \`${root}\` was replaced`);
  }
  return {
    at,
    enter,
    close: () => handle.close(),
    get real() {
      return path;
    },
    get self() {
      return hasHandlePaths ? `/proc/self/fd/${handle.fd}` : path;
    },
  };
}

/** What an entry is, links not followed; nothing when there is none. */
export async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(toFsPath(path));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
