import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf } from './containment.ts';
import { quotePath } from './names.ts';
import { findSearchRoot } from './search-root.ts';
import { walk } from './walk.ts';

export interface ListDirInput {
  readonly path: string;
  /** Levels to show, 1 to 10. */
  readonly depth: number;
}

const maxShown = 500;

/** A directory as an indented tree (agent-runtime 16). */
export function listDir(input: ListDirInput, context: ToolContext): ToolOutput {
  const found = findSearchRoot(input.path, context);
  if (!found.ok) return found.output;
  const { shown, real, kind, rules } = found.root;
  if (kind === 'file') return errorOutput(`\`${shown}\` is not a directory.`);
  const lines: string[] = [];
  let isCut = false;

  function add(path: string, level: number, suffix: string): boolean {
    if (lines.length >= maxShown) {
      isCut = true;
      return false;
    }
    const name = path.slice(path.lastIndexOf('/') + 1);
    lines.push(`${'  '.repeat(level)}${quotePath(name)}${suffix}`);
    return true;
  }

  const levelOf = (path: string): number => path.split('/').length;
  try {
    const check = (): void => context.throwIfCancelled?.();
    const end = walk(
      { start: real, rules, order: 'name', depth: input.depth, check },
      {
        file: (path) => add(path, levelOf(path), ''),
        other: (path) => add(path, levelOf(path), ''),
        directory: (path, level) => (add(path, level, '/') ? true : 'stop'),
      },
    );
    const body = lines.length === 0 ? ['  (empty)'] : lines;
    const notes = [
      ...(isCut ? [`(cut at ${maxShown} entries; list a directory below or use \`glob\` to see the rest)`] : []),
      ...(end.unreadable > 0 ? [`(${end.unreadable} directories could not be read)`] : []),
    ];
    const content = [[`${shown}/`, ...body].join('\n'), ...notes].join('\n\n');
    return okOutput(content, { path: shown, entries: lines.length, truncated: isCut });
  } catch (error) {
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return errorOutput(`\`${shown}\` cannot be read (${codeOf(error)}).`);
  }
}
