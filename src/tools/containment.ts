import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { EngineError } from '../protocol/error.ts';
import { errorOutput, type ToolContextData, type ToolOutput } from '../protocol/tool.ts';
import { decodeName, quotePath, toFsPath, unquotePath } from './names.ts';
import { componentsBelow, isInside, refusePathText } from './path-rules.ts';

/** Where a call may look: canonical folders. */
export interface Scope {
  /** The workspace as configured. */
  readonly configured: string;
  /** The workspace with links resolved. */
  readonly root: string;
  /** `root` and the extra read paths, resolved; those that do not exist are left out. */
  readonly readable: readonly string[];
}

/** A path inside the scope. */
export interface Place {
  /** For texts: relative with `/`, `.` for the root, absolute outside of it. */
  readonly shown: string;
  /** `shown` before quoting. */
  readonly plain: string;
  /** Links resolved as far as the path exists. */
  readonly real: string;
}

export type Located =
  | { readonly ok: true; readonly place: Place }
  | { readonly ok: false; readonly output: ToolOutput };

/** @throws EngineError `workspace` when the workspace root cannot be resolved */
export function openScope(context: Pick<ToolContextData, 'workspace_root' | 'permissions'>): Scope {
  const configured = resolve(context.workspace_root);
  const root = canonical(configured);
  if (typeof root !== 'string') {
    throw new EngineError('workspace', `the workspace \`${context.workspace_root}\` cannot be opened (${root.code})`);
  }
  const extra = (context.permissions.extra_read_paths ?? []).map((path) => canonical(resolve(path)));
  return { configured, root, readable: [root, ...extra.filter((path) => typeof path === 'string')] };
}

/** `Access denied: <reason>.` */
export function denied(reason: string): ToolOutput {
  return errorOutput(`Access denied: ${reason.toWellFormed()}.`);
}

/**
 * Finds a path for reading (agent-runtime 16): relative to the workspace or absolute, links followed, the result inside the
 * workspace or an extra read path. A path that does not exist is located too. What is opened later is judged again on its
 * handle, see `openContained`.
 */
export function locate(path: string, scope: Scope): Located {
  const refusal = refusePathText(path);
  if (refusal !== undefined) return { ok: false, output: denied(refusal) };
  const literal = locateText(path, path, scope);
  if (!path.startsWith('"') || !literal.ok || existsSync(toFsPath(literal.place.real))) return literal;
  const unquoted = unquotePath(path);
  return unquoted === undefined || unquoted.includes('\0') ? literal : locateText(unquoted, path, scope);
}

function locateText(path: string, given: string, scope: Scope): Located {
  const absolute = resolve(scope.configured, path);
  const found = canonicalPrefix(absolute);
  const escapes = denied(`path \`${given}\` escapes the workspace \`${scope.configured}\``);
  if (!scope.readable.some((folder) => isInside(folder, found.path))) return { ok: false, output: escapes };
  if (found.problem === 'dangling') {
    return { ok: false, output: denied(`path \`${given}\` goes through a dangling symbolic link`) };
  }
  if (found.problem === 'loop') {
    return { ok: false, output: denied(`path \`${given}\` goes through a loop of symbolic links`) };
  }
  const plain = showPath(absolute, found.path, scope);
  return { ok: true, place: { shown: quotePath(plain), plain, real: found.path } };
}

function showPath(absolute: string, real: string, scope: Scope): string {
  const components = componentsBelowRoot(absolute, scope) ?? componentsBelow(scope.root, real);
  if (components === undefined) return absolute.split(sep).join('/');
  return components.length === 0 ? '.' : components.join('/');
}

/**
 * The names of an absolute path below the workspace, as written; nothing when it lies outside. The workspace may be spelled
 * as configured, canonically, or through links that lie above it; links below it stay in the names.
 */
export function componentsBelowRoot(absolute: string, scope: Scope): readonly string[] | undefined {
  const known = componentsBelow(scope.configured, absolute) ?? componentsBelow(scope.root, absolute);
  if (known !== undefined) return known;
  const spelling = ancestorsOf(absolute).find((path) => canonical(path) === scope.root);
  return spelling === undefined ? undefined : componentsBelow(spelling, absolute);
}

/** The path and every directory above it, the top first. */
function ancestorsOf(absolute: string): readonly string[] {
  const parent = dirname(absolute);
  return parent === absolute ? [absolute] : [...ancestorsOf(parent), absolute];
}

interface Prefix {
  readonly path: string;
  readonly problem?: 'dangling' | 'loop';
}

/** A path with links resolved as far as it exists. */
export function resolveExisting(path: string): string {
  return canonicalPrefix(resolve(path)).path;
}

/** The longest existing prefix with links resolved, the rest appended. */
function canonicalPrefix(absolute: string): Prefix {
  const found = canonical(absolute);
  if (typeof found === 'string') return { path: found };
  const parent = dirname(absolute);
  if (parent === absolute) return { path: absolute };
  const above = canonicalPrefix(parent);
  const path = join(above.path, basename(absolute));
  if (above.problem !== undefined) return { path, problem: above.problem };
  if (!isLink(absolute)) return { path };
  return { path, problem: found.code === 'ELOOP' ? 'loop' : 'dangling' };
}

function canonical(path: string): string | { readonly code: string } {
  try {
    const real = realpathSync.native(toFsPath(path), 'buffer');
    return decodeName(real);
  } catch (error) {
    return { code: codeOf(error) };
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(toFsPath(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

export type Opened = { readonly ok: true; readonly fd: number; readonly stats: Stats } | NotOpened;

export interface NotOpened {
  readonly ok: false;
  readonly reason: 'missing' | 'directory' | 'special' | 'escaped' | 'failed';
  readonly code: string;
}

const openFlags =
  constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0) | (constants.O_NOCTTY ?? 0);

/**
 * Opens a regular file for reading; the caller closes it. The opened handle decides, not the path: its type (a pipe, socket
 * or device never blocks and is refused) and its place, which may have changed since `locate`.
 */
export function openContained(real: string, scope: Scope): Opened {
  const opened = openRegular(toFsPath(real));
  if (!opened.ok) return opened;
  const isFine = isHandleInside(opened.fd, opened.stats, real, scope.readable);
  if (isFine) return opened;
  closeSync(opened.fd);
  return { ok: false, reason: 'escaped', code: '' };
}

/** Opens a regular file without following a link and without ever blocking. */
export function openRegular(path: string | Buffer): Opened {
  const opened = openUnjudged(path);
  if (!opened.ok) return opened;
  const { fd } = opened;
  try {
    const stats = fstatSync(fd);
    if (stats.isFile()) return { ok: true, fd, stats };
    closeSync(fd);
    return { ok: false, reason: stats.isDirectory() ? 'directory' : 'special', code: '' };
  } catch (error) {
    closeSync(fd);
    return openFailure(error);
  }
}

/** The same for whatever lies there: what it is has to be found out from the handle. */
export function openUnjudged(path: string | Buffer): NotOpened | { readonly ok: true; readonly fd: number } {
  try {
    return { ok: true, fd: openSync(path, openFlags) };
  } catch (error) {
    return openFailure(error);
  }
}

function openFailure(error: unknown): NotOpened {
  const code = codeOf(error);
  // ENXIO: a socket, or a pipe nobody writes to. ELOOP: became a link since it was looked up.
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? 'missing'
      : code === 'ENXIO'
        ? 'special'
        : code === 'ELOOP'
          ? 'escaped'
          : 'failed';
  return { ok: false, reason, code };
}

/** Kernel views look like regular files, but reading one can block, have effects or never end. */
const pseudoFolders = ['/proc', '/sys'];

function isHandleInside(fd: number, stats: Stats, path: string, folders: readonly string[]): boolean {
  let real: string;
  try {
    real = decodeName(readlinkSync(`/proc/self/fd/${fd}`, 'buffer'));
  } catch {
    // No /proc on this system: the path must still lead to the very file that was opened.
    const again = canonical(path);
    if (typeof again !== 'string') return false;
    const now = statSync(toFsPath(again));
    if (now.ino !== stats.ino || now.dev !== stats.dev) return false;
    real = again;
  }
  if (pseudoFolders.some((folder) => isInside(folder, real))) return false;
  return folders.some((folder) => isInside(folder, real));
}

/** The system's code of a failed call, such as `EACCES`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'EUNKNOWN';
}
