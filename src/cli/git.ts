import { stat } from 'node:fs/promises';
import path from 'node:path';

/** Whether a folder lies in a git repository: a `.git` folder, or file of a worktree, in it or above. Runs no git. */
export async function isInGitRepository(folder: string): Promise<boolean> {
  for (let at = folder; ; at = path.dirname(at)) {
    const found = await stat(path.join(at, '.git')).catch(() => undefined);
    if (found !== undefined) return true;
    if (path.dirname(at) === at) return false;
  }
}
