import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { ownProgram } from '../plugins/program.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import type { CommonOptions } from './command.ts';
import type { PluginLanguage } from './program.ts';

/** What the TypeScript template imports or is run with. */
const tsPackages = ['vibe-bus/plugin', 'tsx', 'zod'];

/** `vibe-bus plugins new <dir>`: a plugin that works, to start from. Touches no folder that holds anything. */
export async function newPlugin(
  io: CliIo,
  dir: string,
  options: CommonOptions & { readonly lang: PluginLanguage },
): Promise<ExitCode> {
  const folder = path.resolve(io.cwd, options.root ?? '.', dir);
  const name = path.basename(folder);
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) {
    throw new UsageError(`\`${name}\` is no name for a plugin; use letters, digits, \`.\`, \`_\` and \`-\``);
  }
  if (!(await isFree(folder))) throw new UsageError(`${dir} exists and is not empty; choose another folder`);
  const files = await copyTemplate(options.lang, folder, { name, version: ownProgram().version });
  if (options.json === true) {
    io.out(`${JSON.stringify({ name, folder, files })}\n`);
    return exitCodes.ok;
  }
  const shown = toArgument(path.relative(io.cwd, folder));
  const isReady = options.lang !== 'ts' || tsPackages.every((entry) => isInstalled(entry, folder));
  io.out(`Made the plugin ${name}: ${files.join(', ')}\nNext:\n`);
  if (!isReady) io.out(`  npm install --prefix ${shown}\n`);
  io.out(`  vibe-bus plugins test ${shown}\n  vibe-bus plugins fuzz ${shown}\n`);
  io.out('Projects use it from a folder in .vibe/plugins, or by [[plugins]] in .vibe/config.toml.\n');
  return exitCodes.ok;
}

async function isFree(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
  }
}

async function copyTemplate(
  language: PluginLanguage,
  folder: string,
  values: { readonly [place: string]: string },
): Promise<readonly string[]> {
  const source = new URL(`../../templates/plugin/${language}/`, import.meta.url);
  const files = (await readdir(source)).sort();
  await mkdir(folder, { recursive: true });
  for (const file of files) {
    const text = await readFile(new URL(file, source), 'utf8');
    const filled = text.replace(/\{\{(\w+)\}\}/g, (place, key: string) => values[key] ?? place);
    // why: never over a file that came in between
    await writeFile(path.join(folder, file), filled, { flag: 'wx' });
  }
  return files;
}

function isInstalled(specifier: string, folder: string): boolean {
  try {
    createRequire(path.join(folder, 'plugin.ts')).resolve(specifier);
    return true;
  } catch {
    return false;
  }
}

/** A path that is taken for one, whatever the shell makes of its characters. */
function toArgument(relative: string): string {
  const text = relative.startsWith('..') || path.isAbsolute(relative) ? relative : `.${path.sep}${relative}`;
  return /^[\w./\\:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
