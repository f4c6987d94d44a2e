import { isEngineError } from '../protocol/error.ts';
import { errorOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf, openContained, openUnjudged } from './containment.ts';
import { createFileReader, type FileReader } from './file-reader.ts';
import { createGlobPattern } from './glob-pattern.ts';
import { createGrepReport, type GrepBlock, type GrepMode, type GrepReport } from './grep-report.ts';
import { createLineMatcher, type LineMatcher } from './line-matcher.ts';
import { toFsPath } from './names.ts';
import { findSearchRoot, type SearchRoot } from './search-root.ts';
import { createFirstGate, createShareGate } from './search-share.ts';
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

/** Which part of the tree to search, in the order of the paths. */
export interface GrepShare {
  /** Stop after about this many bytes and tell what is left. */
  readonly maxBytes?: number;
  /** Go on with these. */
  readonly own?: readonly string[];
}

/** What a search of some of the files found; plain data. */
export type GrepPart =
  | { readonly ok: false; readonly output: ToolOutput }
  | {
      readonly ok: true;
      readonly blocks: readonly GrepBlock[];
      /** What was not searched because of `maxBytes`; none when the output is full anyway. */
      readonly left: readonly string[];
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
  readonly reader: FileReader;
  readonly check: () => void;
  bytes: number;
  tooLarge: number;
  unreadable: number;
}

/** Searches one share of the tree. */
export function searchShare(input: GrepInput, share: GrepShare, context: ToolContext): GrepPart {
  const found = findSearchRoot(input.path, context);
  if (!found.ok) return found;
  const { root } = found;
  try {
    const search: Search = {
      matcher: createLineMatcher(input.pattern, input.case_insensitive),
      report: createGrepReport(input.output_mode, input.context, root.kind === 'file' ? () => root.shown : root.show),
      reader: createFileReader(maxFileBytes),
      check: () => context.throwIfCancelled?.(),
      bytes: 0,
      tooLarge: 0,
      unreadable: 0,
    };
    const end = root.kind === 'file' ? searchOne(root, search) : searchTree(root, input.glob, share, search);
    const { report, tooLarge, unreadable } = search;
    return { ok: true, blocks: report.blocks, tooLarge, unreadable, ...end };
  } catch (error) {
    if (isEngineError(error) && error.kind === 'invalid_request')
      return { ok: false, output: errorOutput(error.message) };
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return { ok: false, output: errorOutput(`\`${root.shown}\` cannot be read (${codeOf(error)}).`) };
  }
}

type SearchEnd = Pick<Extract<GrepPart, { ok: true }>, 'left' | 'cut'>;

function searchOne(root: SearchRoot, search: Search): SearchEnd {
  searchFile(openContained(root.real, root.scope), '', search);
  return { left: [] };
}

function searchTree(root: SearchRoot, glob: string | undefined, share: GrepShare, search: Search): SearchEnd {
  const isWanted = createFilter(glob, root);
  const { own, maxBytes = Infinity } = share;
  const gate = own === undefined ? createFirstGate(() => search.bytes > maxBytes) : createShareGate(own);
  const { unreadable, cut } = walk(
    { start: root.real, rules: root.rules, order: 'path', check: search.check },
    {
      directory: (path) => gate.entersDirectory(path),
      accepts: (path, name) => isWanted(path, name) && gate.takesFile(path),
      file(path, name, place) {
        searchFile(openUnjudged(toFsPath(place.at(name))), path, search);
        return !search.report.isFull;
      },
    },
  );
  search.unreadable += unreadable;
  return { left: search.report.isFull ? [] : gate.left, ...(cut === undefined ? {} : { cut }) };
}

function createFilter(glob: string | undefined, root: SearchRoot): (path: string, name: string) => boolean {
  if (glob === undefined || glob.trim() === '') return () => true;
  const pattern = createGlobPattern(glob.trim().replace(/^(?:\.?\/)+/, ''));
  if (!glob.includes('/')) return (_path, name) => pattern.matches(name);
  return (path, name) => pattern.matches(path, name) || pattern.matches(root.show(path));
}

function searchFile(opened: Parameters<FileReader['read']>[0], path: string, search: Search): void {
  search.check();
  const read = search.reader.read(opened);
  switch (read.kind) {
    case 'whole':
      searchBytes(read.bytes, path, search);
      break;
    case 'too_large':
      search.tooLarge += 1;
      break;
    case 'unreadable':
      search.unreadable += 1;
      break;
    case 'special':
      break;
  }
}

function searchBytes(bytes: Buffer, path: string, search: Search): void {
  search.bytes += bytes.length;
  if (bytes.subarray(0, sniffedBytes).includes(0)) return;
  const { report } = search;
  let isText: boolean | undefined;
  report.open(path);
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
