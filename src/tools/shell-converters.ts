import { findOption, parseOptions } from './shell-options.ts';
import { refuseOutput } from './shell-outputs.ts';
import { refuseTarget } from './shell-paths.ts';
import { deny, firstDenial, type Arg, type Call, type Denial, type ProgramRule } from './shell-types.ts';
import { unclearTarget } from './shell-writers.ts';

/** Which arguments of a converter may be what it writes. */
type Outputs = (args: readonly Arg[]) => readonly (Arg | undefined)[];

const last: Outputs = (args) => (args.length > 1 ? [args.at(-1)] : []);
const all: Outputs = (args) => args;
const afterFirst: Outputs = (args) => args.slice(1);
/** Every argument but what `-i` reads. */
const allButInputs: Outputs = (args) => args.filter((_, index) => args[index - 1]?.text !== '-i');

function each(names: string, outputs: Outputs): readonly (readonly [string, ProgramRule])[] {
  return names.split(/\s+/).map((name) => [name, (call: Call) => refuseConverter(call, outputs)] as const);
}

/** Programs that name what they write without an option, or by one that only they have (CP7). */
export const converterRules: ReadonlyMap<string, ProgramRule> = new Map<string, ProgramRule>([
  ...each('ffmpeg avconv', allButInputs),
  ...each('convert magick gm composite montage stream import', last),
  ...each(
    'qpdf pdftotext pdftohtml pdftoppm pdftocairo pdfimages pdfunite pdfseparate ps2pdf pdf2ps lame opusenc',
    last,
  ),
  ...each('sox ffmpeg2theora', afterFirst),
  ...each('mogrify optipng jpegoptim', all),
  ['gs', refuseNamed(/^-sOutputFile=/)],
  ['protoc', refuseNamed(/^--\w+_out=(?:[^/.]*:)?/)],
  ['ssh-keygen', refuseKeygen],
]);

function refuseConverter(call: Call, outputs: Outputs): Denial | undefined {
  const { program, args } = call;
  const starter = args.find(({ text }) => /^(?:\||msl:|ephemeral:)/i.test(text));
  if (starter !== undefined) {
    return deny('options', `\`${starter.text}\` makes \`${program}\` start a program or obey a script; name a file.`);
  }
  return firstDenial(
    outputs(args).flatMap((arg) => arg ?? []),
    // why: most arguments are settings, and a computed one is no sign that it is a path
    (arg) => (arg.text.startsWith('-') || arg.maySteer ? undefined : refuseOutput(arg, call)),
  );
}

function refuseNamed(option: RegExp): ProgramRule {
  return (call) =>
    firstDenial(call.args, (arg) => {
      const found = option.exec(arg.text);
      return found === null ? undefined : refuseOutput({ ...arg, text: arg.text.slice(found[0].length) }, call);
    });
}

/** Modes that write nothing. */
const keygenReads = ['-l', '-L', '-y', '-B', '-e', '-i', '-F', '-Q', '-r', '-Y'];

/** `ssh-keygen`: the key it writes, which is one of the user's unless a file is named. */
function refuseKeygen({ program, args, scene }: Call): Denial | undefined {
  const parsed = parseOptions(args, { values: 'abCDEFfIJjmMnNOPQrRsStTVwWYZz' });
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const library = findOption(parsed, '-D', '-w');
  if (library !== undefined) {
    return deny('options', `\`${library.name}\` makes \`${program}\` load code; run it without.`);
  }
  if (findOption(parsed, ...keygenReads) !== undefined) return undefined;
  const file = findOption(parsed, '-f')?.value;
  const written = findOption(parsed, '-s') === undefined ? [file] : parsed.operands;
  return firstDenial(written, (target) =>
    target === undefined
      ? deny(
          'writes',
          `\`${program}\` writes to \`~/.ssh\` when no file is named; name one inside the workspace with \`-f\`.`,
        )
      : refuseTarget(target, scene, { rule: 'writes', by: program, does: 'write', exact: true }),
  );
}
