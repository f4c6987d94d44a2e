import { refuseTarget, resolveIn } from './shell-paths.ts';
import { deny, type Call, type Denial } from './shell-types.ts';

/** `cd`, `pushd`: to an exact directory inside the workspace (rule 6). */
export function refuseChange({ program, args, scene }: Call): Denial | undefined {
  const isOption = (text: string): boolean => (program === 'pushd' ? text === '-n' : /^-[LPe@]+$/.test(text));
  const start = args.findIndex((arg) => arg.isComputed || !isOption(arg.text));
  let words = start < 0 ? [] : args.slice(start);
  if (words[0]?.text === '--') words = words.slice(1);
  const [target, ...more] = words;
  if (target === undefined || more.length > 0 || /^[-+]/.test(target.text)) {
    return deny(
      'directories',
      `\`${program}\` needs one directory that is written out; name one inside the workspace.`,
    );
  }
  const denial = refuseTarget(target, scene, { rule: 'directories', by: program, does: 'enter', exact: true });
  if (denial !== undefined) return denial;
  scene.move(scene.directories.map((directory) => resolveIn(scene.policy, directory, target.text)));
  return undefined;
}

/** `popd` leads back to some directory the line has been in. */
export function refuseReturn({ program, args, scene }: Call): Denial | undefined {
  if (args.length > 0)
    return deny('directories', `\`${program}\` is only checked without arguments; use \`cd\` with a directory.`);
  scene.move([...scene.ledger.directories]);
  return undefined;
}

/** After `exit` nothing runs any more in this shell. */
export function noteExit({ args, scene }: Call): Denial | undefined {
  if (args.every((arg) => /^\d+$/.test(arg.text) || arg.text === '$?')) scene.move([]);
  return undefined;
}
