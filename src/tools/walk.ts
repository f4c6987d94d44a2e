import {
  closeSync,
  constants,
  type Dirent,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from 'node:fs';
import { join } from 'node:path';
import { codeOf } from './containment.ts';
import { type IgnoreRules, readRules } from './ignore-rules.ts';
import { decodeName, toFsPath } from './names.ts';

/** Directories the walking tools never enter (agent-runtime 16). */
const skippedDirectories: ReadonlySet<string> = new Set(['.git', 'target', 'node_modules']);

/** Directories below each other that are entered; each holds one descriptor. */
const maxLevels = 200;
/** Entries looked at in one walk. */
const maxEntries = 2_000_000;

export interface Visitor {
  /** A regular file. `at` is where it can be opened now. @returns false to end the walk */
  file(path: string, at: () => string): boolean | void;
  /** A directory about to be entered. @returns false to pass over it, `stop` to end the walk */
  directory?(path: string, level: number): boolean | 'stop' | void;
  /** A link, pipe, socket or device. @returns false to end the walk */
  other?(path: string): boolean | void;
}

export interface WalkOptions {
  /** Canonical directory to start in. */
  readonly start: string;
  readonly rules: IgnoreRules;
  /** `name`: entries of a directory by name; `path`: files in the order of their whole paths; `none`: as the disk has them. */
  readonly order: 'name' | 'path' | 'none';
  /** Levels below the start that are looked at; 1 = its own entries. Default: all. */
  readonly depth?: number;
  /** Called now and then; throws to end the walk. */
  readonly check: () => void;
}

export type WalkEnd = {
  /** What was left out because of a limit, as a sentence part; absent when everything was seen. */
  readonly cut?: string;
  /** Directories that could not be read. */
  readonly unreadable: number;
};

/**
 * Visits what is below a directory, hidden entries too, without following links: ignored entries and skipped directories
 * are left out. A directory replaced by a link meanwhile is not entered: each is opened from its parent's handle.
 * @throws the system's error when the start itself cannot be read
 */
export function walk(options: WalkOptions, visitor: Visitor): WalkEnd {
  const openStart = existsSync('/proc/self/fd') ? openStartByHandle : openByPath;
  const depth = Math.min(options.depth ?? maxLevels, maxLevels);
  let seen = 0;
  let unreadable = 0;
  let cut: string | undefined;
  let isStopped = false;

  function visit(directory: Directory, prefix: string, level: number, inherited: IgnoreRules): void {
    options.check();
    const entries = directory.read();
    const own = entries.some((entry) => entry.kind === 'file' && entry.name === '.gitignore')
      ? readRules(directory.at('.gitignore'))
      : undefined;
    const rules = own === undefined ? inherited : inherited.with(own, prefix);
    if (options.order !== 'none') entries.sort(options.order === 'name' ? byName : byPath);
    for (const entry of entries) {
      seen += 1;
      if (seen > maxEntries) {
        cut = `cut at ${maxEntries} entries`;
        isStopped = true;
      }
      if (isStopped) return;
      const path = prefix + entry.name;
      const isDirectory = entry.kind === 'directory';
      if (isDirectory && skippedDirectories.has(entry.name)) continue;
      if (rules.ignores(path, isDirectory)) continue;
      if (isDirectory) enter(directory, entry.name, path, level, rules);
      else if (entry.kind === 'file') isStopped ||= visitor.file(path, () => directory.at(entry.name)) === false;
      else isStopped ||= visitor.other?.(path) === false;
    }
  }

  function enter(parent: Directory, name: string, path: string, level: number, rules: IgnoreRules): void {
    const decision = visitor.directory?.(path, level);
    if (decision === 'stop') isStopped = true;
    if (decision === 'stop' || decision === false) return;
    if (level >= depth) {
      if (depth === maxLevels) cut = `cut at ${maxLevels} levels of directories`;
      return;
    }
    try {
      using directory = parent.open(name);
      visit(directory, `${path}/`, level + 1, rules);
    } catch (error) {
      if (!passedOver.has(codeOf(error))) throw error;
      unreadable += 1;
    }
  }

  using start = openStart(options.start);
  visit(start, '', 1, options.rules);
  return cut === undefined ? { unreadable } : { unreadable, cut };
}

/** Not allowed, gone meanwhile, or no directory any more. */
const passedOver: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP', 'EIO', 'ESTALE']);

interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'other';
}

interface Directory extends Disposable {
  read(): Entry[];
  /** A path that leads to an entry of this very directory. */
  at(name: string): string;
  open(name: string): Directory;
}

const directoryFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

function openByHandle(path: string): Directory {
  const fd = openSync(toFsPath(path), directoryFlags);
  // why: the kernel resolves this from the handle, whatever happened to the names that led there
  const own = `/proc/self/fd/${fd}`;
  return {
    read: () => readEntries(own),
    at: (name) => `${own}/${name}`,
    open: (name) => openByHandle(`${own}/${name}`),
    [Symbol.dispose]: () => closeSync(fd),
  };
}

function openStartByHandle(path: string): Directory {
  const directory = openByHandle(path);
  if (decodeName(readlinkSync(directory.at('.').slice(0, -2), 'buffer')) === path) return directory;
  directory[Symbol.dispose]();
  throw replaced();
}

function replaced(): Error {
  return Object.assign(new Error('the directory was replaced'), { code: 'ELOOP' });
}

/** Without `/proc`: by path, refused when the path no longer is what it was. */
function openByPath(path: string): Directory {
  const fd = openSync(toFsPath(path), directoryFlags);
  try {
    const isSame = fstatSync(fd).isDirectory() && decodeName(realpathSync.native(toFsPath(path), 'buffer')) === path;
    if (!isSame) throw replaced();
  } finally {
    closeSync(fd);
  }
  return {
    read: () => readEntries(path),
    at: (name) => join(path, name),
    open: (name) => openByPath(join(path, name)),
    [Symbol.dispose]: () => {},
  };
}

function readEntries(path: string): Entry[] {
  const entries = readdirSync(toFsPath(path), { withFileTypes: true });
  if (!entries.some((entry) => entry.name.includes('\ufffd')))
    return entries.map((entry) => toEntry(entry, entry.name));
  const raw = readdirSync(toFsPath(path), { withFileTypes: true, encoding: 'buffer' });
  return raw.map((entry) => toEntry(entry, decodeName(entry.name)));
}

function toEntry(entry: Pick<Dirent, 'isFile' | 'isDirectory'>, name: string): Entry {
  return { name, kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other' };
}

function byName(left: Entry, right: Entry): number {
  return left.name < right.name ? -1 : 1;
}

/** Such that files come in the order of their whole paths: a directory counts as its name and the slash after it. */
function byPath(left: Entry, right: Entry): number {
  const a = left.kind === 'directory' ? `${left.name}/` : left.name;
  const b = right.kind === 'directory' ? `${right.name}/` : right.name;
  return a < b ? -1 : 1;
}
