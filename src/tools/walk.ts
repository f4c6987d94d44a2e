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
import { type EntryRules, type IgnoreRules, noRules, readRules } from './ignore-rules.ts';
import { decodeName, toFsPath } from './names.ts';

/** Directories the walking tools never enter (agent-runtime 16). */
const skippedDirectories: ReadonlySet<string> = new Set(['.git', 'target', 'node_modules']);

/** Directories below each other that are entered; each holds one descriptor. */
const maxLevels = 200;
/** Entries looked at in one walk. */
const maxEntries = 2_000_000;

export interface Visitor {
  /** A file before it is known whether it is ignored, which costs more than most questions. @returns false to pass over it */
  accepts?(path: string, name: string): boolean;
  /** A regular file; `place.at(name)` is where it can be opened now. @returns false to end the walk */
  file(path: string, name: string, place: Directory): boolean | void;
  /** A directory about to be entered. @returns false to pass over it, `stop` to end the walk */
  directory?(path: string, level: number): boolean | 'stop' | void;
  /** A link, pipe, socket or device. @returns false to end the walk */
  other?(path: string): boolean | void;
}

export interface WalkOptions {
  /** Canonical directory to start in. */
  readonly start: string;
  /** Rules of the directories above. */
  readonly rules: IgnoreRules | undefined;
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

  function visit(directory: Directory, prefix: string, level: number, inherited: IgnoreRules | undefined): void {
    options.check();
    const entries = directory.read();
    const rules = rulesOf(directory, entries, prefix, inherited);
    // why: made when first asked for, since a directory may hold nothing that is
    let ignores: EntryRules | undefined;
    if (options.order !== 'none') entries.sort(options.order === 'name' ? byName : byPath);
    seen += entries.length;
    if (seen > maxEntries) {
      cut = `cut at ${maxEntries} entries`;
      isStopped = true;
    }
    for (const entry of entries) {
      if (isStopped) return;
      const { name } = entry;
      const path = prefix + name;
      const isDirectory = entry.isDirectory();
      if (isDirectory ? skippedDirectories.has(name) : visitor.accepts?.(path, name) === false) continue;
      if (rules !== undefined && (ignores ??= rules.inside(prefix))(name, isDirectory)) continue;
      if (isDirectory) enter(directory, name, path, level, rules);
      else if (entry.isFile()) isStopped ||= visitor.file(path, name, directory) === false;
      else isStopped ||= visitor.other?.(path) === false;
    }
  }

  function enter(parent: Directory, name: string, path: string, level: number, rules: IgnoreRules | undefined): void {
    const decision = visitor.directory?.(path, level);
    if (decision === 'stop') isStopped = true;
    if (decision === 'stop' || decision === false) return;
    if (level >= depth) {
      if (depth === maxLevels) cut = `cut at ${maxLevels} levels of directories`;
      return;
    }
    try {
      const directory = parent.open(name);
      try {
        visit(directory, `${path}/`, level + 1, rules);
      } finally {
        directory[Symbol.dispose](); // why: `using` compiles to several times the cost of this
      }
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

/** What is used of a directory entry; `name` is decoded. */
type Entry = Pick<Dirent, 'name' | 'isFile' | 'isDirectory'>;

/** A directory being visited. */
export interface Directory extends Disposable {
  read(): Entry[];
  /** A path that leads to an entry of this very directory. */
  at(name: string): string;
  open(name: string): Directory;
}

function rulesOf(
  directory: Directory,
  entries: readonly Entry[],
  prefix: string,
  outer: IgnoreRules | undefined,
): IgnoreRules | undefined {
  // A repository of its own has its own rules only, wherever it lies.
  const inherited = entries.some((entry) => entry.name === '.git') ? undefined : outer;
  if (!entries.some((entry) => entry.name === '.gitignore' && entry.isFile())) return inherited;
  const text = readRules(directory.at('.gitignore'));
  return text === undefined ? inherited : (inherited ?? noRules).with(text, prefix);
}

const directoryFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** A directory by its handle: the kernel resolves paths from there, whatever happened to the names that led to it. */
class HandleDirectory implements Directory {
  readonly #fd: number;
  readonly #path: string;

  constructor(path: string) {
    this.#fd = openSync(toFsPath(path), directoryFlags);
    this.#path = `/proc/self/fd/${this.#fd}`;
  }

  read(): Entry[] {
    return readEntries(this.#path);
  }

  at(name: string): string {
    return `${this.#path}/${name}`;
  }

  open(name: string): Directory {
    return new HandleDirectory(this.at(name));
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

function openStartByHandle(path: string): Directory {
  const directory = new HandleDirectory(path);
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
  if (!entries.some((entry) => entry.name.includes('\ufffd'))) return entries;
  const raw = readdirSync(toFsPath(path), { withFileTypes: true, encoding: 'buffer' });
  return raw.map((entry) => ({
    name: decodeName(entry.name),
    isFile: () => entry.isFile(),
    isDirectory: () => entry.isDirectory(),
  }));
}

function byName(left: Entry, right: Entry): number {
  return left.name < right.name ? -1 : 1;
}

/** Such that files come in the order of their whole paths: a directory counts as its name and the slash after it. */
function byPath(left: Entry, right: Entry): number {
  const a = left.isDirectory() ? `${left.name}/` : left.name;
  const b = right.isDirectory() ? `${right.name}/` : right.name;
  return a < b ? -1 : 1;
}
