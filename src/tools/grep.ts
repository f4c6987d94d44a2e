import { closeSync, readSync } from 'node:fs';
import { isEngineError } from '../protocol/error.ts';
import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf, openContained, openRegular, type Opened } from './containment.ts';
import { createGlobPattern } from './glob-pattern.ts';
import { createGrepReport, type GrepMode, type GrepReport } from './grep-report.ts';
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

/** Larger files are skipped. */
const maxFileBytes = 10 * 1_024 * 1_024;

interface Search {
  readonly matcher: LineMatcher;
  readonly report: GrepReport;
  readonly check: () => void;
  /** Grows to the largest file read. */
  scratch: Buffer;
  tooLarge: number;
  unreadable: number;
}

/** Lines by regular expression (agent-runtime 16). */
export function grep(input: GrepInput, context: ToolContext): ToolOutput {
  const found = findSearchRoot(input.path, context);
  if (!found.ok) return found.output;
  const { root } = found;
  try {
    const search: Search = {
      matcher: createLineMatcher(input.pattern, input.case_insensitive),
      report: createGrepReport(input.output_mode, input.context),
      check: () => context.throwIfCancelled?.(),
      scratch: Buffer.allocUnsafeSlow(256 * 1_024),
      tooLarge: 0,
      unreadable: 0,
    };
    const cut = root.kind === 'file' ? searchOne(root, search) : searchTree(root, input.glob, search);
    return toOutput(input.pattern, search, cut);
  } catch (error) {
    if (isEngineError(error) && error.kind === 'invalid_request') return errorOutput(error.message);
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return errorOutput(`\`${root.shown}\` cannot be read (${codeOf(error)}).`);
  }
}

function searchOne(root: SearchRoot, search: Search): undefined {
  searchFile(openContained(root.real, root.scope), root.shown, search);
}

/** @returns what was left out because of a limit */
function searchTree(root: SearchRoot, glob: string | undefined, search: Search): string | undefined {
  const isWanted = createFilter(glob, root);
  const end = walk(
    { start: root.real, rules: root.rules, order: 'path', check: search.check },
    {
      file(path, name, place) {
        if (!isWanted(path)) return true;
        searchFile(openRegular(toFsPath(place.at(name))), root.show(path), search);
        return !search.report.isFull;
      },
    },
  );
  search.unreadable += end.unreadable;
  return end.cut;
}

function createFilter(glob: string | undefined, root: SearchRoot): (path: string) => boolean {
  if (glob === undefined || glob.trim() === '') return () => true;
  const pattern = createGlobPattern(glob.trim().replace(/^(?:\.?\/)+/, ''));
  if (!glob.includes('/')) return (path) => pattern.matches(path.slice(path.lastIndexOf('/') + 1));
  return (path) => pattern.matches(path) || pattern.matches(root.show(path));
}

function searchFile(opened: Opened, shown: string, search: Search): void {
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
    if (bytes === undefined || bytes.subarray(0, sniffedBytes).includes(0)) return;
    const { report } = search;
    let isText: boolean | undefined;
    report.open(shown);
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
  } catch (error) {
    if (codeOf(error) === 'EUNKNOWN') throw error;
    search.unreadable += 1;
  } finally {
    closeSync(opened.fd);
  }
}

/** The whole file in the shared buffer; nothing when it has grown too large meanwhile. */
function readAll(fd: number, size: number, search: Search): Buffer | undefined {
  if (size >= search.scratch.length) search.scratch = Buffer.allocUnsafeSlow(Math.min(size * 2, maxFileBytes + 1));
  let length = 0;
  for (;;) {
    const count = readSync(fd, search.scratch, length, search.scratch.length - length, null);
    length += count;
    if (count === 0 || length >= size + 1 || (count > 0 && length === size)) break;
  }
  return length > maxFileBytes ? undefined : search.scratch.subarray(0, length);
}

function toOutput(pattern: string, search: Search, cut: string | undefined): ToolOutput {
  const { report, tooLarge, unreadable } = search;
  const notes = [
    ...(report.isFull ? ['(cut at 30000 characters; narrow the pattern, the path or the glob to see the rest)'] : []),
    ...(cut === undefined ? [] : [`(${cut})`]),
    ...(tooLarge > 0 ? [`(${tooLarge} files over 10 MiB were skipped)`] : []),
    ...(unreadable > 0 ? [`(${unreadable} files or directories could not be read)`] : []),
  ];
  const truncated = report.isFull || cut !== undefined;
  const text = report.matches === 0 ? `No matches for \`${pattern}\`.` : report.text();
  return okOutput([text, ...notes].join('\n\n'), { files: report.files, matches: report.matches, truncated });
}
