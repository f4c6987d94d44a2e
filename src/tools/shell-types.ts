/** Words, situations and verdicts the rules of the shell policy share. */
import type { Word } from 'unbash';

/** Which rule a verdict rests on; `docs/reference/shell-policy.md` has a line for each. */
export const shellRules = [
  'syntax',
  'variables',
  'redirections',
  'program_names',
  'blocked',
  'allowlist',
  'definitions',
  'network',
  'deletions',
  'directories',
  'modes',
  'processes',
  'shells',
  'wrappers',
  'git',
  'protected_paths',
  'writes',
  'databases',
  'options',
  'inline_code',
] as const;

export type ShellRule = (typeof shellRules)[number];

export interface Denial {
  readonly rule: ShellRule;
  /** One sentence: what is refused and the way out. */
  readonly sentence: string;
}

export function deny(rule: ShellRule, sentence: string): Denial {
  return { rule, sentence };
}

/** One argument as the program receives it, as far as the text alone says. */
export interface Arg {
  /** The value; what is unknown of it stays as it was written (`$NAME`, `$(…)`, `*`). */
  readonly text: string;
  /** An expansion, a wildcard, a brace list or a tilde had a part in it. */
  readonly isComputed: boolean;
  /** A part of the value cannot be told from the text. */
  readonly isUnknown: boolean;
  /** That part comes from running something, not from the environment the line was given. */
  readonly isOpen: boolean;
  /** Unknown in a way that lets it become an option, or several words, by the will of whoever wrote the line. */
  readonly maySteer: boolean;
  readonly isWildcard: boolean;
  /** The value is a path below these absolute directories: `{}` of `find`, what `xargs` appends. */
  readonly place?: Place;
}

export interface Place {
  readonly roots: readonly string[];
  /** Nothing keeps the paths out of `.git` and `.vibe`. */
  readonly reachesProtected: boolean;
}

export function literalArg(text: string): Arg {
  return { text, isComputed: false, isUnknown: false, isOpen: false, maySteer: false, isWildcard: false };
}

export function unknownArg(text: string): Arg {
  return { text, isComputed: true, isUnknown: true, isOpen: true, maySteer: true, isWildcard: false };
}

/** What a command finds on its standard input. */
export type ShellInput =
  | { readonly kind: 'closed' }
  | { readonly kind: 'file' }
  /** Here-document or here-string; `text` is missing when an expansion has a part in it. */
  | { readonly kind: 'text'; readonly text: string | undefined }
  /** Earlier stages of the pipeline in order; a stage that is no simple command is missing. */
  | { readonly kind: 'pipe'; readonly stages: readonly (readonly Arg[] | undefined)[]; readonly first: ShellInput };

/** `security` of the configuration, as far as the policy reads it (agent-runtime section 16). */
export interface ShellPolicyConfig {
  readonly blocked_commands?: readonly string[] | undefined;
  readonly allowed_commands?: readonly string[] | undefined;
  readonly extra_read_paths?: readonly string[] | undefined;
}

export interface ShellPolicy {
  /** Absolute, normalised, without a slash at the end. */
  readonly root: string;
  /** The workspace as it is spelled through a link that lies above it, in the same form. */
  readonly spelling: string | undefined;
  readonly network: boolean;
  readonly blocked: ReadonlySet<string>;
  /** Nothing: no allowlist. */
  readonly allowed: ReadonlySet<string> | undefined;
  readonly readable: readonly string[];
}

/** One simple command that was found, and what became of it. */
export interface ShellFinding {
  /** The command as it was written or, behind a wrapper, as it would run. */
  readonly command: string;
  readonly program: string | undefined;
  readonly denial: Denial | undefined;
}

/** What is learnt about the line as a whole. One object per check. */
export interface Ledger {
  readonly programs: Set<string>;
  readonly findings: ShellFinding[];
  /** Absolute paths the line may write. */
  readonly written: Set<string>;
  /** Script files the line runs, with the refusal that holds if the line also wrote them. */
  readonly scripts: { readonly paths: readonly string[]; readonly denial: Denial }[];
  /** Every directory the line may be in at some time. */
  readonly directories: Set<string>;
  readonly variables: Map<string, VariableSource[]>;
  /** What was found out about them so far. */
  readonly values: Map<string, readonly KnownValue[] | 'open'>;
  /** Checks that need the finished ledger, such as the text of a `trap`. */
  readonly deferred: (() => Denial | undefined)[];
  commands: number;
  /** How often the body of a loop was walked, and paths were looked at, one for each directory they may start from. */
  rounds: number;
  paths: number;
  /** The line moves or links directories, so that `..` may lead elsewhere than the text says. */
  hasMoves: boolean;
  /** Notes what became of a command; nothing is noted for a refusal that is missing. */
  report(denial: Denial | undefined, command: string): void;
}

/** Where a variable may get its value from: a word of the line, or something only known when it runs, at best a number. */
export type VariableSource = 'open' | 'number' | { readonly word: Word };

export interface KnownValue {
  readonly text: string;
  readonly isWildcard: boolean;
}

/** The circumstances of one simple command. */
export interface Scene {
  readonly policy: ShellPolicy;
  readonly ledger: Ledger;
  /** Directories the command may run in; absolute, at least one. */
  readonly directories: readonly string[];
  readonly input: ShellInput;
  readonly depth: number;
  /** Checks a command that the present one starts. */
  readonly run: (argv: readonly Arg[], scene: Scene) => Denial | undefined;
  /** Checks shell text that the present one hands to a shell; `here` when it is the same shell (`eval`). */
  readonly runText: (text: string, scene: Scene, here: boolean) => Denial | undefined;
  /** Called by `cd` and its kin with where the shell is afterwards if they succeed. */
  readonly move: (directories: readonly string[]) => void;
}

/** A simple command after expansion, its program named as the policy names programs. */
export interface Call {
  readonly program: string;
  readonly args: readonly Arg[];
  readonly scene: Scene;
}

export type ProgramRule = (call: Call) => Denial | undefined;

/** The scene of a process of its own: a `cd` in it does not move the shell. */
export function elsewhere(scene: Scene): Scene {
  return { ...scene, move: () => undefined };
}

/** The first refusal of several checks; later ones are not made. */
export function firstDenial<T>(
  items: Iterable<T>,
  check: (item: T, index: number) => Denial | undefined,
): Denial | undefined {
  let index = -1;
  for (const item of items) {
    const denial = check(item, (index += 1));
    if (denial !== undefined) return denial;
  }
  return undefined;
}
