import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../transport/environment.ts';

/**
 * The shell that runs commands, a POSIX one because the shell policy judges nothing else; nothing when there is none. On
 * Windows it is `sh.exe` of the PATH or of the Git whose `git.exe` is on it.
 */
export function findPosixShell(env: Environment, platform: NodeJS.Platform = process.platform): string | undefined {
  if (platform !== 'win32') return '/bin/sh';
  const path = Object.entries(env).find(([name]) => name.toUpperCase() === 'PATH')?.[1] ?? '';
  for (const folder of path.split(';').filter((entry) => entry !== '')) {
    const candidates = [
      join(folder, 'sh.exe'),
      ...(existsSync(join(folder, 'git.exe')) ? [join(folder, '..', 'bin', 'sh.exe')] : []),
    ];
    const found = candidates.find((candidate) => existsSync(candidate));
    if (found !== undefined) return found;
  }
  return undefined;
}
