import { isAbsolute, relative, resolve, sep } from 'node:path';
import picomatch from 'picomatch';
import type { BeforeToolCall } from '../protocol/hook.ts';
import { ownValue } from '../protocol/json.ts';
import { locate, openScope, type Scope } from './containment.ts';
import { createGlobPattern } from './glob-pattern.ts';
import { unquotePath } from './names.ts';
import { refusePathText } from './path-rules.ts';
import type { JudgedArgument } from './rule-judgement.ts';

/**
 * A path, in every spelling it may stand for: as written, and with links followed. Patterns are globs relative to the
 * workspace, or absolute; `folder/` means all that is in it.
 * @param reach `below`: the tool looks at everything in the folder
 */
export function openPathArgument(path: string, call: BeforeToolCall, reach: 'one' | 'below'): JudgedArgument {
  const written = reach === 'below' ? joinPattern(path, call) : path;
  const workspace = openWorkspace(call);
  const names = spellingsOf(path === written ? [path] : [path, written], workspace);
  return {
    mayBe(pattern) {
      const glob = toGlob(pattern, workspace);
      return [...names.paths].some((name) => mayMean(glob, name) || (reach === 'below' && mayHold(name, glob)));
    },
    isCoveredBy(patterns) {
      if (!names.isCertain) return false;
      const matchers = patterns.map((pattern) => {
        const glob = toGlob(pattern, workspace);
        const matches = picomatch(glob, options);
        // a pattern of the workspace says nothing about the rest of the machine
        return (name: string) =>
          isAbsolute(name) === isAbsolute(glob) && (name === glob || matches(name) || (name === '.' && glob === '**'));
      });
      return [...names.paths].every((name) => matchers.some((matches) => matches(name)));
    },
    exact: escapeGlob(toShown(path, workspace)),
  };
}

const options = { dot: true, nonegate: true } as const;

interface Workspace {
  readonly root: string;
  /** Missing when the workspace cannot be opened; then no tool can look into it either. */
  readonly scope: Scope | undefined;
}

function openWorkspace({ context }: BeforeToolCall): Workspace {
  const root = resolve(context.workspace_root);
  try {
    return { root, scope: openScope(context) };
  } catch {
    return { root, scope: undefined }; // see `Workspace.scope`
  }
}

interface Spellings {
  /** Relative to the workspace with `/`, `.` for the workspace itself; absolute outside of it. */
  readonly paths: ReadonlySet<string>;
  /** Where all of them lead is known. */
  readonly isCertain: boolean;
}

function spellingsOf(written: readonly string[], workspace: Workspace): Spellings {
  const paths = new Set<string>();
  let isCertain = workspace.scope !== undefined;
  for (const text of written) {
    // tools take the quoted form in which listings show odd names
    const unquoted = unquotePath(text);
    for (const path of unquoted === undefined ? [text] : [text, unquoted]) {
      paths.add(toShown(path, workspace));
      if (workspace.scope === undefined || refusePathText(path) !== undefined) continue;
      const located = locate(path, workspace.scope);
      if (located.ok) paths.add(toName(relative(workspace.scope.root, located.place.real), located.place.real));
      else isCertain = false;
    }
  }
  return { paths, isCertain };
}

function toShown(path: string, { root }: Workspace): string {
  const absolute = resolve(root, path);
  return toName(relative(root, absolute), absolute);
}

function toName(below: string, absolute: string): string {
  if (below === '') return '.';
  const isOutside = below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below);
  return (isOutside ? absolute : below).split(sep).join('/');
}

/** `glob` looks below the fixed front of its pattern. */
function joinPattern(path: string, { tool, input }: BeforeToolCall): string {
  const pattern = tool === 'glob' ? ownValue(input, 'pattern') : undefined;
  if (typeof pattern !== 'string') return path;
  const { base } = picomatch.scan(pattern);
  return base === '' ? path : `${path}/${base}`;
}

/** The pattern as a glob on the names above. */
function toGlob(pattern: string, { root }: Workspace): string {
  const slashed = sep === '\\' ? pattern.replaceAll('\\', '/') : pattern;
  const whole = slashed.endsWith('/') ? `${slashed}**` : slashed;
  const front = `${root.split(sep).join('/')}/`;
  if (whole.startsWith(front)) return whole.slice(front.length);
  return whole.startsWith('./') ? whole.slice(2) : whole;
}

/** Whether a pattern is about a path, or about a folder above it. Letter case and composition are those of the laxest file system. */
function mayMean(glob: string, name: string): boolean {
  const folded = fold(glob);
  const matches = picomatch(folded, options);
  let path = fold(name);
  for (;;) {
    if (path === folded || matches(path)) return true;
    const slash = path.lastIndexOf('/');
    if (slash <= 0) return false;
    path = path.slice(0, slash);
  }
}

/** Whether what a pattern is about may lie in a folder. */
function mayHold(folder: string, glob: string): boolean {
  if (folder === '.') return !glob.startsWith('/');
  return createGlobPattern(fold(glob)).mayMatchBelow(fold(folder));
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

function escapeGlob(path: string): string {
  return path.replaceAll(/[\\*?[\]{}()!+@|^$]/g, String.raw`\$&`);
}
