import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { EngineError, toEngineError } from '../protocol/error.ts';
import { isDeeperThan } from '../protocol/json.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { findJsonError } from './json-position.ts';
import { type LockOptions, withLock } from './lock.ts';

/**
 * Reads a JSON file through a schema; undefined when there is no such file.
 * @throws EngineError `config` naming the file (and line and column where the text is no JSON); `storage` when it cannot
 * be read
 */
export async function readJsonFile<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readText(file);
  return text === undefined ? undefined : parseJsonText(text, file, schema);
}

/**
 * Parses the text of a JSON file; `file` is only named in errors.
 * @throws EngineError `config`
 */
export function parseJsonText<T>(text: string, file: string, schema: z.ZodType<T>): T {
  const content = text.startsWith('\uFEFF') ? text.slice(1) : text;
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (cause) {
    const at = findJsonError(content);
    const where = at === undefined ? '' : `:${at.line}:${at.column}`;
    // why no more of the parser's message: it quotes the file, which may hold a secret
    throw new EngineError('config', `${file}${where}: this is not valid JSON`, { code: 'config_invalid', cause });
  }
  if (isDeeperThan(value, 256)) {
    throw new EngineError('config', `${file}: nested deeper than 256 levels`, { code: 'config_invalid' });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.map(String).join('.')}: `;
  throw new EngineError('config', `${file}: ${where}${issue?.message ?? 'not valid'}`, { code: 'config_invalid' });
}

export interface JsonUpdateOptions extends LockOptions {
  /** Permission bits of the file. Default 0600. */
  readonly mode?: number;
  /** Allow a filled file to become empty (`{}` or `[]`). Default false: that is far more often a bug than a wish. */
  readonly mayEmpty?: boolean;
}

/**
 * Changes a JSON file under its lock: reads it afresh, applies `change`, writes it in one step (DU3). `change` gets
 * undefined when the file is missing. A file that does not parse is never replaced.
 * @returns what was written
 * @throws EngineError `config` for an unparsable file or an emptied one, `storage` when it cannot be written
 */
export async function updateJsonFile<T>(
  file: string,
  schema: z.ZodType<T>,
  change: (current: T | undefined) => T,
  options: JsonUpdateOptions = {},
): Promise<T> {
  return await withLock(
    file,
    async () => {
      const current = await readJsonFile(file, schema);
      const next = change(current);
      if (options.mayEmpty !== true && isEmpty(next) && current !== undefined && !isEmpty(current)) {
        throw new EngineError('config', `${file}: refusing to replace a filled file by an empty one`);
      }
      await writeFileAtomic(file, `${JSON.stringify(next, null, 2)}\n`, { mode: options.mode ?? 0o600 });
      return next;
    },
    options,
  );
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new EngineError('storage', `cannot read ${file}: ${toEngineError(error).message}`, { cause: error });
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
