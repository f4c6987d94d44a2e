import { execFile } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs git in a folder. @throws what git says when it fails */
export async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run('git', [...args], { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/** Where the factory keeps its own files: in the project, so that agents may write there, but out of its history. */
export const scratch = '.factory';

/** Makes the scratch folder of a repository. @throws Error when the folder is no clean repository */
export async function openScratch(root: string): Promise<void> {
  if ((await git(root, 'status', '--porcelain')) !== '')
    throw new Error(`commit or stash the changes in ${root} first`);
  const exclude = path.resolve(root, (await git(root, 'rev-parse', '--git-path', 'info/exclude')).trim());
  await mkdir(path.dirname(exclude), { recursive: true });
  await appendFile(exclude, `/${scratch}/\n`);
  await mkdir(path.join(root, scratch), { recursive: true });
}

/** A place to work on one subtask without seeing the others: a branch with a folder of its own. */
export interface Bench extends AsyncDisposable {
  readonly root: string;
  readonly branch: string;
}

export async function openBench(repository: string, branch: string): Promise<Bench> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'factory-')));
  const root = path.join(folder, path.basename(repository));
  await git(repository, 'worktree', 'add', '--quiet', '-b', branch, root);
  return {
    root,
    branch,
    async [Symbol.asyncDispose]() {
      await git(repository, 'worktree', 'remove', '--force', root);
      await git(repository, 'branch', '--quiet', '-D', branch);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What was changed in a folder since its last commit, new files included. */
export async function stageAll(root: string): Promise<string> {
  await git(root, 'add', '--all');
  return await git(root, 'diff', '--cached');
}

/** Merges a branch. @returns the files in conflict, which `finishMerge` expects resolved */
export async function startMerge(root: string, branch: string): Promise<readonly string[]> {
  try {
    await git(root, 'merge', '--quiet', '--no-ff', '--no-edit', branch);
    return [];
  } catch (error) {
    const files = (await git(root, 'diff', '--name-only', '--diff-filter=U', '-z')).split('\0').filter(Boolean);
    if (files.length === 0) throw error;
    return files;
  }
}

export async function finishMerge(root: string): Promise<void> {
  await git(root, 'add', '--all');
  await git(root, 'commit', '--quiet', '--no-edit');
}
