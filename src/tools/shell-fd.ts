import { withPlace } from './shell-found.ts';
import { refuseManyPaths, resolveIn } from './shell-paths.ts';
import {
  deny,
  elsewhere,
  literalArg,
  unknownArg,
  type Arg,
  type Denial,
  type Place,
  type ProgramRule,
  type Scene,
} from './shell-types.ts';

/** `fd`: the command it runs for what it finds (CP4). */
export const refuseFd: ProgramRule = ({ program, args, scene }) => {
  const at = args.findIndex(({ text }) => /^-[a-zA-Z]*[xX]|^--exec(?:-batch)?(?:=|$)/.test(text));
  const unclear = args.slice(0, at < 0 ? undefined : at).find((arg) => arg.maySteer && arg.place === undefined);
  if (unclear !== undefined) {
    return deny('options', `\`${unclear.text}\` may add any option to \`${program}\`; write its arguments out.`);
  }
  const option = args[at];
  if (option === undefined) return undefined;
  if (!/^(?:-[a-zA-Z]*[xX]|--exec|--exec-batch)$/.test(option.text)) {
    return deny('options', `\`${option.text}\` hides the command that \`${program}\` runs; write it after \`-x\`.`);
  }
  const rest = args.slice(at + 1);
  const end = rest.findIndex(({ text }) => text === ';');
  const command = end < 0 ? rest : rest.slice(0, end);
  const place = placeOf([...args.slice(0, at + 1), ...(end < 0 ? [] : rest.slice(end + 1))], scene);
  return refuseManyPaths(scene, 'options') ?? refuseRun(command, place, scene);
};

/** Below every folder that is named; hidden files stay out unless it is told otherwise. */
function placeOf(args: readonly Arg[], scene: Scene): Place | undefined {
  const has = (pattern: RegExp): boolean => args.some(({ text }) => pattern.test(text));
  if (has(/^-[a-zA-Z]*L|^--follow$/) || args.some((arg) => arg.isUnknown)) return undefined;
  const operands = args.filter(({ text }) => !text.startsWith('-')).map(({ text }) => text);
  const attached = args.flatMap(({ text }) => /^--(?:search-path|base-directory)=(.*)$/.exec(text)?.[1] ?? []);
  // A pattern resolves to some path inside; whether an operand is one or a folder makes no difference here.
  const roots = ['.', ...operands, ...attached].flatMap((path) =>
    scene.directories.map((from) => resolveIn(scene.policy, from, path)),
  );
  return { roots, reachesProtected: has(/^-[a-zA-Z]*[Hu]|^--(?:hidden|unrestricted)$/) };
}

function refuseRun(command: readonly Arg[], place: Place | undefined, scene: Scene): Denial | undefined {
  const mark = /\{(?:\/{0,2}|\/?\.)\}/;
  const words = command.some(({ text }) => mark.test(text)) ? command : [...command, literalArg('{}')];
  return scene.run(
    words.map((arg) => {
      const placed = withPlace(arg, '{}', place);
      return placed === arg && mark.test(arg.text) ? unknownArg(arg.text) : placed;
    }),
    elsewhere(scene),
  );
}
