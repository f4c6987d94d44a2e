import { closeSync, readSync } from 'node:fs';
import { isEngineError } from '../protocol/error.ts';
import { errorOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf, openContained, openRegular, type Opened } from './containment.ts';
import { createGlobPattern } from './glob-pattern.ts';
import { createGrepReport, type GrepBlock, type GrepMode, type GrepReport } from './grep-report.ts';
import { createLineMatcher, type LineMatcher } from './line-matcher.ts';
import { toFsPath } from './names.ts';
import { findSearchRoot, type SearchRoot } from './search-root.ts';
import { looksBinary, sniffedBytes } from './text-bytes.ts';
import { walk } from './walk.ts';

export interface GrepInput {
  readonly pattern: string;
  readonly path: string;
  /** Only files this matches; without `/` it is about their names. */
  readonly glob?: string | undefined;
  readonly output_mode: GrepMode;
  /** Lines around each match, 0 to 10; with output mode `content`. */
  readonly context: number;
  readonly case_insensitive: boolean;
}

/** Which of the files to search, all in the order of their paths. */
export interface GrepShare {
  /** Stop after about this many bytes and tell where. */
  readonly maxBytes?: number;
  /** Only files behind this path. */
  readonly after?: string;
  /** Only every `of`-th file, from this one on. */
  readonly index?: number;
  readonly of?: number;
}

/** What a search of some of the files found; plain data. */
export type GrepPart =
  | { readonly ok: false; readonly output: ToolOutput }
  | {
      readonly ok: true;
      readonly blocks: readonly GrepBlock[];
      readonly isFull: boolean;
      /** The last file searched, when more follow. */
      readonly stoppedAt?: string;
      readonly tooLarge: number;
      readonly unreadable: number;
      /** What was left out because of a limit of the walk. */
      readonly cut?: string;
    };

/** Larger files are skipped. */
const maxFileBytes = 10 * 1_024 * 1_024;

interface Search {
  readonly matcher: LineMatcher;
  readonly report: GrepReport;
  readonly check: () => void;
  /** Grows to the largest file read. */
  scratch: Buffer;
  bytes: number;
  tooLarge: number;
  unreadable: number;
}

/** Searches the files of one share. */
export function searchShare(input: GrepInput, share: GrepShare, context: ToolContext): GrepPart {
  const found = findSearchRoot(input.path, context);
  if (!found.ok) return found;
  const { root } = found;
  try {
    const search: Search = {
      matcher: createLineMatcher(input.pattern, input.case_insensitive),
      report: createGrepReport(input.output_mode, input.context),
      check: () => context.throwIfCancelled?.(),
      scratch: Buffer.allocUnsafeSlow(256 * 1_024),
      bytes: 0,
      tooLarge: 0,
      unreadable: 0,
    };
    const end = root.kind === 'file' ? searchOne(root, search) : searchTree(root, input.glob, share, search);
    const { report, tooLarge, unreadable } = search;
    return { ok: true, blocks: report.blocks, isFull: report.isFull, tooLarge, unreadable, ...end };
  } catch (error) {
    if (isEngineError(error) && error.kind === 'invalid_request')
      return { ok: false, output: errorOutput(error.message) };
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return { ok: false, output: errorOutput(`\`${root.shown}\` cannot be read (${codeOf(error)}).`) };
  }
}

function searchOne(root: SearchRoot, search: Search): Record<string, never> {
  searchFile(openContained(root.real, root.scope), '', root.shown, search);
  return {};
}

function searchTree(
  root: SearchRoot,
  glob: string | undefined,
  share: GrepShare,
  search: Search,
): { readonly cut?: string; readonly stoppedAt?: string } {
  const isWanted = createFilter(glob, root);
  const { after = '', index = 0, of = 1, maxBytes = Number.POSITIVE_INFINITY } = share;
  let turn = 0;
  let stoppedAt: string | undefined;
  const end = walk(
    { start: root.real, rules: root.rules, order: 'path', check: search.check },
    {
      // A directory all of whose paths lie before the mark holds nothing for this share.
      directory: (path) => after === '' || `${path}/` >= after || after.startsWith(`${path}/`),
      file(path, name, place) {
        if (path <= after || !isWanted(path)) return true;
        turn += 1;
        if ((turn - 1) % of !== index) return true;
        if (search.bytes > maxBytes) return false;
        searchFile(openRegular(toFsPath(place.at(name))), path, root.show(path), search);
        if (search.bytes > maxBytes) stoppedAt = path;
        return !search.report.isFull;
      },
    },
  );
  search.unreadable += end.unreadable;
  return {
    ...(end.cut === undefined ? {} : { cut: end.cut }),
    ...(stoppedAt === undefined || search.report.isFull ? {} : { stoppedAt }),
  };
}

function createFilter(glob: string | undefined, root: SearchRoot): (path: string) => boolean {
  if (glob === undefined || glob.trim() === '') return () => true;
  const pattern = createGlobPattern(glob.trim().replace(/^(?:\.?\/)+/, ''));
  if (!glob.includes('/')) return (path) => pattern.matches(path.slice(path.lastIndexOf('/') + 1));
  return (path) => pattern.matches(path) || pattern.matches(root.show(path));
}

function searchFile(opened: Opened, path: string, shown: string, search: Search): void {
  if (!opened.ok) {
    if (opened.reason === 'failed') search.unreadable += 1;
    return;
  }
  try {
    if (opened.stats.size > maxFileBytes) {
      search.tooLarge += 1;
      return;
    }
    search.check();
    const bytes = readAll(opened.fd, opened.stats.size, search);
    if (bytes !== undefined) searchBytes(bytes, path, shown, search);
  } catch (error) {
    if (codeOf(error) === 'EUNKNOWN') throw error;
    search.unreadable += 1;
  } finally {
    closeSync(opened.fd);
  }
}

function searchBytes(bytes: Buffer, path: string, shown: string, search: Search): void {
  search.bytes += bytes.length;
  if (bytes.subarray(0, sniffedBytes).includes(0)) return;
  const { report } = search;
  let isText: boolean | undefined;
  report.open(path, shown);
  search.matcher.search(
    bytes,
    (source, start, end) => {
      // why: counting control bytes costs more than the search of a small file, and most files hold no match
      isText ??= !looksBinary(bytes);
      return isText && report.add(source, start, end);
    },
    search.check,
  );
  report.close();
}

/** The whole file in the shared buffer; nothing when it has grown too large meanwhile. */
function readAll(fd: number, size: number, search: Search): Buffer | undefined {
  if (size >= search.scratch.length) search.scratch = Buffer.allocUnsafeSlow(Math.min(size * 2, maxFileBytes + 1));
  let length = 0;
  for (;;) {
    const count = readSync(fd, search.scratch, length, search.scratch.length - length, null);
    length += count;
    if (count === 0 || length >= size) break;
  }
  return length > maxFileBytes ? undefined : search.scratch.subarray(0, length);
}
