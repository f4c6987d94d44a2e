import { programName, refuseProgram } from './shell-judge.ts';
import { isExact, resolveIn } from './shell-paths.ts';
import { deny, type Arg, type Call, type Denial, type Scene } from './shell-types.ts';

export function refuseStandardInput(program: string): Denial {
  return deny(
    'shells',
    `\`${program}\` would read commands from standard input; give it the text as an argument or a script file.`,
  );
}

/** A file of commands: named in full, there before the line runs, and no way around to standard input (rule 8, CP4). */
export function refuseScriptFile(file: Arg, { program, scene }: Call): Denial | undefined {
  if (!isExact(file) || file.place !== undefined || file.text === '') {
    return deny('shells', `The script \`${file.text}\` for \`${program}\` is not an exact path; name the file.`);
  }
  const paths = scene.directories.map((directory) => resolveIn(scene.policy, directory, file.text));
  if (file.text === '-' || paths.some((path) => /^\/(?:dev|proc)(?:\/|$)/.test(path)))
    return refuseStandardInput(program);
  noteScript(paths, file.text, program, scene);
  return undefined;
}

/**
 * A script for a shell. Without a slash it may be found on the PATH, so that a program that happens to be a script runs under
 * its own name; with one it still is that program.
 */
export function refuseShellScript(file: Arg, call: Call): Denial | undefined {
  const { ledger, policy } = call.scene;
  const denial = refuseScriptFile(file, call);
  if (denial !== undefined) return denial;
  const program = programName(file.text);
  ledger.programs.add(program);
  // An allowlist admits programs; which scripts an admitted shell runs is not its matter.
  return refuseProgram(program, { ...policy, allowed: undefined });
}

/** The line must not write a file that it also runs; known when all of it has been seen. */
export function noteScript(paths: readonly string[], text: string, program: string, scene: Scene): void {
  scene.ledger.scripts.push({
    paths,
    denial: deny(
      'shells',
      `\`${text}\` is written by the same command that runs it with \`${program}\`; write it first and run it in a second call.`,
    ),
  });
}
