import { randomBytes } from 'node:crypto';
import { constants, lstatSync, type Stats } from 'node:fs';
import { access, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ToolOutput } from '../protocol/tool.ts';
import { codeOf, componentsBelowRoot, denied, resolveExisting, type Scope } from './containment.ts';
import { type Folder, openFolder, statsOf, type StepProblem } from './folder.ts';
import { quotePath, toFsPath, unquotePath } from './names.ts';
import { mayBeInside, refusePathText, refuseProtected } from './path-rules.ts';

/** The place of one file to write: its directory held open, so that nothing can slip a link in front of it. */
export interface WriteTarget extends AsyncDisposable {
  readonly ok: true;
  /** Relative to the workspace, with `/`. */
  readonly shown: string;
  /** What is there now; nothing when there is no such entry. Never a link. */
  readonly stats: Stats | undefined;
  /** A path that leads to the file in this very directory. */
  readonly path: string;
  /** Puts a new file in the place in one step; a hard link elsewhere keeps the old content. */
  replace(content: Buffer, signal: AbortSignal): Promise<void>;
}

export interface WorkingFolder extends AsyncDisposable {
  readonly ok: true;
  readonly shown: string;
  readonly folder: Folder;
}

export type NoTarget = {
  readonly ok: false;
  readonly shown: string;
  /** `refused`: not allowed; `directory`: names the workspace itself; `missing`: a directory above does not exist. */
  readonly reason: 'refused' | 'directory' | 'missing' | 'not_directory' | 'failed';
  /** For `refused` the whole output, for `failed` the system's code, for `not_directory` the shown path that is none. */
  readonly output?: ToolOutput;
  readonly detail?: string;
};

export interface WriteRules {
  /** Make directories above the file that do not exist. */
  readonly createParents: boolean;
  /** Folders that are not writable besides `.git` and `.vibe`, whether or not they exist yet (reliability PC5). */
  readonly protectedFolders?: readonly string[] | undefined;
}

/**
 * Finds a path for writing (agent-runtime 16): inside the workspace only, through no link, not in git data nor among the
 * engine's own files. Each directory is opened from its parent's handle (reliability PC3).
 */
export async function openWriteTarget(path: string, scope: Scope, rules: WriteRules): Promise<WriteTarget | NoTarget> {
  const judged = judge(path, scope, rules.protectedFolders ?? []);
  if (!judged.ok) return judged;
  const { components, shown } = judged;
  const name = components.at(-1);
  if (name === undefined) return { ok: false, shown, reason: 'directory' };
  return await descend(
    { path, shown, components: components.slice(0, -1) },
    scope,
    rules.createParents,
    async (folder) => {
      const file = folder.at(name);
      const stats = await statsOf(file);
      if (stats?.isSymbolicLink() === true) return refused(shown, denied(`path \`${path}\` is a symbolic link`));
      const replace = (content: Buffer, signal: AbortSignal): Promise<void> =>
        replaceFile(folder, name, content, stats, signal);
      return { ok: true, shown, stats, path: file, replace, [Symbol.asyncDispose]: () => folder.close() };
    },
  );
}

/** Opens a directory to work in, by the same rules as a file to write. */
export async function openWorkingFolder(path: string, scope: Scope): Promise<WorkingFolder | NoTarget> {
  const judged = judge(path, scope, []);
  if (!judged.ok) return judged;
  const { components, shown } = judged;
  return await descend({ path, shown, components }, scope, false, async (folder) => ({
    ok: true,
    shown,
    folder,
    [Symbol.asyncDispose]: () => folder.close(),
  }));
}

type Judged = { readonly ok: true; readonly components: readonly string[]; readonly shown: string } | NoTarget;

/** What the text of a path says, before anything is opened. */
function judge(path: string, scope: Scope, protectedFolders: readonly string[]): Judged {
  const refusal = refusePathText(path);
  if (refusal !== undefined) return refused(path, denied(refusal));
  const components = componentsOf(path, scope);
  if (components === undefined) {
    return refused(path, denied(`path \`${path}\` escapes the workspace \`${scope.configured}\``));
  }
  const shown = components.length === 0 ? '.' : quotePath(components.join('/'));
  const absolute = join(scope.root, ...components);
  const isProtected = protectedFolders.some((folder) => mayBeInside(resolveExisting(folder), absolute));
  const guard =
    refuseProtected(components) ??
    (isProtected ? `\`${shown}\` belongs to the engine and is not writable by tools` : undefined);
  return guard === undefined ? { ok: true, components, shown } : refused(shown, denied(guard));
}

/** The names below the workspace; a quoted path stands for its real name when only that one exists. */
function componentsOf(path: string, scope: Scope): readonly string[] | undefined {
  const literal = resolve(scope.configured, path);
  const unquoted = unquotePath(path);
  const useUnquoted =
    unquoted !== undefined &&
    !unquoted.includes('\0') &&
    !exists(literal) &&
    exists(resolve(scope.configured, unquoted));
  const absolute = useUnquoted ? resolve(scope.configured, unquoted) : literal;
  return componentsBelowRoot(absolute, scope);
}

function exists(path: string): boolean {
  return lstatSync(toFsPath(path), { throwIfNoEntry: false }) !== undefined;
}

interface Way {
  readonly path: string;
  readonly shown: string;
  readonly components: readonly string[];
}

/** Goes down to the last directory and hands it on; closes it unless what comes back holds it. */
async function descend<T extends { readonly ok: true }>(
  way: Way,
  scope: Scope,
  create: boolean,
  use: (folder: Folder) => Promise<T | NoTarget>,
): Promise<T | NoTarget> {
  const folder = await openFolder(scope.root);
  let result: T | NoTarget;
  try {
    result = await enterAll(way, folder, create, use);
  } catch (error) {
    await folder.close();
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return { ok: false, shown: way.shown, reason: 'failed', detail: codeOf(error) };
  }
  if (!result.ok) await folder.close();
  return result;
}

async function enterAll<T>(
  way: Way,
  folder: Folder,
  create: boolean,
  use: (folder: Folder) => Promise<T | NoTarget>,
): Promise<T | NoTarget> {
  for (const [index, step] of way.components.entries()) {
    const problem = await folder.enter(step, create);
    if (problem !== undefined) return explain(problem, way, quotePath(way.components.slice(0, index + 1).join('/')));
  }
  return await use(folder);
}

function explain(problem: StepProblem, way: Way, at: string): NoTarget {
  const { path, shown } = way;
  switch (problem.reason) {
    case 'link':
      return refused(shown, denied(`path \`${path}\` goes through the symbolic link \`${at}\``));
    case 'missing':
      return { ok: false, shown, reason: 'missing' };
    case 'file':
      return { ok: false, shown, reason: 'not_directory', detail: at };
    case 'failed':
      return { ok: false, shown, reason: 'failed', detail: problem.code };
  }
}

function refused(shown: string, output: ToolOutput): NoTarget {
  return { ok: false, shown, reason: 'refused', output };
}

async function replaceFile(
  folder: Folder,
  name: string,
  content: Buffer,
  before: Stats | undefined,
  signal: AbortSignal,
): Promise<void> {
  // why: a new file in its place needs no right to the old one, so that a file marked as read-only would be lost
  if (before !== undefined) await access(toFsPath(folder.at(name)), constants.W_OK);
  const temporary = folder.at(`.vibe-${randomBytes(6).toString('hex')}.tmp`);
  const file = await open(toFsPath(temporary), 'wx', 0o666);
  try {
    try {
      await file.writeFile(content);
      if (before !== undefined) await keepOwnership(file, before);
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    await rename(toFsPath(temporary), toFsPath(folder.at(name)));
  } catch (error) {
    await unlink(toFsPath(temporary)).catch(() => {}); // the first failure is the one to tell
    throw error;
  }
}

async function keepOwnership(file: FileHandle, before: Stats): Promise<void> {
  await file.chmod(before.mode & 0o777);
  // Only a privileged process can give a file away; the others own what they may replace.
  if (before.uid !== process.getuid?.()) await file.chown(before.uid, before.gid).catch(() => {});
}
