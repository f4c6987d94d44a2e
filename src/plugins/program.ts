import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject } from '../protocol/json.ts';
import type { ProgramInfo } from '../protocol/vpp.ts';

/**
 * What is started for `command[0]` (plugin-protocol section 12): an absolute path as it is, a path with a separator from
 * `cwd`, a bare name as it is, to be looked up on the PATH the child gets.
 */
export function resolveProgram(program: string, cwd: string, platform: NodeJS.Platform = process.platform): string {
  const paths = platform === 'win32' ? path.win32 : path.posix;
  if (paths.isAbsolute(program)) return program;
  const isPath = program.includes('/') || (platform === 'win32' && program.includes('\\'));
  return isPath ? paths.join(cwd, program) : program;
}

/** The working directory of a plugin, absolute. */
export function resolveCwd(cwd: string | undefined, projectRoot: string): string {
  return path.resolve(projectRoot, cwd ?? '.');
}

/** This package as it introduces itself to plugins. */
export function ownProgram(): ProgramInfo {
  const data: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const version = isJsonObject(data) ? data['version'] : undefined;
  return { name: 'vibe-bus', version: typeof version === 'string' ? version : '0.0.0' };
}
