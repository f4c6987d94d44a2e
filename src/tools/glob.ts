import { lstatSync } from 'node:fs';
import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf } from './containment.ts';
import { createGlobPattern } from './glob-pattern.ts';
import { toFsPath } from './names.ts';
import { findSearchRoot } from './search-root.ts';
import { walk } from './walk.ts';

export interface GlobInput {
  /** Relative to `path`. */
  readonly pattern: string;
  readonly path: string;
}

const maxMatches = 2_000;

/** Files by name pattern, newest first (agent-runtime 16). */
export function glob(input: GlobInput, context: ToolContext): ToolOutput {
  const pattern = input.pattern.trim();
  if (pattern === '') return errorOutput('The glob pattern is empty.');
  if (isLeaving(pattern)) {
    return errorOutput(
      'The glob pattern must be relative and must not contain `..`; use `path` to choose the directory to search.',
    );
  }
  const found = findSearchRoot(input.path, context);
  if (!found.ok) return found.output;
  const { root } = found;
  if (root.kind === 'file') return errorOutput(`\`${root.shown}\` is not a directory.`);
  const matcher = createGlobPattern(pattern.replace(/^(?:\.\/)+/, ''));
  const matches: { readonly path: string; readonly modifiedMs: number }[] = [];
  const check = (): void => context.throwIfCancelled?.();
  let looked = 0;
  try {
    const end = walk(
      { start: root.real, rules: root.rules, order: 'none', check },
      {
        file(path, name, place) {
          looked += 1;
          if (looked % 1_000 === 0) check();
          if (matcher.matches(path)) matches.push({ path: root.show(path), modifiedMs: modifiedAt(place.at(name)) });
        },
        directory: (path) => matcher.mayMatchBelow(path),
      },
    );
    if (matches.length === 0) {
      return okOutput(`No files matched \`${input.pattern}\`.`, { matches: 0, truncated: end.cut !== undefined });
    }
    matches.sort((left, right) => right.modifiedMs - left.modifiedMs || (left.path < right.path ? -1 : 1));
    const isCut = matches.length > maxMatches;
    const lines = matches.slice(0, maxMatches).map((match) => match.path);
    const notes = [
      ...(isCut ? [`(cut at ${maxMatches} of ${matches.length} files; narrow the pattern or the path)`] : []),
      ...(end.cut === undefined ? [] : [`(${end.cut})`]),
      ...(end.unreadable > 0 ? [`(${end.unreadable} directories could not be read)`] : []),
    ];
    const truncated = isCut || end.cut !== undefined;
    return okOutput([lines.join('\n'), ...notes].join('\n\n'), { matches: matches.length, truncated });
  } catch (error) {
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return errorOutput(`\`${root.shown}\` cannot be read (${codeOf(error)}).`);
  }
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
