import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
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
  let allowed = 0;
  let started = 0;
  try {
    for (const command of commands) {
      const verdict = checkCommand(command, { root: place.workspace, network: false });
      if (!verdict.allow) continue;
      allowed += 1;
      const result = await runOne(shell, command, new Set(verdict.programs), place);
      started += result.started;
      violations.push(...result.problems.map((problem) => `${shell}: ${JSON.stringify(command)}: ${problem}`));
    }
  } finally {
    await rm(place.base, { recursive: true, force: true });
  }
  return { allowed, started, violations };
}

interface Place {
  readonly base: string;
  readonly workspace: string;
  readonly programs: string;
  readonly home: string;
  readonly log: string;
}

/** The workspace lies a few folders deep, so that what climbs out of it still ends in a folder that is looked at. */
async function createPlace(): Promise<Place> {
  const base = realpathSync(await mkdtemp(join(tmpdir(), 'shell-fuzz-')));
  const place = {
    base,
    workspace: join(base, 'up', 'workspace'),
    programs: join(base, 'bin'),
    home: join(base, 'home'),
    log: join(base, 'log'),
  };
  await mkdir(place.programs, { recursive: true });
  await mkdir(place.home);
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

async function runOne(
  shell: string,
  command: string,
  programs: ReadonlySet<string>,
  place: Place,
): Promise<{ problems: readonly string[]; started: number }> {
  const problems: string[] = [];
  await writeFile(place.log, '');
  const hasEnded =
    (await execute(shell, command, place)) || loops.test(command) || (await execute(shell, command, place));
  if (!hasEnded) problems.push('did not end');
  const calls = (await readFile(place.log, 'utf8')).split('\x01\0').filter((line) => line !== '');
  for (const call of calls) {
    const [name = '', directory = '', ...args] = call.split('\0').slice(0, -1);
    if (!programs.has(name.toLowerCase()))
      problems.push(`started \`${name}\`, which is not in ${JSON.stringify([...programs])}`);
    if (name === 'rm' || name === 'rmdir') problems.push(...strayDeletions(args, directory, place));
  }
  problems.push(...(await strayFiles(place)));
  const names = await readdir(place.workspace);
  if (names.length > 3) await resetWorkspace(place);
  return { problems, started: calls.length };
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
    [base, ['bin', 'home', 'log', 'up']],
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

/** Runs one command; false when it had to be killed. Waits for background jobs, too: they hold an inherited pipe open. */
async function execute(shell: string, command: string, place: Place): Promise<boolean> {
  const child = spawn(shell, ['-c', command], {
    argv0: 'sh',
    cwd: place.workspace,
    detached: true,
    env: { PATH: place.programs, HOME: place.home, FUZZ_LOG: place.log, FUZZ_SHELL: shell, LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  let isKilled = false;
  const timer = setTimeout(
    () => {
      isKilled = true;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    },
    loops.test(command) ? loopLimitMs : limitMs,
  );
  child.stdio[3]?.on('data', () => undefined);
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  return !isKilled;
}
