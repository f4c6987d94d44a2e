import { readServerFile, type RawServer } from '../mcp/server-file.ts';
import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { projectPaths, toShownPath, userPaths } from '../store/paths.ts';
import { UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import type { FileFlags } from './mcp-record.ts';
import type { Project } from './project.ts';

export function serverFiles(project: Project): { readonly userFile?: string; readonly projectFile: string } {
  const projectFile = projectPaths(project.root).mcp;
  return project.configDir === undefined
    ? { projectFile }
    : { userFile: userPaths(project.configDir).mcp, projectFile };
}

/** @throws EngineError `config` without a folder of the user */
export function fileToChange(project: Project, options: FileFlags): string {
  const { userFile, projectFile } = serverFiles(project);
  const file = options.project === true ? projectFile : userFile;
  if (file !== undefined) return file;
  throw new EngineError('config', 'there is no folder for the configuration of this user; use --project');
}

export function sourceOf(project: Project, file: string): 'user' | 'project' {
  return file === serverFiles(project).projectFile ? 'project' : 'user';
}

/** The user's file is private, the project's is as its repository has it. */
export function fileMode(project: Project, file: string): { readonly mode?: number } {
  return sourceOf(project, file) === 'project' ? {} : { mode: 0o600 };
}

/** The server as it is written down, the user's file first as everywhere. @throws UsageError when it is in neither */
export async function findServer(
  io: CliIo,
  project: Project,
  name: string,
  options: FileFlags = {},
): Promise<{ readonly file: string; readonly server: RawServer }> {
  const { userFile, projectFile } = serverFiles(project);
  const files = options.project === true || userFile === undefined ? [projectFile] : [userFile, projectFile];
  for (const file of files) {
    const server = (await readServerFile(file)).servers.find((known) => isSameName(known.name, name));
    if (server !== undefined) return { file, server };
  }
  const shown = files.map((file) => toShownPath(file, io.env)).join(' or ');
  throw new UsageError(`there is no MCP server \`${name}\` in ${shown}`);
}

/** In its place when it was there, else at the end. */
export function putServer(servers: readonly RawServer[], server: RawServer): readonly RawServer[] {
  const isThere = servers.some(({ name }) => name === server.name);
  return isThere ? servers.map((known) => (known.name === server.name ? server : known)) : [...servers, server];
}

/** A record with its name inside, as the host takes it. */
export function toServerInput({ name, value }: RawServer): JsonObject {
  return { ...(isJsonObject(value) ? value : {}), name };
}

export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
