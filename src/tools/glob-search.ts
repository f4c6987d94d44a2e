import { lstatSync } from 'node:fs';
import { isEngineError } from '../protocol/error.ts';
import { errorOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf } from './containment.ts';
import { createGlobPattern } from './glob-pattern.ts';
import { toFsPath } from './names.ts';
import { findSearchRoot } from './search-root.ts';
import { createFirstGate, createShareGate } from './search-share.ts';
import { walk } from './walk.ts';

export interface GlobInput {
  /** Relative to `path`. */
  readonly pattern: string;
  readonly path: string;
}

/** Which part of the tree to look at. */
export interface GlobShare {
  /** Enter this many directories and tell what is left. */
  readonly maxDirectories?: number;
  /** Go on with these. */
  readonly own?: readonly string[];
}

export interface FoundFile {
  readonly path: string;
  readonly shown: string;
  readonly modifiedMs: number;
}

/** What a search of some of the directories found; plain data. */
export type GlobPart =
  | { readonly ok: false; readonly output: ToolOutput }
  | {
      readonly ok: true;
      /** At most `maxMatches`. */
      readonly newest: readonly FoundFile[];
      readonly total: number;
      /** What was not looked at because of `maxDirectories`. */
      readonly left: readonly string[];
      readonly unreadable: number;
      /** What was left out because of a limit of the walk. */
      readonly cut?: string;
    };

/** Longest list of files (agent-runtime 16). */
export const maxMatches = 2_000;

/** Files between two looks at whether the call was cancelled. */
const filesPerCheck = 1_000;

/** Looks for files in one share of the tree. */
export function findFiles(input: GlobInput, share: GlobShare, context: ToolContext): GlobPart {
  const refuse = (text: string): GlobPart => ({ ok: false, output: errorOutput(text) });
  const pattern = input.pattern.trim();
  if (pattern === '') return refuse('The glob pattern is empty.');
  if (isLeaving(pattern)) {
    return refuse(
      'The glob pattern must be relative and must not contain `..`; use `path` to choose the directory to search.',
    );
  }
  const found = findSearchRoot(input.path, context);
  if (!found.ok) return found;
  const { root } = found;
  if (root.kind === 'file') return refuse(`\`${root.shown}\` is not a directory.`);
  const { own, maxDirectories = Infinity } = share;
  let entered = 0;
  const gate = own === undefined ? createFirstGate(() => entered >= maxDirectories) : createShareGate(own);
  const files: { readonly path: string; readonly modifiedMs: number }[] = [];
  const check = (): void => context.throwIfCancelled?.();
  let looked = 0;
  try {
    const matcher = createGlobPattern(pattern.replace(/^(?:\.\/)+/, ''));
    const end = walk(
      { start: root.real, rules: root.rules, order: 'none', check },
      {
        accepts(path, name) {
          looked += 1;
          if (looked % filesPerCheck === 0) check();
          return matcher.matches(path, name) && gate.takesFile(path);
        },
        file: (path, name, place) => void files.push({ path, modifiedMs: modifiedAt(place.at(name)) }),
        directory(path) {
          if (!matcher.mayMatchBelow(path) || !gate.entersDirectory(path)) return false;
          entered += 1;
          return true;
        },
      },
    );
    const newest = files
      .sort(byNewest)
      .slice(0, maxMatches)
      .map((file) => ({ ...file, shown: root.show(file.path) }));
    return { ok: true, newest, total: files.length, left: gate.left, ...end };
  } catch (error) {
    if (isEngineError(error) && error.kind === 'invalid_request') return refuse(error.message);
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return refuse(`\`${root.shown}\` cannot be read (${codeOf(error)}).`);
  }
}

/** Newest first, then by path. */
export function byNewest(one: Omit<FoundFile, 'shown'>, other: Omit<FoundFile, 'shown'>): number {
  return other.modifiedMs - one.modifiedMs || (one.path < other.path ? -1 : 1);
}

function isLeaving(pattern: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:[/\\])/.test(pattern) || pattern.split(/[/\\{},]/).includes('..');
}

function modifiedAt(path: string): number {
  try {
    return lstatSync(toFsPath(path)).mtimeMs;
  } catch {
    return 0; // gone meanwhile
  }
}
