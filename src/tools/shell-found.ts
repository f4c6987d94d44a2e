import { resolveIn } from './shell-paths.ts';
import { literalArg, type Arg, type Place, type Scene } from './shell-types.ts';

export interface FindArguments {
  readonly starts: readonly Arg[];
  readonly expression: readonly Arg[];
  /** Where the found files lie; nothing when the start paths are not written out. */
  readonly place: Place | undefined;
}

/** Reads the arguments of `find`. */
export function readFind(args: readonly Arg[], scene: Scene): FindArguments {
  const end = startOfExpression(args);
  const starts = args.slice(0, end).filter((arg) => !arg.text.startsWith('-'));
  const expression = args.slice(end);
  return { starts, expression, place: placeOf(starts, expression, scene) };
}

function startOfExpression(args: readonly Arg[]): number {
  let index = 0;
  while (index < args.length) {
    const text = args[index]?.text ?? '';
    if (text === '-D') index += 2;
    else if (/^-[HLP]$|^-O\d*$|^--$/.test(text)) index += 1;
    else break;
  }
  const rest = args.slice(index).findIndex((arg) => /^-.|^[(),!]$/.test(arg.text));
  return rest < 0 ? args.length : index + rest;
}

/** More start paths than this are not followed. */
const maxRoots = 1_024;

function placeOf(starts: readonly Arg[], expression: readonly Arg[], scene: Scene): Place | undefined {
  const paths = starts.length === 0 ? [literalArg('.')] : starts;
  if (
    paths.length * scene.directories.length > maxRoots ||
    paths.some((path) => path.isUnknown || path.isWildcard) ||
    expression.some((arg) => arg.text === '-files0-from')
  )
    return undefined;
  const roots = paths.flatMap(
    (path) => path.place?.roots ?? scene.directories.map((from) => resolveIn(scene.policy, from, path.text)),
  );
  return { roots, reachesProtected: reachesProtected(expression, roots, scene) };
}

/** From the root down everything is found, unless only names are asked for that git has no file of, or its folder is left out. */
function reachesProtected(expression: readonly Arg[], roots: readonly string[], scene: Scene): boolean {
  if (roots.some(isProtectedFolder)) return true;
  const tests = nameTests(expression);
  if (tests.some((test) => test.isUnknown || (!test.isExclusion && /\.(?:git|vibe)(?![\w-])/i.test(test.pattern))))
    return true;
  if (!roots.includes(scene.policy.root)) return false;
  if (leavesOutProtected(tests.filter((test) => test.isExclusion).map((test) => test.pattern))) return false;
  if (expression.some((arg, index) => arg.text === '(' && isNegation(expression[index - 1]))) return true;
  // Each alternative must be narrow by itself.
  return !alternatives(expression).every((part) => nameTests(part).some((test) => !test.isExclusion && isNarrow(test)));
}

export function isProtectedFolder(path: string): boolean {
  return /\/\.(?:git|vibe)(?:\/|$)/i.test(path);
}

/** Whether patterns that are left out cover `.git` and `.vibe`: by name, or as hidden folders. */
export function leavesOutProtected(patterns: readonly string[]): boolean {
  const covers = (name: string): boolean =>
    patterns.some((pattern) => pattern.includes(name) || /(?:^|\/)\.\*/.test(pattern));
  return covers('.git') && covers('.vibe');
}

interface NameTest {
  readonly option: string;
  readonly pattern: string;
  readonly isExclusion: boolean;
  readonly isUnknown: boolean;
}

function nameTests(expression: readonly Arg[]): readonly NameTest[] {
  return expression.flatMap((arg, index) => {
    const value = expression[index + 1];
    if (value === undefined || !/^-(?:i?name|i?path|i?regex|wholename)$/.test(arg.text)) return [];
    const isPruned = expression.slice(index + 2, index + 6).some((each) => each.text === '-prune');
    const isExclusion = isPruned || isNegation(expression[index - 1]);
    return [{ option: arg.text, pattern: value.text, isExclusion, isUnknown: value.isUnknown }];
  });
}

function isNegation(arg: Arg | undefined): boolean {
  return arg?.text === '!' || arg?.text === '-not';
}

function alternatives(expression: readonly Arg[]): readonly (readonly Arg[])[] {
  const parts: Arg[][] = [[]];
  for (const arg of expression) {
    if (/^(?:-o|-or|,)$/.test(arg.text)) parts.push([]);
    else parts.at(-1)?.push(arg);
  }
  return parts;
}

/** Files as git keeps them: a pattern that matches one of these is not narrow. */
const gitFiles =
  `config HEAD hooks info objects refs logs index description packed-refs modules worktrees heads tags remotes origin main
  master FETCH_HEAD ORIG_HEAD COMMIT_EDITMSG MERGE_HEAD pre-commit pre-commit.sample commit-msg update.sample exclude pack
  3f 3f2a9c0d5b7e1846aa90c4d2e8f7b61350dd9e4a pack-3f2a9c.pack pack-3f2a9c.idx pack-3f2a9c.rev`.split(/\s+/);

function isNarrow({ option, pattern }: NameTest): boolean {
  if (option.endsWith('regex')) return /\\\.[a-z0-9]+\$?$|^\.\/\w/i.test(pattern);
  if (pattern.length > 200) return false;
  const names =
    option.endsWith('name') && option !== '-wholename' ? gitFiles : gitFiles.map((name) => `./.git/x/${name}`);
  const parts = toGlobParts(pattern);
  if (parts.includes('[')) return false; // what it opens is no set that is understood
  return ![...names, '.git', './.git', '.vibe'].some((name) => matchesGlob(parts, name));
}

/** `*`, `?` and single characters in small letters; a set counts as any one character. */
function toGlobParts(pattern: string): readonly string[] {
  const parts = pattern.toLowerCase().match(globParts) ?? [];
  return parts.map((part) => (part.length > 1 && part.startsWith('[') ? '?' : part));
}

/** A set, whose first character may be `]`, with classes and escaped characters; an escaped character; any other. */
const globParts = /\[[!^]?\]?(?:\[([:.=])[\w-]{0,20}\1\]|\\[^]|[^\]\\])*\]|\\[^]|[^]/g;

/** `*` and `?` match anything, as in `find -path`. Goes back to the last star only, so no pattern takes long. */
function matchesGlob(parts: readonly string[], text: string): boolean {
  let part = 0;
  let star = -1;
  let retried = 0;
  for (let at = 0; at < text.length;) {
    const wanted = parts[part];
    if (wanted === '*') {
      star = part;
      retried = at;
      part += 1;
    } else if (wanted === '?' || wanted?.at(-1) === text.charAt(at).toLowerCase()) {
      part += 1;
      at += 1;
    } else if (star >= 0) {
      retried += 1;
      at = retried;
      part = star + 1;
    } else return false;
  }
  return parts.slice(part).every((rest) => rest === '*');
}

/** An argument in which a mark is replaced by a found path: the path itself, or text that holds it. */
export function withPlace(arg: Arg, mark: string, place: Place | undefined): Arg {
  if (!arg.text.includes(mark)) return arg;
  const unknown = { ...arg, isComputed: true, isUnknown: true, isOpen: true, maySteer: arg.text.startsWith(mark) };
  const isPath =
    arg.text.startsWith(mark) &&
    !arg.text.slice(mark.length).includes('/') &&
    !arg.text.slice(mark.length).includes(mark);
  return isPath && place !== undefined ? { ...unknown, maySteer: false, place } : unknown;
}
