import { constants } from 'node:fs';
import { mkdir, open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { EngineError } from '../protocol/error.ts';
import { openFolder } from './folder.ts';

/**
 * Creates a file of the engine's own, and the folder it lies in. Below the workspace root no link is followed on the way, since
 * an agent or the repository itself may have planted one (reliability PC7).
 * @throws EngineError `storage` when something else than a directory is in the way; errors of the file system as they are
 */
export async function createOwnFile(root: string, folder: string, name: string, text: string): Promise<void> {
  const real = await realpath(root);
  const inside = partsBelow(root, folder) ?? partsBelow(real, folder);
  if (inside === undefined) {
    await mkdir(folder, { recursive: true });
    await writeNew(join(folder, name), text);
    return;
  }
  const place = await openFolder(real);
  try {
    for (const part of inside) {
      const problem = await place.enter(part, true);
      if (problem?.reason === 'failed')
        throw new EngineError('storage', `\`${part}\` cannot be opened: ${problem.code}`);
      if (problem !== undefined) throw new EngineError('storage', `\`${part}\` is not a directory`);
    }
    await writeNew(place.at(name), text);
  } finally {
    await place.close();
  }
}

function partsBelow(root: string, folder: string): readonly string[] | undefined {
  const way = relative(root, folder);
  if (isAbsolute(way) || way === '..' || way.startsWith(`..${sep}`)) return undefined;
  return way.split(sep).filter((part) => part !== '');
}

async function writeNew(path: string, text: string): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  await using file = await open(path, flags, 0o600);
  await file.writeFile(text);
}
