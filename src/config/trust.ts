import { readdir, readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { EngineError, toEngineError } from '../protocol/error.ts';
import { readJsonFile, updateJsonFile } from '../store/json-file.ts';
import { projectPaths, userPaths } from '../store/paths.ts';
import { listAgentFiles } from './agent-overrides.ts';
import { reachesOutside } from './agent-reach.ts';
import { type LoadedConfig, sha256, type UntrustedPart } from './config.ts';
import { listMcpParts, toAgentPart, toPluginPart } from './trust-parts.ts';

/** Whether a project's own programs, providers and policy may be used (contract README, decisions 13 and 21). */
export interface TrustCheck {
  /**
   * - `not_needed`: the project has nothing of that kind
   * - `granted`: the user trusted exactly this content
   * - `changed`: the user trusted it before, the files in `changed` differ since
   * - `unknown`: the user never trusted it
   */
  readonly state: 'not_needed' | 'granted' | 'changed' | 'unknown';
  /** What needs trust, each as a user reads it. */
  readonly parts: readonly UntrustedPart[];
  /** Files that differ from what was trusted, relative to the root, sorted. */
  readonly changed: readonly string[];
  /** SHA-256 in hex by path relative to the root (with `/`), sorted: what a grant is bound to. */
  readonly files: { readonly [file: string]: string };
}

export interface TrustLocation {
  readonly root: string;
  /** The user's folder; without one nothing can be remembered, so nothing is trusted. */
  readonly configDir: string | undefined;
  /** What `loadConfig` gave for the same root. */
  readonly loaded: LoadedConfig;
}

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const trustFile = z.strictObject({
  projects: z.record(z.string(), z.strictObject({ granted_at: z.string(), files: z.record(z.string(), hash) })),
});

/**
 * Compares a project with what its user trusted. Reads files only; starts nothing.
 * @throws EngineError `config` when `trust.json` is damaged, `storage` when a file cannot be read
 */
export async function checkTrust(location: TrustLocation): Promise<TrustCheck> {
  const { files, parts } = await fingerprint(location);
  if (parts.length === 0) return { state: 'not_needed', parts, changed: [], files };
  if (location.configDir === undefined) return { state: 'unknown', parts, changed: [], files };

  const stored = await readJsonFile(userPaths(location.configDir).trust, trustFile);
  const root = await realpath(location.root);
  const projects = new Map(Object.entries(stored?.projects ?? {}));
  const granted = projects.get(root);
  if (granted === undefined) return { state: 'unknown', parts, changed: [], files };

  const before = new Map(Object.entries(granted.files));
  const now = new Map(Object.entries(files));
  // a file that is gone can start nothing, so only what is new or different asks again
  const changed = [...now.keys()].filter((file) => before.get(file) !== now.get(file));
  return { state: changed.length === 0 ? 'granted' : 'changed', parts, changed, files };
}

/**
 * Remembers that the user trusts the content `check` saw, and nothing newer: a file changed in between asks again.
 * @throws EngineError `config` without a user folder or with a damaged `trust.json`, `storage` when it cannot be written
 */
export async function grantTrust(
  location: Pick<TrustLocation, 'root' | 'configDir'>,
  check: TrustCheck,
  now: Date,
): Promise<void> {
  const root = await realpath(location.root);
  await updateJsonFile(requireTrustPath(location.configDir), trustFile, (current) => {
    const projects = new Map(Object.entries(current?.projects ?? {}));
    projects.set(root, { granted_at: now.toISOString(), files: { ...check.files } });
    return { projects: Object.fromEntries(projects) };
  });
}

/**
 * Forgets a grant.
 * @returns whether there was one
 * @throws EngineError as `grantTrust`
 */
export async function revokeTrust(location: Pick<TrustLocation, 'root' | 'configDir'>): Promise<boolean> {
  const root = await realpath(location.root);
  let had = false;
  await updateJsonFile(requireTrustPath(location.configDir), trustFile, (current) => {
    const projects = new Map(Object.entries(current?.projects ?? {}));
    had = projects.delete(root);
    return { projects: Object.fromEntries(projects) };
  });
  return had;
}

function requireTrustPath(configDir: string | undefined): string {
  if (configDir !== undefined) return userPaths(configDir).trust;
  throw new EngineError('config', 'there is no user folder to remember trust in; set VIBE_CONFIG_HOME to a folder');
}

async function fingerprint(
  location: TrustLocation,
): Promise<{ files: { [file: string]: string }; parts: readonly UntrustedPart[] }> {
  const paths = projectPaths(location.root);
  const found = new Map<string, string>();
  const parts = [...location.loaded.untrusted];
  const project = location.loaded.layers.find((layer) => layer.from === 'project');
  if (project !== undefined && location.loaded.untrusted.length > 0) found.set(paths.config, project.sha256);

  const mcp = await readIfThere(paths.mcp);
  if (mcp !== undefined) {
    found.set(paths.mcp, sha256(mcp));
    parts.push(...listMcpParts(mcp));
  }
  for (const folder of await listFolders(paths.plugins)) {
    const manifest = path.join(paths.plugins, folder, 'vibe-plugin.toml');
    const bytes = await readIfThere(manifest);
    if (bytes === undefined) continue;
    found.set(manifest, sha256(bytes));
    parts.push(toPluginPart(bytes, folder));
  }
  // why: what cannot be listed cannot be loaded either, and its loader says what is wrong
  for (const file of await listAgentFiles(paths.agents).catch(() => [])) {
    const bytes = await readIfThere(file);
    if (bytes === undefined || !(await reachesOutside(file, location.root))) continue;
    found.set(file, sha256(bytes));
    parts.push(toAgentPart(file));
  }

  const relative = [...found].map(
    ([file, digest]) => [path.relative(location.root, file).split(path.sep).join('/'), digest] as const,
  );
  return { files: Object.fromEntries(relative.sort(([left], [right]) => (left < right ? -1 : 1))), parts };
}

async function listFolders(folder: string): Promise<readonly string[]> {
  try {
    // symbolic links too: discovery follows them
    return (await readdir(folder)).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw unreadable(folder, error);
  }
}

async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw unreadable(file, error);
  }
}

/** EISDIR: something of that name that is no file is nothing a loader would read either. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR', 'EISDIR'].includes(String(error.code));
}

function unreadable(file: string, cause: unknown): EngineError {
  return new EngineError('storage', `cannot read ${file}: ${toEngineError(cause).message}`, { cause });
}
