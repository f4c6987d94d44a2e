import { posix } from 'node:path';
import { isProtectedFolder, leavesOutProtected, readFind } from './shell-found.ts';
import { resolveIn } from './shell-paths.ts';
import { literalArg, unknownArg, type Arg, type Scene } from './shell-types.ts';

/**
 * What a program reads from its standard input, taken as arguments: plain words, or paths below known folders. Nothing when
 * the text does not tell.
 */
export function pipedArguments(scene: Scene): readonly Arg[] | undefined {
  const { input } = scene;
  if (input.kind === 'text') return input.text === undefined ? undefined : wordsOf(input.text);
  if (input.kind !== 'pipe') return undefined;
  const [first, ...rest] = input.stages;
  if (first === undefined || !rest.every(dropsLines)) return undefined;
  const [name, ...args] = first;
  if (name === undefined || args.some((arg) => arg.isUnknown)) return undefined;
  return producedBy(name.text, args, scene);
}

/** A stage that passes lines on as they are, or drops some, and reads nothing else. */
function dropsLines(stage: readonly Arg[] | undefined): boolean {
  const [name, ...args] = stage ?? [];
  if (name === undefined || args.some((arg) => arg.isComputed)) return false;
  const operands = args.filter((arg) => !arg.text.startsWith('-'));
  const options = args.filter((arg) => arg.text.startsWith('-')).map((arg) => arg.text);
  switch (name.text) {
    case 'cat':
    case 'tac':
    case 'sort':
    case 'uniq':
      return operands.length === 0 && options.every((option) => /^-[nrufzV]+$/.test(option));
    case 'head':
    case 'tail':
      return (
        operands.every((arg) => /^\d+$/.test(arg.text)) && options.every((option) => /^-(?:n?\d*|z)$/.test(option))
      );
    case 'grep':
    case 'egrep':
    case 'fgrep':
      return operands.length === 1 && options.every((option) => /^-[vEFGPiwxz]+$/.test(option));
    default:
      return false;
  }
}

function producedBy(name: string, args: readonly Arg[], scene: Scene): readonly Arg[] | undefined {
  const operands = args.filter((arg) => !arg.text.startsWith('-'));
  const has = (pattern: RegExp): boolean => args.some((arg) => pattern.test(arg.text));
  const below = (paths: readonly Arg[], skipsHidden: boolean): readonly Arg[] => {
    const from = (paths.length === 0 ? [literalArg('.')] : paths).map((path) => folderOf(path));
    const roots = from.flatMap((path) =>
      scene.directories.map((directory) => resolveIn(scene.policy, directory, path)),
    );
    return placed(roots, scene.policy.root, skipsHidden);
  };
  switch (name) {
    case 'find':
      return foundPaths(args, scene);
    case 'ls':
      // Only bare names of the working directory are paths by themselves.
      return operands.length === 0 && !has(/^-\w*[laARsgnoi]/) ? below([], true) : undefined;
    case 'git':
      return /^(?:ls-files|diff)$/.test(args[0]?.text ?? '') && (args[0]?.text === 'ls-files' || has(/^--name-only$/))
        ? below([], true)
        : undefined;
    case 'grep':
    case 'egrep':
    case 'fgrep':
    case 'rg':
      if (!has(/^-\w*[lL]/) && !has(/^--files-with/)) return undefined;
      return below(
        has(/^-\w*e/) ? operands : operands.slice(1),
        name === 'rg'
          ? !has(/^-\w*[u.]|^--hidden|^--no-ignore/)
          : has(/^--include=\*\.\w/) ||
              leavesOutProtected(
                args.filter((arg) => arg.text.startsWith('--exclude-dir=')).map((arg) => arg.text.slice(14)),
              ),
      );
    case 'echo':
      return args.flatMap((arg) => wordsOf(arg.text));
    case 'printf':
      return /^(?:%s(?:\\n|\\0| ))+$/.test(args[0]?.text ?? '')
        ? args.slice(1).flatMap((arg) => wordsOf(arg.text))
        : undefined;
    default:
      return undefined;
  }
}

/** `find` prints paths below its start paths, unless it is told to print something else. */
function foundPaths(args: readonly Arg[], scene: Scene): readonly Arg[] | undefined {
  const { expression, place } = readFind(args, scene);
  const isOther =
    args.some((arg) => /^-(?:L|follow)$/.test(arg.text)) || expression.some((arg) => printsOther.test(arg.text));
  return place === undefined || isOther ? undefined : [{ ...unknownArg('…'), maySteer: false, place }];
}

const printsOther = /^-(?:printf|ls|fls|fprint\w*|exec\w*|ok\w*)$/;

/** The part of a path in front of its first wildcard. */
function folderOf(path: Arg): string {
  const wildcard = path.text.search(/[*?[{]/);
  return !path.isWildcard || wildcard < 0 ? path.text : posix.dirname(`${path.text.slice(0, wildcard)}x`);
}

function placed(roots: readonly string[], root: string, skipsHidden: boolean): readonly Arg[] {
  const reachesProtected = roots.some(isProtectedFolder) || (!skipsHidden && roots.includes(root));
  return [{ ...unknownArg('…'), maySteer: false, place: { roots, reachesProtected } }];
}

/** Words of a text; one that `echo`, `printf` or `xargs` would read in their own way is unknown. */
function wordsOf(text: string): readonly Arg[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  return words.map((word) => (/['"\\%]/.test(word) ? unknownArg(word) : literalArg(word)));
}
