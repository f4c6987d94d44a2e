import { readdir, stat } from 'node:fs/promises';
import { isUtf8 } from 'node:buffer';
import path from 'node:path';
import type { Logger } from '../protocol/deps.ts';
import { describeError, messageOf } from '../protocol/error.ts';
import { manifestFile } from '../protocol/vpp.ts';
import type { PluginDeclaration } from './declaration.ts';
import { readPluginManifest } from './manifest.ts';
import { resolveCwd } from './program.ts';

export interface DiscoveryOptions {
  readonly projectRoot: string;
  /** Declarations of the configuration file, in its order. */
  readonly inline: readonly PluginDeclaration[];
  /** Folders of plugins, earlier ones first: the project's, then the user's. Only those that may be trusted. */
  readonly folders: readonly string[];
  readonly logger: Logger;
}

/**
 * All declared plugins: inline ones first, then those found in the folders whose names are not taken yet
 * (plugin-protocol section 12). Working directories are absolute. A manifest that cannot be used is logged and skipped.
 */
export async function discoverPlugins(options: DiscoveryOptions): Promise<readonly PluginDeclaration[]> {
  const { logger } = options;
  const found = new Map<string, PluginDeclaration>();
  for (const declaration of options.inline) {
    const { name } = declaration;
    if (found.has(name)) logger.warn(`plugin \`${name}\` declared twice; ignoring duplicate`, { plugin: name });
    else found.set(name, { ...declaration, cwd: resolveCwd(declaration.cwd, options.projectRoot) });
  }
  for (const folder of options.folders) {
    for (const declaration of await scanFolder(folder, logger)) {
      const { name } = declaration;
      if (found.has(name)) {
        logger.debug(`plugin \`${name}\` in ${folder} is shadowed by an earlier one`, { plugin: name });
      } else found.set(name, declaration);
    }
  }
  return [...found.values()];
}

/** The plugins of one folder, by the bytes of their folder names; one level deep, links followed. */
async function scanFolder(folder: string, logger: Logger): Promise<readonly PluginDeclaration[]> {
  const names = await readdir(folder, { encoding: 'buffer' }).catch((error: unknown) => {
    if (!isMissing(error)) logger.warn(`cannot read plugin folder ${folder}: ${messageOf(error)}`);
    return [];
  });
  const found: PluginDeclaration[] = [];
  for (const name of names.sort((left, right) => Buffer.compare(left, right))) {
    if (!isUtf8(name)) continue;
    const file = path.join(folder, name.toString('utf8'), manifestFile);
    try {
      if (await isRegularFile(file)) found.push(await readPluginManifest(file));
    } catch (error) {
      logger.warn(`skipping invalid plugin manifest: ${describeError(error)}`, { path: file });
    }
  }
  return found;
}

/** Judged before it is opened: opening a pipe that someone put there would wait for ever. */
async function isRegularFile(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    // anything but absence is met again, and reported, when the file is read
    return !isMissing(error);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
