import picomatch from 'picomatch';
import { EngineError, messageOf } from '../protocol/error.ts';

/** A glob pattern ready to match paths below a directory. */
export interface GlobPattern {
  matches(path: string): boolean;
  /** Whether something below the directory `path` may match; a guess in favour. */
  mayMatchBelow(path: string): boolean;
}

/**
 * Makes a matcher: `*` stays in one directory, `**` crosses them, `{a,b}` chooses; hidden names match too.
 * Directories that cannot lead to a match are told apart by the pattern's fixed front and by its depth.
 * @throws EngineError `invalid_request` for a pattern that cannot be read
 */
export function createGlobPattern(pattern: string): GlobPattern {
  const isMatch = compile(pattern);
  const { base, maxDepth } = describe(pattern);
  const front = base === '' ? '' : `${base}/`;
  return {
    matches: (path) => isMatch(path),
    mayMatchBelow(path) {
      const own = `${path}/`;
      if (!own.startsWith(front) && !front.startsWith(own)) return false;
      return maxDepth === undefined || own.split('/').length <= maxDepth;
    },
  };
}

function compile(pattern: string): (path: string) => boolean {
  try {
    return picomatch(pattern, { dot: true });
  } catch (cause) {
    throw new EngineError('invalid_request', `Invalid glob pattern: ${messageOf(cause)}`, { cause });
  }
}

function describe(pattern: string): { base: string; maxDepth: number | undefined } {
  const { base, isGlob, negated, negatedExtglob } = picomatch.scan(pattern);
  if (negated || negatedExtglob || pattern.includes('\\')) return { base: '', maxDepth: undefined };
  if (!isGlob) return { base: parentOf(pattern), maxDepth: pattern.split('/').length };
  // A slash inside braces or an extended group makes the depth a matter of choice.
  const isPlain = !pattern.includes('**') && !/[{(]/.test(pattern);
  return { base, maxDepth: isPlain ? pattern.split('/').length : undefined };
}

function parentOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end < 0 ? '' : path.slice(0, end);
}
