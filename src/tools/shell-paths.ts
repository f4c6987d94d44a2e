import { posix } from 'node:path';
import { refuseProtected } from './path-rules.ts';
import {
  deny,
  firstDenial,
  type Arg,
  type Denial,
  type Scene,
  type ShellPolicy,
  type ShellRule,
} from './shell-types.ts';

const devices = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty']);

/** Characters whose presence makes a path inexact (agent-runtime section 16, rule 6). */
const inexact = /[$`*?[{~]/;

/** No system opens a longer one. */
const maxPathLength = 4_096;

/** Targets that are no files and may be written anywhere. */
export function isDevice(path: string): boolean {
  return devices.has(path) || /^\/dev\/fd\/\d+$/.test(path);
}

/** Absolute and without `.`, `..`, doubled or trailing slashes. */
export function resolvePath(directory: string, path: string): string {
  const joined = posix.normalize(path.startsWith('/') ? path : `${directory}/${path}`);
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined;
}

/** The same for a word of a command; the workspace has one spelling in the result, whichever the word used. */
export function resolveIn({ root, spelling }: ShellPolicy, directory: string, path: string): string {
  const resolved = resolvePath(directory, path);
  const names = spelling === undefined ? undefined : namesBelow(spelling, resolved);
  return names === undefined ? resolved : [root, ...names].join('/');
}

/** Names below the root, none for the root itself; nothing when the path lies outside. */
export function namesBelow(root: string, path: string): readonly string[] | undefined {
  if (path === root) return [];
  const prefix = root === '/' ? '/' : `${root}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length).split('/') : undefined;
}

export function isInsideRoot(policy: ShellPolicy, path: string): boolean {
  return namesBelow(policy.root, path) !== undefined;
}

/** Whether the value is a path written out in full. */
export function isExact(arg: Arg): boolean {
  return !arg.isComputed && !inexact.test(arg.text);
}

export interface TargetRules {
  readonly rule: ShellRule;
  /** Program or operator, as it is named in the refusal. */
  readonly by: string;
  /** `delete` also refuses `.`, the root and what may be one of them. */
  readonly does: 'write' | 'delete' | 'read' | 'enter';
  /** Only a path written out in full will do. */
  readonly exact: boolean;
}

/** Refuses an argument as the path of something that is written, deleted, entered or read through a redirection. */
export function refuseTarget(arg: Arg, scene: Scene, rules: TargetRules): Denial | undefined {
  const { by, does } = rules;
  if (arg.place !== undefined) return refusePlace(arg.place, scene, rules);
  if (arg.text === '') return deny(rules.rule, `\`${by}\` got an empty path; name the file it is meant for.`);
  if (does !== 'delete' && does !== 'enter' && !arg.isComputed && isDevice(arg.text)) return undefined;
  if (rules.exact ? !isExact(arg) : arg.isUnknown) {
    return deny(
      rules.rule,
      `\`${by}\` is only allowed on a path that is written out, and \`${arg.text}\` is not; name it without variables, wildcards, braces or \`~\`.`,
    );
  }
  if (does === 'delete' && /^(?:\.\/*)+$/.test(arg.text)) {
    return deny(rules.rule, `\`${by}\` is not allowed on \`${arg.text}\`, which names no file; name what is to go.`);
  }
  return (
    refuseManyPaths(scene, rules.rule) ??
    firstDenial(scene.directories, (directory) => refuseResolved(arg, directory, scene, rules))
  );
}

/** So many paths in so many directories would take seconds, in which nothing else runs. */
const maxPaths = 40_000;

/** Counts a path that is looked at from every directory the command may run in. */
export function refuseManyPaths({ ledger, directories }: Scene, rule: ShellRule): Denial | undefined {
  ledger.paths += directories.length;
  if (ledger.paths <= maxPaths) return undefined;
  return deny(rule, 'The command names too many paths to check at once; name folders, or split it.');
}

function refuseResolved(arg: Arg, directory: string, scene: Scene, rules: TargetRules): Denial | undefined {
  const { root } = scene.policy;
  const path = resolveIn(scene.policy, directory, arg.text);
  const names = namesBelow(root, path);
  if (path.length > maxPathLength)
    return deny(rules.rule, `A path for \`${rules.by}\` is too long; use a shorter one.`);
  if (names === undefined) {
    if (rules.does === 'read' && scene.policy.readable.some((folder) => namesBelow(folder, path) !== undefined)) {
      return undefined;
    }
    const hint = arg.text.startsWith('/') || scene.directories.length === 1 ? '' : ', joining `cd` with `&&`';
    return deny(
      rules.rule,
      `\`${rules.by}\` would leave the workspace at \`${arg.text}\`; use a path inside it${hint}.`,
    );
  }
  if (scene.ledger.hasMoves && climbsUnseen(arg.text, scene)) {
    return deny(
      rules.rule,
      `\`${arg.text}\` climbs with \`..\` in a line that also moves or links directories; write the path from the workspace root instead.`,
    );
  }
  if (rules.does === 'delete' && names.length === 0) {
    return deny(rules.rule, `\`${rules.by}\` is not allowed on the workspace root; name what is to go.`);
  }
  if (rules.does === 'read' || rules.does === 'enter') return undefined;
  return refuseProtectedPath(arg, names, rules) ?? noteWritten(path, scene);
}

/** `..` behind a name, or after a change of directory: both depend on what the names are when the line runs. */
function climbsUnseen(text: string, scene: Scene): boolean {
  const names = text.split('/').filter((name) => name !== '' && name !== '.');
  if (!names.includes('..')) return false;
  const firstName = names.findIndex((name) => name !== '..');
  return scene.ledger.directories.size > 1 || (firstName >= 0 && names.lastIndexOf('..') > firstName);
}

function refuseProtectedPath(arg: Arg, names: readonly string[], rules: TargetRules): Denial | undefined {
  const last = names.at(-1) ?? '';
  // A stale lock is removed by hand, as git itself advises; it holds nothing.
  if (rules.does === 'delete' && names.length === 2 && names[0] === '.git' && /^[\w-]+\.lock$/.test(last))
    return undefined;
  const isHidden = arg.isWildcard && names.some((name) => /[*?[]/.test(name) && /^[.[]/.test(name));
  const reason = isHidden ? 'hidden folders such as `.git` match it' : refuseProtected(names);
  if (reason !== undefined) {
    return deny(
      'protected_paths',
      `\`${rules.by}\` must not touch \`${arg.text}\` (${reason}); leave it to its owner and work on other files.`,
    );
  }
  if (rules.does === 'write' && last.startsWith('-')) {
    return deny(
      rules.rule,
      `A file named \`${last}\` could be taken for an option later; choose a name without a leading dash.`,
    );
  }
  return undefined;
}

function noteWritten(path: string, scene: Scene): undefined {
  scene.ledger.written.add(path);
  return undefined;
}

function refusePlace(place: NonNullable<Arg['place']>, scene: Scene, rules: TargetRules): Denial | undefined {
  const outside = place.roots.find((path) => !isInsideRoot(scene.policy, path));
  if (outside !== undefined) {
    return deny(
      rules.rule,
      `\`${rules.by}\` would reach files outside the workspace below \`${outside}\`; start from a path inside it.`,
    );
  }
  if (place.reachesProtected && rules.does !== 'read') {
    return deny(
      'protected_paths',
      `\`${rules.by}\` would reach \`.git\` and \`.vibe\` from here; narrow the search by name or folder (\`-name '*.o'\`, \`find build\`) or leave hidden folders out (\`-not -path './.*'\`).`,
    );
  }
  return undefined;
}
