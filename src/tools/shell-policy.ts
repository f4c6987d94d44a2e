import { posix } from 'node:path';
import { judgeCommand } from './shell-command.ts';
import { blockedPrograms, programName } from './shell-judge.ts';
import { namesBelow, resolveIn, resolvePath } from './shell-paths.ts';
import { survey } from './shell-survey.ts';
import { parseShell, shellLimits } from './shell-syntax.ts';
import {
  deny,
  type Arg,
  type Denial,
  type Ledger,
  type Scene,
  type ShellFinding,
  type ShellPolicy,
  type ShellPolicyConfig,
} from './shell-types.ts';
import { walk } from './shell-walk.ts';

export interface ShellPolicyOptions {
  /** Absolute path of the workspace; it need not exist. */
  readonly root: string;
  /** Another absolute path of the workspace, one that leads there through links above it. */
  readonly spelling?: string | undefined;
  /** Whether programs may use the network. */
  readonly network: boolean;
  /** Directory the command starts in, absolute or relative to the root; default: the root. */
  readonly cwd?: string | undefined;
  readonly config?: ShellPolicyConfig | undefined;
  /** Sees each simple command at every depth before it is judged; the same one possibly more than once. */
  readonly onCommand?: ((argv: readonly Arg[]) => void) | undefined;
}

export type ShellVerdict =
  | {
      readonly allow: true;
      /** Every program the command may start, builtins included. */ readonly programs: readonly string[];
    }
  | { readonly allow: false; /** What is refused and the way out. */ readonly sentence: string };

/**
 * Judges a command line for `sh -c` by its text alone (agent-runtime section 16, reliability section 8). A guard against
 * mistakes and obvious harm, not a sandbox: a script file that is allowed to run can do anything. What is not understood is
 * denied.
 */
export function checkCommand(command: string, options: ShellPolicyOptions): ShellVerdict {
  const { ledger, denial } = judge(command, options);
  return denial === undefined
    ? { allow: true, programs: [...ledger.programs] }
    : { allow: false, sentence: denial.sentence };
}

export interface ShellExplanation {
  readonly verdict: ShellVerdict;
  /** Every simple command that was found, in the order it was judged, with the rule that refuses it. */
  readonly findings: readonly ShellFinding[];
}

/** The same judgement, told command by command. */
export function explainCommand(command: string, options: ShellPolicyOptions): ShellExplanation {
  const { ledger, denial } = judge(command, options);
  const verdict: ShellVerdict =
    denial === undefined
      ? { allow: true, programs: [...ledger.programs] }
      : { allow: false, sentence: denial.sentence };
  return { verdict, findings: ledger.findings };
}

function judge(command: string, options: ShellPolicyOptions): { ledger: Ledger; denial: Denial | undefined } {
  const policy = toPolicy(options);
  const ledger = createLedger();
  const start = resolveIn(policy, policy.root, options.cwd ?? '.');
  ledger.directories.add(start);
  const scene: Scene = {
    policy,
    ledger,
    directories: [start],
    input: { kind: 'closed' },
    depth: 0,
    run: (argv, inner) => {
      options.onCommand?.(argv);
      return runCommand(argv, inner);
    },
    runText: (text, inner, here) => runText(text, inner, here),
    move: () => undefined,
  };
  if (namesBelow(policy.root, start) === undefined) {
    ledger.report(
      deny('directories', `The directory \`${start}\` is outside the workspace; start inside it.`),
      command,
    );
  } else {
    ledger.report(runText(command, scene, true), command);
    for (const check of ledger.deferred) ledger.report(check(), command);
    for (const { paths, denial } of ledger.scripts) {
      const written = new Set([...ledger.written].map((path) => path.toLowerCase()));
      if (paths.some((path) => written.has(path.toLowerCase()))) ledger.report(denial, command);
    }
  }
  return { ledger, denial: ledger.findings.find((finding) => finding.denial !== undefined)?.denial };
}

function toPolicy({ root, spelling, network, config }: ShellPolicyOptions): ShellPolicy {
  const names = (list: readonly string[] | undefined): readonly string[] =>
    (list ?? []).map((name) => programName(name.trim())).filter((name) => name !== '');
  const allowed = names(config?.allowed_commands);
  return {
    root: resolvePath('/', root),
    spelling: spelling === undefined ? undefined : resolvePath('/', spelling),
    network,
    blocked: new Set([...blockedPrograms, ...names(config?.blocked_commands)]),
    allowed: allowed.length === 0 ? undefined : new Set(allowed),
    readable: (config?.extra_read_paths ?? [])
      .filter((path) => posix.isAbsolute(path))
      .map((path) => resolvePath('/', path)),
  };
}

function createLedger(): Ledger {
  const findings: ShellFinding[] = [];
  return {
    programs: new Set(),
    findings,
    written: new Set(),
    scripts: [],
    directories: new Set(),
    variables: new Map(),
    values: new Map(),
    deferred: [],
    commands: 0,
    rounds: 0,
    paths: 0,
    hasMoves: false,
    report: (denial, command) => {
      const isKnown = findings.some((finding) => finding.denial === denial);
      if (denial !== undefined && !isKnown) findings.push({ command, program: undefined, denial });
    },
  };
}

function runCommand(argv: readonly Arg[], scene: Scene): Denial | undefined {
  if (scene.depth > shellLimits.levels + 1) return tooDeep();
  const denial = judgeCommand(argv, { ...scene, depth: scene.depth + 1 });
  const command = argv.map((arg) => arg.text).join(' ');
  const program = argv[0]?.text;
  const { findings } = scene.ledger;
  if (!findings.some((finding) => finding.command === command && finding.denial === denial)) {
    findings.push({ command, program: program === undefined ? undefined : programName(program), denial });
  }
  return denial;
}

function tooDeep(): Denial {
  return deny('syntax', `The command nests deeper than ${shellLimits.levels} levels; split it into several commands.`);
}

/** Judges shell text: the line itself, the text of `sh -c`, `eval`, `trap`. Denials of its commands are in the ledger, too. */
function runText(text: string, scene: Scene, here: boolean): Denial | undefined {
  if (scene.depth > shellLimits.levels) return tooDeep();
  const parsed = parseShell(text);
  if ('denial' in parsed) return parsed.denial;
  const { ledger } = scene;
  survey(parsed.script, ledger);
  if (ledger.commands > shellLimits.commands) {
    return deny(
      'syntax',
      `The command line holds more than ${shellLimits.commands} commands; split it, or put it into a script file.`,
    );
  }
  const before = ledger.findings.length;
  const flow = walk(parsed.script, { ...scene, depth: scene.depth + 1 });
  if (here) scene.move([...new Set([...flow.success, ...flow.failure])]);
  return ledger.findings.slice(before).find((finding) => finding.denial !== undefined)?.denial;
}
