import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'smol-toml';
import { isJsonObject, ownValue } from '../protocol/json.ts';

/**
 * Whether an agent file makes the engine read outside of the project: the file itself, or the prompt it names, links
 * followed. Such a prompt goes to a model, so it needs the user's trust. Lenient: a file that is not valid reaches nothing,
 * its loader reports what is wrong with it.
 */
export async function reachesOutside(file: string, projectRoot: string): Promise<boolean> {
  const root = await realpath(projectRoot);
  if (!isInside(await realPathOf(file), root)) return true;
  const prompt = await promptFileOf(file);
  return prompt !== undefined && !isInside(await realPathOf(path.resolve(path.dirname(file), prompt)), root);
}

async function promptFileOf(file: string): Promise<string | undefined> {
  let table: unknown;
  try {
    table = parse(await readFile(file, 'utf8'));
  } catch {
    return undefined; // see above
  }
  const prompt = isJsonObject(table) ? ownValue(table, 'system_prompt_file') : undefined;
  return typeof prompt === 'string' ? prompt : undefined;
}

/** Of what is not there, where it would be: the loader must not tell whether a file outside exists. */
async function realPathOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch {
    const folder = path.dirname(file);
    return folder === file ? file : path.join(await realPathOf(folder), path.basename(file));
  }
}

function isInside(file: string, root: string): boolean {
  const relative = path.relative(root, file);
  return relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}
