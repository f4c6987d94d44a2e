import { parseOptions } from './shell-options.ts';
import { refuseTarget } from './shell-paths.ts';
import { deny, firstDenial, type Arg, type Call, type Denial } from './shell-types.ts';
import { unclearTarget } from './shell-writers.ts';

/** A substitution or transliteration and nothing behind it; the new name stays in its folder. */
const substitution = /^(?:s|y|tr)([/,:#|!%])((?:\\.|(?!\1)[^\\])*)\1((?:\\[^/]|(?!\1)[^\\/])*)\1[gimsxr]*$/s;
/** What runs code inside of a pattern or its replacement. */
const codeInside = /\(\?\??\{|[@$]\{|\$\(/;
/** Words that Perl takes for more than a name. */
const perlWord = /^(?:unlink|rmdir|exec|system|do|require|use|eval|kill|fork|chroot|dump|exit|die|open|qx)\b/;

/** `rename`: one of two programs, and one of them takes its first operand for Perl code (CP4). */
export function refuseRename({ program, args, scene }: Call): Denial | undefined {
  const parsed = parseOptions(args, { values: 'eE', longValues: ['--expr', '--expression'] });
  if (parsed.unclear !== undefined && parsed.unclear === parsed.operands[0])
    return unclearTarget(parsed.unclear, program);
  const given = parsed.options.flatMap(({ name, value }) => (/^-[eE]|^--e/.test(name) ? (value ?? []) : []));
  const codes = given.length > 0 ? given : parsed.operands.slice(0, 1);
  const files = given.length > 0 ? parsed.operands : parsed.operands.slice(1);
  return (
    firstDenial(codes, (code) => refuseCode(code, program)) ??
    firstDenial(files, (file) =>
      refuseTarget(file, scene, { rule: 'writes', by: program, does: 'write', exact: false }),
    )
  );
}

function refuseCode(code: Arg, program: string): Denial | undefined {
  const { text } = code;
  const isPlainWord = /^[\w.,+@ -]*$/.test(text) && !perlWord.test(text);
  const isPlain = isPlainWord || (substitution.test(text) && !codeInside.test(text));
  if (isPlain && !code.isComputed) return undefined;
  return deny(
    'options',
    `\`${program}\` takes \`${text}\` for code; use a plain substitution such as \`s/old/new/\`, or \`mv\`.`,
  );
}
