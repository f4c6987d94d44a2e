import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isJsonObject } from '../../src/protocol/json.ts';
import type { VectorFile } from './types.ts';

const formats = new Set(['agent-vectors/1', 'vpp-vectors/1']);

/**
 * Reads vector files by path; folders are searched for `*.json` of a known format. A named file of an unknown format is an
 * error, in a folder it is passed over.
 */
export async function loadVectorFiles(paths: readonly string[]): Promise<readonly VectorFile[]> {
  const found: VectorFile[] = [];
  for (const path of paths.map((entry) => resolve(entry))) {
    if ((await stat(path)).isDirectory()) found.push(...(await loadFolder(path)));
    else {
      const file = await loadFile(path);
      if (file === undefined) throw new Error(`${path}: no vector file (unknown or missing \`format\`)`);
      found.push(file);
    }
  }
  if (found.length === 0) throw new Error(`no vector files found in ${paths.join(', ')}`);
  return found;
}

async function loadFolder(folder: string): Promise<readonly VectorFile[]> {
  const found: VectorFile[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.sort((left, right) => (left.name < right.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await loadFolder(path)));
    else if (entry.name.endsWith('.json')) {
      const file = await loadFile(path);
      if (file !== undefined) found.push(file);
    }
  }
  return found;
}

async function loadFile(path: string): Promise<VectorFile | undefined> {
  let data: unknown;
  try {
    data = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : 'unreadable'}`, { cause: error });
  }
  if (!isJsonObject(data) || typeof data['format'] !== 'string' || !formats.has(data['format'])) return undefined;
  return { path, data };
}
