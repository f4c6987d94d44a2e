import { closeSync, existsSync, readSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { openRegular, type Scope } from './containment.ts';
import { toFsPath } from './names.ts';
import { isInside } from './path-rules.ts';

/** The `.gitignore` files that apply at one place of a walk, innermost last. Paths are relative to where the walk began. */
export interface IgnoreRules {
  /** What the rules say of entries of the directory `prefix` (empty, or ending with `/`), which is not ignored itself. */
  inside(prefix: string): EntryRules;
  /** These rules and those of a `.gitignore` in the directory `prefix`. */
  with(text: string, prefix: string): IgnoreRules;
}

/** @returns whether the entry is left out */
export type EntryRules = (name: string, isDirectory: boolean) => boolean;

interface Frame {
  readonly matcher: Ignore;
  /** The patterns that are about names in any directory, in their order; absent when there are none. */
  readonly names: Ignore | undefined;
  /** How many directories below its own the other patterns reach: those that are about paths. */
  readonly reach: number;
  /** Put in front of a path to make it relative to the file's directory. */
  readonly lead: string;
  /** Or how much of the front to drop. */
  readonly drop: number;
}

/**
 * The rules that directories above `start` give it: up to the top of its repository, else up to the workspace. A start that
 * they ignore was asked for by name, so they are left out then.
 */
export function rulesAbove(start: string, scope: Scope): IgnoreRules | undefined {
  const frames: Frame[] = [];
  for (const directory of ancestorsWithRules(start, scope)) {
    const text = readRules(join(directory, '.gitignore'));
    const lead = `${relative(directory, start).split(sep).join('/')}/`;
    if (text !== undefined) frames.unshift({ ...createMatchers(text), lead, drop: 0 });
  }
  return frames.length === 0 || isStartIgnored(frames) ? undefined : createRules(frames);
}

/** Rules that ignore nothing. */
export const noRules: IgnoreRules = createRules([]);

/** Ancestors of `start`, nearest first. */
function ancestorsWithRules(start: string, scope: Scope): readonly string[] {
  const inside: string[] = [];
  const all: string[] = [];
  for (let directory = start; dirname(directory) !== directory;) {
    directory = dirname(directory);
    all.push(directory);
    if (scope.readable.some((folder) => isInside(folder, directory))) inside.push(directory);
    if (isRepository(directory)) return all;
  }
  return inside;
}

/** What the nearest file that says anything of the start says of it. */
function isStartIgnored(frames: readonly Frame[]): boolean {
  for (const frame of frames.toReversed()) {
    const verdict = frame.matcher.test(frame.lead);
    if (verdict.ignored || verdict.unignored) return verdict.ignored;
  }
  return false;
}

function isRepository(directory: string): boolean {
  return existsSync(toFsPath(join(directory, '.git')));
}

function createRules(frames: readonly Frame[]): IgnoreRules {
  return {
    inside(prefix) {
      const tests = frames.flatMap((frame) => testsInside(frame, prefix)).reverse();
      return (name, isDirectory) => {
        const entry = isDirectory ? `${name}/` : name;
        for (const { matcher, front } of tests) {
          const verdict = matcher.test(front + entry);
          if (verdict.ignored) return true;
          if (verdict.unignored) return false;
        }
        return false;
      };
    },
    with: (text, prefix) => createRules([...frames, { ...createMatchers(text), lead: '', drop: prefix.length }]),
  };
}

interface FrameTest {
  readonly matcher: Ignore;
  /** Put in front of a name. */
  readonly front: string;
}

/**
 * Deep down only the patterns about names can match, and a name alone is matched faster than a path. So it is in a directory
 * that a nearer file took back: the matcher would ignore all of it.
 */
function testsInside({ matcher, names, reach, lead, drop }: Frame, prefix: string): readonly FrameTest[] {
  const front = lead + prefix.slice(drop);
  const isTakenBack = front !== '' && matcher.test(front).ignored;
  if (front.split('/').length - 1 <= reach && !isTakenBack) return [{ matcher, front }];
  return names === undefined ? [] : [{ matcher: names, front: '' }];
}

function createMatchers(text: string): Pick<Frame, 'matcher' | 'names' | 'reach'> {
  const names: string[] = [];
  let reach = -1;
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const segments = line.replace(/^!/, '').trimEnd().replace(/\/$/, '').split('/');
    const isPlain = !line.includes('\\') && !line.includes('**');
    if (isPlain && segments.length === 1) names.push(line);
    else reach = isPlain ? Math.max(reach, segments.filter((segment) => segment !== '').length - 1) : Infinity;
  }
  return {
    matcher: createMatcher(text),
    names: names.length === 0 ? undefined : createMatcher(names.join('\n')),
    reach,
  };
}

function createMatcher(text: string): Ignore {
  return ignore({ ignorecase: process.platform !== 'linux' }).add(text);
}

/** A larger file is no list of patterns; its rules are not applied. */
const maxRulesBytes = 1_048_576;

/** The text of a `.gitignore`; nothing when it is not a regular file. */
export function readRules(path: string): string | undefined {
  const opened = openRegular(toFsPath(path));
  if (!opened.ok) return undefined;
  try {
    if (opened.stats.size > maxRulesBytes) return undefined;
    const bytes = Buffer.alloc(opened.stats.size);
    const length = readSync(opened.fd, bytes, 0, bytes.length, 0);
    return bytes.toString('utf8', 0, length).replace(/^\ufeff/, '');
  } catch {
    return undefined; // unreadable rules are no rules, as in git
  } finally {
    closeSync(opened.fd);
  }
}
