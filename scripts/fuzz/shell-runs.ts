import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { join, posix } from 'node:path';
import { existsSync, realpathSync } from 'node:fs';
import fc from 'fast-check';
import { checkCommand } from '../../src/tools/shell-policy.ts';
import { shellCommands, stubNames, wrapperNames } from './shell-commands.ts';

export interface ShellFuzzReport {
  readonly generated: number;
  readonly allowed: number;
  /** Programs that the shells started while they ran allowed commands. */
  readonly started: number;
  /** One line for each command with which a shell did what the policy did not foresee. */
  readonly violations: readonly string[];
}

/** A run that takes longer twice is a violation: no generated command has a reason to, but a busy machine may stall one. */
const limitMs = 20_000;

/** A loop may well have a condition that always holds; it is ended, and what it started counts. */
const loops = /\b(?:while|until)\b/;
const loopLimitMs = 2_000;

/**
 * F3 (reliability section 14): every generated command that the policy allows is run by the shells of this machine in an empty
 * folder where each program is a stub that writes down its name and arguments.
 */
export async function fuzzShell(options: { count: number; seed: number }): Promise<ShellFuzzReport> {
  const shells = ['/bin/sh', '/bin/bash'].filter((path) => existsSync(path));
  const commands = fc.sample(shellCommands, { numRuns: options.count, seed: options.seed });
  const reports = await Promise.all(shells.map(async (shell) => runAll(shell, commands)));
  return {
    generated: commands.length,
    allowed: Math.max(...reports.map((report) => report.allowed)),
    started: reports.reduce((sum, report) => sum + report.started, 0),
    violations: reports.flatMap((report) => report.violations),
  };
}

/** Runs the commands one after the other, in a place of their own for each shell. */
async function runAll(
  shell: string,
  commands: readonly string[],
): Promise<{ allowed: number; started: number; violations: readonly string[] }> {
  const place = await createPlace();
  const violations: string[] = [];
  const runs: Run[] = [];
  try {
    for (const command of commands) {
      const verdict = checkCommand(command, { root: place.workspace, network: false });
      if (!verdict.allow) continue;
      const run: Run = {
        command,
        programs: new Set(verdict.programs),
        log: join(place.logs, `${runs.length}`),
        calls: 0,
      };
      runs.push(run);
      violations.push(...describe(shell, run, await runOne(shell, run, place)));
    }
    // What left its process group and closed all it inherited may have gone on after its command was judged.
    for (const run of runs) violations.push(...describe(shell, run, await judgeCalls(run, place)));
  } finally {
    await rm(place.base, { recursive: true, force: true });
  }
  return { allowed: runs.length, started: runs.reduce((sum, run) => sum + run.calls, 0), violations };
}

/** One allowed command. What it starts writes into a log of its own, so that nothing is charged to another one. */
interface Run {
  readonly command: string;
  readonly programs: ReadonlySet<string>;
  readonly log: string;
  /** How many calls in the log have been judged. */
  calls: number;
}

function describe(shell: string, { command }: Run, problems: readonly string[]): readonly string[] {
  return problems.map((problem) => `${shell}: ${JSON.stringify(command)}: ${problem}`);
}

interface Place {
  readonly base: string;
  readonly workspace: string;
  readonly programs: string;
  readonly home: string;
  readonly logs: string;
}

/** The workspace lies a few folders deep, so that what climbs out of it still ends in a folder that is looked at. */
async function createPlace(): Promise<Place> {
  const base = realpathSync(await mkdtemp(join(tmpdir(), 'shell-fuzz-')));
  const place = {
    base,
    workspace: join(base, 'up', 'workspace'),
    programs: join(base, 'bin'),
    home: join(base, 'home'),
    logs: join(base, 'logs'),
  };
  await mkdir(place.programs, { recursive: true });
  await mkdir(place.home);
  await mkdir(place.logs);
  await writeFile(join(place.programs, '.stub'), `#!/bin/sh\n${logLine}`);
  await chmod(join(place.programs, '.stub'), 0o755);
  for (const name of stubNames) await symlink('.stub', join(place.programs, name));
  for (const name of wrapperNames) {
    const real = name === 'sh' ? '"$FUZZ_SHELL"' : `${name === 'bash' ? '/bin' : '/usr/bin'}/${name}`;
    await writeFile(join(place.programs, name), `#!/bin/sh\n${logLine}exec ${real} "$@"\n`);
    await chmod(join(place.programs, name), 0o755);
  }
  await resetWorkspace(place);
  return place;
}

// why: in one write, because what runs in the background writes beside the others
const logLine = `printf '%s\\0' "\${0##*/}" "$PWD" "$@" '\x01' >> "$FUZZ_LOG"\n`;

async function resetWorkspace({ workspace }: Place): Promise<void> {
  await rm(workspace, { recursive: true, force: true });
  await mkdir(join(workspace, '.git'), { recursive: true });
  await mkdir(join(workspace, 'src'));
  await writeFile(join(workspace, 'in'), 'a\n');
}

async function runOne(shell: string, run: Run, place: Place): Promise<readonly string[]> {
  const { command } = run;
  await writeFile(run.log, '');
  const hasEnded = (await execute(shell, run, place)) || loops.test(command) || (await execute(shell, run, place));
  const problems = hasEnded ? [] : ['did not end'];
  problems.push(...(await judgeCalls(run, place)), ...(await strayFiles(place)));
  const names = await readdir(place.workspace);
  if (names.length > 3) await resetWorkspace(place);
  return problems;
}

/** What is wrong with the calls in the log that were not judged before. */
async function judgeCalls(run: Run, place: Place): Promise<readonly string[]> {
  const problems: string[] = [];
  const calls = (await readFile(run.log, 'utf8')).split('\x01\0').filter((line) => line !== '');
  for (const call of calls.slice(run.calls)) {
    const [name = '', directory = '', ...args] = call.split('\0').slice(0, -1);
    if (!run.programs.has(name.toLowerCase()) && !isStartFile(name, args))
      problems.push(`started \`${name}\`, which is not in ${JSON.stringify([...run.programs])}`);
    if (name === 'rm' || name === 'rmdir') problems.push(...strayDeletions(args, directory, place));
  }
  run.calls = calls.length;
  return problems;
}

/** A login shell (`bash -l`) reads `/etc/profile`, which asks for the user on Debian and its kin: the machine's, not the line's. */
function isStartFile(name: string, args: readonly string[]): boolean {
  return name === 'id' && args.length === 1 && args[0] === '-u';
}

function strayDeletions(args: readonly string[], directory: string, { workspace }: Place): readonly string[] {
  return args
    .filter((arg) => !arg.startsWith('-'))
    .map((arg) => posix.resolve(directory, arg))
    .filter((path) => !path.startsWith(`${workspace}/`))
    .map((path) => `would delete ${path}`);
}

async function strayFiles({ base, workspace, home }: Place): Promise<readonly string[]> {
  const expected: readonly (readonly [string, readonly string[]])[] = [
    [base, ['bin', 'home', 'logs', 'up']],
    [join(base, 'up'), ['workspace']],
    [home, []],
    [join(workspace, '.git'), []],
  ];
  const problems: string[] = [];
  for (const [folder, names] of expected) {
    for (const name of (await readdir(folder)).filter((each) => !names.includes(each))) {
      problems.push(`created ${join(folder, name)}`);
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }
  return problems;
}

/** Runs one command; false when it had to be killed. Ends with all of its process group and what holds its pipe open. */
async function execute(shell: string, run: Run, place: Place): Promise<boolean> {
  const child = spawn(shell, ['-c', run.command], {
    argv0: 'sh',
    cwd: place.workspace,
    detached: true,
    env: { PATH: place.programs, HOME: place.home, FUZZ_LOG: run.log, FUZZ_SHELL: shell, LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const { pid } = child;
  let isKilled = false;
  const timer = setTimeout(
    () => {
      isKilled = true;
      if (pid !== undefined) signalGroup(pid, 'SIGKILL');
    },
    loops.test(run.command) ? loopLimitMs : limitMs,
  );
  child.stdio[3]?.on('data', () => undefined);
  await new Promise((resolve) => child.once('close', resolve));
  // A background job that closed the pipe is still in the group.
  while (pid !== undefined && signalGroup(pid, 0)) await sleep(2);
  clearTimeout(timer);
  return !isKilled;
}

/** False when nobody is left in the group. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
