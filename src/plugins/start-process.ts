import path from 'node:path';
import type { Logger } from '../protocol/deps.ts';
import { EngineError, messageOf } from '../protocol/error.ts';
import { openChild } from '../transport/child.ts';
import { toChildEnvironment } from '../transport/environment.ts';
import { openMemoryChild, type PipedProgram } from '../transport/memory-child.ts';
import type { PluginDeclaration } from './declaration.ts';
import { resolveCwd, resolveProgram } from './program.ts';
import type { ResolvedSettings } from './settings.ts';

/**
 * Starts the program of a declaration, or what it has in place of one.
 * @throws EngineError `plugin`: an empty command, or `cannot start …` with program, directory and the system's reason
 */
export async function startProcess(
  declaration: PluginDeclaration,
  deps: { readonly projectRoot: string; readonly settings: ResolvedSettings; readonly logger: Logger },
  onStderrLine: (line: string) => void,
): Promise<PipedProgram> {
  const { settings, logger } = deps;
  if (declaration.serve !== undefined) return openMemoryChild(declaration.serve, onStderrLine);
  const [command, ...args] = declaration.command;
  if (command === undefined || command === '') {
    throw new EngineError('plugin', `plugin \`${declaration.name}\` has an empty command`, { code: 'start_failed' });
  }
  const cwd = resolveCwd(declaration.cwd, deps.projectRoot);
  const program = resolveProgram(command, cwd);
  const env = toChildEnvironment({
    policy: declaration.env_policy ?? settings.envPolicy,
    host: settings.environment,
    declared: declaration.env ?? {},
    secretNames: settings.secretNames,
  });
  try {
    return await openChild({ program, args, cwd, env, onStderrLine });
  } catch (error) {
    const isBareName = !path.isAbsolute(program);
    if (isBareName) logger.debug(`\`${program}\` was looked up on the PATH`, { path: env['PATH'] ?? '' });
    throw new EngineError(
      'plugin',
      `cannot start plugin \`${declaration.name}\` (\`${program}\` in \`${cwd}\`): ${messageOf(error)}`,
      { code: 'start_failed', cause: error },
    );
  }
}
