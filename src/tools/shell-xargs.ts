import { withPlace } from './shell-found.ts';
import { mayMean, parseOptions } from './shell-options.ts';
import { pipedArguments } from './shell-sources.ts';
import { deny, elsewhere, unknownArg, type Arg, type ProgramRule, type Scene } from './shell-types.ts';

const switches = [
  '-0',
  '-r',
  '-t',
  '-p',
  '-x',
  '-o',
  '--null',
  '--no-run-if-empty',
  '--verbose',
  '--interactive',
  '--exit',
  '--open-tty',
];
const short = { values: 'adEILnPsRJ', attached: 'eil' };
const long = ['--arg-file', '--delimiter', '--max-chars', '--max-args', '--max-procs', '--process-slot-var'];
const longOptional = ['--replace', '--max-lines', '--eof'];

/** `xargs`: the command it runs, with what comes in through the pipe at its end (rule 6). */
export const refuseXargs: ProgramRule = ({ args, scene }) => {
  if (args.length === 1 && /^--(?:help|version)$/.test(args[0]?.text ?? '')) return undefined;
  const parsed = parseOptions(args, { ...short, longValues: long, stops: true });
  const { options, operands: command, unclear } = parsed;
  const unknown = options.find(({ name, value }) => !isKnown(name, value));
  if (unknown !== undefined || unclear !== undefined) {
    const shown = unknown?.name ?? unclear?.text ?? '';
    return deny(
      'wrappers',
      `\`${shown}\` is not checked as an option of \`xargs\`; use \`-0\`, \`-n\`, \`-I\` and the like.`,
    );
  }
  if (command.length === 0) return undefined;
  const fed = options.some(({ name, value }) => readsOtherwise(name, value)) ? [unknownArg('…')] : fedArguments(scene);
  const replace = options.find(({ name }) => /^-[IiJ]$/.test(name) || mayMean(name, '--replace'));
  const inner = elsewhere({ ...scene, input: { kind: 'closed' } });
  if (replace === undefined) return scene.run([...command, ...fed], inner);
  const place = fed.length === 1 ? fed[0]?.place : undefined;
  return scene.run(
    command.map((arg) => withPlace(arg, replace.value?.text ?? '{}', place)),
    inner,
  );
};

function isKnown(name: string, value: Arg | undefined): boolean {
  if (!name.startsWith('--'))
    return switches.includes(name) || (short.values + short.attached).includes(name.charAt(1));
  if (switches.includes(name) || longOptional.some((full) => mayMean(name, full))) return true;
  return value !== undefined && long.some((full) => mayMean(name, full));
}

/** The lines come from a file, or are cut at other places than blanks and line ends. */
function readsOtherwise(name: string, value: Arg | undefined): boolean {
  if (name === '-a' || mayMean(name, '--arg-file')) return true;
  return (name === '-d' || mayMean(name, '--delimiter')) && value?.text !== '\\n' && value?.text !== '\\0';
}

function fedArguments(scene: Scene): readonly Arg[] {
  return scene.input.kind === 'closed' ? [] : (pipedArguments(scene) ?? [unknownArg('…')]);
}
