import { basename } from 'node:path/posix';
import picomatch from 'picomatch';
import { EngineError, messageOf } from '../protocol/error.ts';

/** A glob pattern ready to match paths below a directory. */
export interface GlobPattern {
  /** @param name the last part of `path`, from whoever has it at hand */
  matches(path: string, name?: string): boolean;
  /** Whether something below the directory `path` may match; a guess in favour. */
  mayMatchBelow(path: string): boolean;
}

/**
 * Makes a matcher: `*` stays in one directory, `**` crosses them, `{a,b}` chooses, `[ab]` and `[!ab]` are one character;
 * hidden names match too. Parentheses, bars, plus and dollar signs are part of names, as in `app/(shop)/page.tsx`.
 * Directories that cannot lead to a match are told apart by the pattern's fixed front and by its depth.
 * @throws EngineError `invalid_request` for a pattern that cannot be read
 */
export function createGlobPattern(pattern: string): GlobPattern {
  // why: a name is matched several times faster than a path, which has to be put together first
  const ofName = anywhere.exec(pattern)?.[1];
  const isMatch = compile(ofName ?? pattern);
  const { front, maxDepth } = describe(pattern);
  return {
    matches: (path, name) => isMatch(ofName === undefined ? path : (name ?? basename(path))),
    mayMatchBelow(path) {
      const own = `${path}/`;
      if (!own.startsWith(front) && !front.startsWith(own)) return false;
      return maxDepth === undefined || own.split('/').length <= maxDepth;
    },
  };
}

/** A plain name in any directory. No other characters: some mean something else where a pattern begins. */
const anywhere = /^\*\*\/((?!.*\*\*)[\w.*?-]+)$/;

function compile(pattern: string): (path: string) => boolean {
  // why: the library would take them for those of a regular expression
  const escaped = pattern.replaceAll(/\\.|[()|+$]/gsu, (found) => (found.length > 1 ? found : `\\${found}`));
  try {
    return picomatch(escaped, { dot: true, posix: true, strictSlashes: true });
  } catch (cause) {
    throw new EngineError('invalid_request', `Invalid glob pattern: ${messageOf(cause)}`, { cause });
  }
}

/**
 * The directories every match lies in, empty or ending with `/`, and how many levels a match has at most. Also right for one
 * who reads parentheses as groups, as the patterns of rules do.
 */
function describe(pattern: string): { front: string; maxDepth: number | undefined } {
  if (pattern.startsWith('!') || pattern.includes('\\')) return { front: '', maxDepth: undefined };
  const fixed = /^[^*?[\]{}()|!+@]*/.exec(pattern)?.[0] ?? '';
  const front = fixed.slice(0, fixed.lastIndexOf('/') + 1);
  // A slash inside braces or a group makes the depth a matter of choice.
  const isPlain = !pattern.includes('**') && !/[{(]/.test(pattern);
  return { front, maxDepth: isPlain ? pattern.split('/').length : undefined };
}
