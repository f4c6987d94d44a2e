import { cp, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { git } from './git.ts';

/** Makes a real repository of the project beside this file in `folder`, which must not exist. */
export async function openProject(folder: string): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  await cp(path.join(import.meta.dirname, 'project'), folder, { recursive: true });
  await git(folder, 'init', '--quiet', '--initial-branch', 'main');
  await git(folder, 'config', 'user.name', 'Factory');
  await git(folder, 'config', 'user.email', 'factory@example.invalid');
  await git(folder, 'add', '--all');
  await git(folder, 'commit', '--quiet', '--message', 'feat: convert lengths');
}
