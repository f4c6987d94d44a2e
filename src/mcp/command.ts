import { stat } from 'node:fs/promises';
import path from 'node:path';
import { EngineError } from '../protocol/error.ts';
import type { McpServerRecord } from '../protocol/mcp.ts';
import { isProgramFile } from '../transport/program-file.ts';
import { connectError } from './errors.ts';

/** What to start: no shell, no further lookup. */
export interface ServerCommand {
  /** Absolute; on Windows a bare name stays one and is looked up by the system. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The command of a filled record (mcp-host 3.1): a `command` with blanks that names no file is split at blanks, one with a
 * separator is resolved against the working folder, a bare one is searched on the PATH the server gets.
 * @param folder the working folder of a record that names none
 * @throws EngineError `config_invalid` when the working folder is missing, `command_not_found`
 */
export async function resolveCommand(
  record: McpServerRecord,
  folder: string,
  env: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): Promise<ServerCommand> {
  const cwd = record.cwd === undefined ? folder : path.resolve(folder, record.cwd);
  if (!(await isFolder(cwd))) {
    throw new EngineError('config', `${record.name}: cwd is no folder.`, { code: 'config_invalid' });
  }
  const given = record.command ?? '';
  const whole = await findProgram(given, cwd, env, platform);
  if (whole !== undefined) return { program: whole, args: record.args, cwd, env };
  const [first = '', ...rest] = given.split(/[ \t]+/).filter((word) => word !== '');
  const program = rest.length === 0 && first === given ? undefined : await findProgram(first, cwd, env, platform);
  if (program !== undefined) return { program, args: [...rest, ...record.args], cwd, env };
  throw connectError('command_not_found', `\`${first}\` was not found on the daemon's PATH. Use an absolute path.`);
}

async function findProgram(
  name: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
  platform: NodeJS.Platform,
): Promise<string | undefined> {
  if (name === '') return undefined;
  const isPath = name.includes('/') || (platform === 'win32' && name.includes('\\'));
  if (isPath) {
    const file = path.resolve(cwd, name);
    return (await isProgramFile(file)) ? file : undefined;
  }
  // why: there the extension decides what may run, and the system knows the rules
  if (platform === 'win32') return name.includes(' ') ? undefined : name;
  for (const folder of (env['PATH'] ?? '').split(path.delimiter)) {
    if (folder === '') continue;
    const file = path.resolve(cwd, folder, name);
    if (await isProgramFile(file)) return file;
  }
  return undefined;
}

async function isFolder(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined);
  return found?.isDirectory() === true;
}
