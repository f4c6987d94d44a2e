import path from 'node:path';
import type { PluginDeclaration } from '../plugins/declaration.ts';
import { discoverPlugins } from '../plugins/discovery.ts';
import { projectPaths, userPaths } from '../store/paths.ts';
import type { CliIo } from './io.ts';
import { openLogger } from './open-engine.ts';
import type { Project } from './project.ts';

/** A declared plugin as a listing shows it. */
export interface ListedPlugin {
  readonly declaration: PluginDeclaration;
  /** Where it is declared. */
  readonly from: 'project' | 'user';
  /** Whether it may start. A user's own plugins always may. */
  readonly isTrusted: boolean;
}

/** Every declared plugin, inline and by manifest, in the order an engine would take them. Starts nothing. */
export async function listDeclarations(io: CliIo, project: Project): Promise<readonly ListedPlugin[]> {
  const own = projectPaths(project.root).plugins;
  const users = project.configDir === undefined ? undefined : userPaths(project.configDir).plugins;
  const declarations = await discoverPlugins({
    projectRoot: project.root,
    inline: project.loaded.config.plugins ?? [],
    folders: users === undefined ? [own] : [own, users],
    logger: openLogger(io),
  });
  return declarations.map((declaration) => {
    const isUsers = users !== undefined && declaration.source?.startsWith(users + path.sep) === true;
    return { declaration, from: isUsers ? 'user' : 'project', isTrusted: isUsers || project.isTrusted };
  });
}
