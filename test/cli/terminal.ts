import { spawn, spawnSync } from 'node:child_process';
import { buildCommandLine } from './built.ts';
import { cleanEnvironment, type Finished, type Stage, watch } from './command.ts';

/** Whether this machine has util-linux `script`. */
export const hasTerminals = spawnSync('script', ['--version'], { stdio: 'ignore' }).status === 0;

/** Runs the command line on a real pseudo-terminal (through util-linux `script`) and types `input` once it asks. */
export async function runInTerminal(
  stage: Pick<Stage, 'root' | 'configDir'>,
  args: readonly string[],
  input: string,
): Promise<Finished> {
  const quoted = [process.execPath, await buildCommandLine(), ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', quoted, '/dev/null'], {
    cwd: stage.root,
    env: { ...cleanEnvironment(), VIBE_CONFIG_HOME: stage.configDir, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const started = watch(child);
  await started.said('[y/N');
  child.stdin.write(input);
  const finished = await started.finished;
  child.stdin.end();
  return finished;
}
