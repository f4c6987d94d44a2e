import { isEngineError } from '../protocol/error.ts';
import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { type Child, openChild } from '../transport/child.ts';
import type { Environment } from '../transport/environment.ts';
import { toBashEnvironment } from './bash-environment.ts';
import { openScope } from './containment.ts';
import { createOutputCollector } from './output-collector.ts';
import { findPosixShell } from './posix-shell.ts';
import { endStrays, type Stray } from './stray-processes.ts';
import { openWorkingFolder } from './write-target.ts';

export interface BashInput {
  readonly command: string;
  /** 1 to 600; default: the settings'. */
  readonly timeout_secs?: number | undefined;
  readonly cwd: string;
}

export interface CommandPlace {
  /** Canonical workspace root. */
  readonly root: string;
  /** The workspace as configured. */
  readonly spelling: string;
  /** Canonical working directory. */
  readonly cwd: string;
  /** Whether the agent may reach the network. */
  readonly network: boolean;
}

export type CommandVerdict = { readonly allow: true } | { readonly allow: false; readonly sentence: string };

export interface CommandLine {
  readonly program: string;
  readonly args: readonly string[];
}

export interface BashSettings {
  /** Judges each command before it runs (the shell policy). */
  checkCommand(command: string, place: CommandPlace): CommandVerdict;
  /** Seconds a command may take unless it asks for others. Default 120. */
  readonly timeoutSecs?: number;
  /** The environment of this process. Default: `process.env` at the time of the call. */
  readonly env?: Environment;
  /** Variables the providers read their keys from. */
  readonly secretNames?: Iterable<string>;
  /**
   * Wraps the command line to confine it (a sandbox).
   * @throws EngineError code `sandbox_unavailable`, whose message becomes the result
   */
  confine?(line: CommandLine, place: CommandPlace): CommandLine | Promise<CommandLine>;
}

/** Between SIGTERM and SIGKILL, and the wait for pipes after the end, in milliseconds (agent-runtime 16). */
const termGraceMs = 2_000;
const drainMs = 2_000;
const defaultTimeoutSecs = 120;

/** Runs a shell command in its own process group, which is gone when the call ends (agent-runtime 16, PL7, PL8). */
export async function runBash(input: BashInput, context: ToolContext, settings: BashSettings): Promise<ToolOutput> {
  const scope = openScope(context);
  const opened = await openWorkingFolder(input.cwd, scope);
  if (!opened.ok) {
    if (opened.output !== undefined) return opened.output;
    return errorOutput(`Working directory \`${opened.shown}\` is not an existing directory.`);
  }
  await using place = opened;
  const where = {
    root: scope.root,
    spelling: scope.configured,
    cwd: place.folder.real,
    network: context.permissions.network,
  };
  const verdict = settings.checkCommand(input.command, where);
  if (!verdict.allow) return refused(verdict.sentence);
  const env = toBashEnvironment({ env: settings.env, secretNames: settings.secretNames, cwd: place.folder.real });
  const shell = findPosixShell(env);
  if (shell === undefined) return refused(noShell);
  context.signal.throwIfAborted();
  let child: Child;
  try {
    const line = toShellLine(shell, input.command);
    const confined = await settings.confine?.(line, where);
    // why: from the handle, so that a directory replaced since it was judged is not entered; a confinement names its own
    const cwd = confined === undefined ? place.folder.self : scope.root;
    const marked = { ...env, [markerName]: context.call };
    child = await openChild({ ...(confined ?? line), cwd, env: marked, drainMs });
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return errorOutput(`The command could not be started: ${error.message}.`);
  }
  const timeoutSecs = input.timeout_secs ?? settings.timeoutSecs ?? defaultTimeoutSecs;
  return await follow(child, { timeoutSecs, marker: `${markerName}=${context.call}`, signal: context.signal });
}

const markerName = 'VIBE_BASH_CALL';

const noShell =
  'There is no POSIX shell on this machine, and the policy judges commands for such a shell only; install Git for Windows or put an `sh.exe` on the PATH.';

function refused(sentence: string): ToolOutput {
  return errorOutput(`Command denied by the security policy: ${sentence}`, { denied: true });
}

/**
 * One stream for both outputs keeps their order; `--` because a command may begin with a dash. The input is no pipe, which
 * programs such as `rg` would search in place of the directory.
 */
function toShellLine(shell: string, command: string): CommandLine {
  return { program: shell, args: ['-c', 'exec "$0" -c -- "$1" </dev/null 2>&1', shell, command] };
}

interface Watch {
  readonly timeoutSecs: number;
  readonly marker: string;
  readonly signal: AbortSignal;
}

async function follow(child: Child, watch: Watch): Promise<ToolOutput> {
  const startedAt = performance.now();
  const collector = createOutputCollector();
  child.stdout.on('data', (chunk: Buffer) => collector.add(chunk));
  child.stdout.on('error', () => {}); // a broken pipe ends the output, the exit tells the rest
  child.stdin.end();
  let timedOut = false;
  const stop = (): void => void child.stop({ exitGraceMs: 0, termGraceMs });
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, watch.timeoutSecs * 1_000);
  if (watch.signal.aborted) stop();
  else watch.signal.addEventListener('abort', stop, { once: true });
  // why: only the command can be late; what it left behind may hold its output for a while longer
  void child.exited.then(() => clearTimeout(timer));
  try {
    const exit = await child.closed;
    const strays = await endStrays(watch.marker, child.pid);
    watch.signal.throwIfAborted();
    const durationMs = Math.round(performance.now() - startedAt);
    return describe(collector.text(), {
      exitCode: exit.code,
      timedOut,
      durationMs,
      strays,
      timeoutSecs: watch.timeoutSecs,
    });
  } finally {
    clearTimeout(timer);
    watch.signal.removeEventListener('abort', stop);
  }
}

interface End {
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly timeoutSecs: number;
  readonly durationMs: number;
  readonly strays: readonly Stray[];
}

function describe(text: string, end: End): ToolOutput {
  const exitCode = end.timedOut ? null : end.exitCode;
  const outcome = end.timedOut
    ? `Command timed out after ${end.timeoutSecs} seconds and was killed.`
    : `Exit code: ${exitCode ?? 'none (terminated by a signal)'}`;
  const names = end.strays.map((stray) => `${stray.name} (${stray.pid})`).join(', ');
  const strays = names === '' ? '' : `\nStill running outside of the command's process group: ${names}`;
  const content = `${text === '' ? '(no output)' : text}\n\n${outcome}${strays}`;
  const metadata = { exit_code: exitCode, timed_out: end.timedOut, duration_ms: end.durationMs };
  return exitCode === 0 ? okOutput(content, metadata) : errorOutput(content, metadata);
}
