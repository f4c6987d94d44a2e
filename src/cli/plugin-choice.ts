import path from 'node:path';
import { readPluginManifest } from '../plugins/manifest.ts';
import type { PluginDeclaration } from '../plugins/declaration.ts';
import { EngineError } from '../protocol/error.ts';
import { manifestFile } from '../protocol/vpp.ts';
import { listDeclarations } from './declarations.ts';
import { UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import type { Project } from './project.ts';
import { decideTrust } from './trust.ts';

/**
 * The plugin a command works on: one that is declared, by its name, or one that lies in a folder, by a path with a separator
 * (`./clock`). Naming a folder is consent to start it; a project's own plugins need the trust of their project.
 * @throws UsageError when there is none; EngineError `config` for a bad manifest, with the code `untrusted` without trust
 */
export async function choosePlugin(io: CliIo, project: Project, name: string): Promise<PluginDeclaration> {
  const plugins = await listDeclarations(io, project);
  const found = plugins.find(({ declaration }) => declaration.name === name);
  if (found === undefined) {
    if (isPath(name)) return await readPluginManifest(path.join(path.resolve(io.cwd, name), manifestFile));
    const known = plugins.map(({ declaration }) => declaration.name).join(', ') || 'none';
    throw new UsageError(`there is no plugin \`${name}\`; declared here: ${known} (a folder is named as ./${name})`);
  }
  if (!found.isTrusted && !(await decideTrust(io, project))) {
    throw new EngineError('config', `plugin \`${name}\` belongs to a project that is not trusted yet`, {
      code: 'untrusted',
    });
  }
  return found.declaration;
}

function isPath(name: string): boolean {
  return name === '.' || name === '..' || name.includes('/') || name.includes(path.sep);
}
