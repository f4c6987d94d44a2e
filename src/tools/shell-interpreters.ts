import { refuseOutput } from './shell-outputs.ts';
import { refuseCode, refuseCodeText } from './shell-inline-code.ts';
import { isExact, refuseTarget } from './shell-paths.ts';
import { deny, firstDenial, type Arg, type Call, type Denial, type ProgramRule } from './shell-types.ts';

/** How a language is started from the command line. */
interface Interpreter {
  /** Options that take code as their value; a cluster may end in one. */
  readonly code: readonly string[];
  /** Other options that take a value. */
  readonly values?: readonly string[];
  /** Options after which the rest is not for the interpreter (`python -m module`). */
  readonly ends?: readonly string[];
  /** Options that stand alone: with one of them, standard input is data. */
  readonly loops?: readonly string[];
  /** First operands that are commands of the tool and read no code. */
  readonly commands?: boolean;
}

const perlLike: Interpreter = { code: ['-e', '-E'], values: ['-I', '-M', '-m', '-r', '-x'], loops: ['-n', '-p'] };

const interpreters: ReadonlyMap<string, Interpreter> = new Map<string, Interpreter>([
  ['python', { code: ['-c'], values: ['-W', '-X', '--check-hash-based-pycs'], ends: ['-m'] }],
  ['pypy', { code: ['-c'], values: ['-W', '-X'], ends: ['-m'] }],
  [
    'node',
    {
      code: ['-e', '--eval', '-p', '--print', '-pe'],
      values: ['-r', '--require', '--import', '--loader', '--experimental-loader', '-C', '--conditions', '--env-file'],
      ends: ['--test', '--check', '-c'],
    },
  ],
  ['nodejs', { code: ['-e', '--eval', '-p', '--print', '-pe'], values: ['-r', '--require', '--import'] }],
  ['tsx', { code: ['-e', '--eval', '-p', '--print'], commands: true }],
  ['deno', { code: ['--eval'], commands: true }],
  ['bun', { code: ['-e', '--eval', '-p', '--print'], commands: true }],
  ['perl', perlLike],
  ['ruby', { ...perlLike, code: ['-e'] }],
  [
    'php',
    {
      code: ['-r', '-B', '-R', '-E'],
      values: ['-d', '-c', '-z', '-t', '-S'],
      ends: ['-f', '-S', '-l', '-m', '-i', '-v'],
    },
  ],
  ['lua', { code: ['-e'], values: ['-l'] }],
  ['luajit', { code: ['-e'], values: ['-l'] }],
  ['rscript', { code: ['-e'] }],
  ['r', { code: ['-e'], ends: ['CMD'] }],
  ['julia', { code: ['-e', '-E', '--eval', '--print'] }],
  ['guile', { code: ['-c'] }],
  ['tclsh', { code: [] }],
  ['gnuplot', { code: ['-e'] }],
  ['octave', { code: ['--eval'] }],
  ['ghc', { code: ['-e'], commands: true }],
  ['elixir', { code: ['-e', '--eval'] }],
  ['erl', { code: ['-eval'], commands: true }],
  ['groovy', { code: ['-e'] }],
  ['scala', { code: ['-e'] }],
  ['jshell', { code: [] }],
  ['ipython', { code: ['-c'] }],
  ['ts-node', { code: ['-e', '--eval', '-p', '--print', '-pe'], values: ['-r', '--require', '-P', '--project', '-O'] }],
  ['babel-node', { code: ['-e', '--eval', '-p', '--print'] }],
  ['coffee', { code: ['-e', '--eval'], values: ['-r', '--require'] }],
  ['raku', { code: ['-e'], values: ['-I', '-M'] }],
  ['racket', { code: ['-e', '--eval'], values: ['-l', '-t'] }],
  ['sbcl', { code: ['--eval'], values: ['--load'] }],
  ['clojure', { code: ['-e', '--eval'] }],
  ['clj', { code: ['-e', '--eval'] }],
  ['bb', { code: ['-e', '--eval'] }],
  ['runghc', { code: ['-e'] }],
  ['csi', { code: ['-e', '-p'] }],
]);

/** Languages in which nothing inline is accepted: their one-liners exist to drive other programs. */
const drivers = new Set(['expect', 'osascript', 'wish', 'autoexpect']);

export function interpreterRule(program: string): ProgramRule | undefined {
  if (drivers.has(program)) return refuseDriver;
  const base = program.replace(/[\d.]+$/, '');
  const interpreter = interpreters.get(program) ?? (base === program ? undefined : interpreters.get(base));
  return interpreter === undefined ? undefined : (call) => refuseInterpreter(call, interpreter);
}

function refuseDriver({ program, args }: Call): Denial | undefined {
  const bad = args.find((arg) => arg.maySteer || /^-(?:\w*[ceNi]|b?-)$|^-$/.test(arg.text) || /^-[ce]/.test(arg.text));
  if (args.length > 0 && bad === undefined) return undefined;
  return deny('inline_code', `\`${program}\` with an inline script cannot be checked; put the script into a file.`);
}

function refuseInterpreter(call: Call, interpreter: Interpreter): Denial | undefined {
  const { program, args } = call;
  if (/^(?:perl|ruby)/.test(program)) {
    const denial = refuseFiles(call);
    if (denial !== undefined) return denial;
  }
  let isLoop = false;
  let hasCode = false;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined) break;
    const { text } = arg;
    if (arg.maySteer && arg.place === undefined) {
      return deny('inline_code', `\`${text}\` may hold code for \`${program}\`; write its arguments out.`);
    }
    if (fromElsewhere.test(text)) return refuseLoaded(text, program);
    if (text === '-') return refuseInput(call, isLoop || hasCode);
    if (text === '--') return hasCode || index + 1 < args.length ? undefined : refuseInput(call, isLoop);
    if (!text.startsWith('-')) {
      if (interpreter.commands === true || !hasCode)
        return interpreter.commands === true ? refuseEval(call, index) : refuseOddFile(text, program);
      continue;
    }
    if (/perl|ruby/.test(program)) {
      // `-M'strict;…'` is code as well.
      const denial = refuseCodeText(text, program);
      if (denial !== undefined) return denial;
    }
    if (
      interpreter.values?.some((option) => option.length === 2 && text.length > 2 && text.startsWith(option)) === true
    )
      continue;
    if (/^python|^pypy/.test(program) && /^-[a-zA-Z]*m/.test(text))
      return refuseModule(call, args.slice(index + 1), text);
    if (
      interpreter.ends?.some((option) => text === option || (option.length === 2 && text.startsWith(option))) === true
    )
      return undefined;
    if (/^(?:--version|--help|-V|-v|-h|--v8-options)$/.test(text)) return undefined;
    const code = codeIn(arg, args[index + 1], interpreter);
    if (code !== undefined) {
      hasCode = true;
      const denial = refuseCode(code.text, program);
      if (denial !== undefined) return denial;
      index += code.words - 1;
      continue;
    }
    isLoop ||= interpreter.loops?.some((option) => new RegExp(`^-[a-z0-9]*${option.charAt(1)}`).test(text)) === true;
    if (interpreter.values?.includes(text) === true) {
      index += 1;
      const value = args[index]?.text ?? '';
      if (fromElsewhere.test(value)) return refuseLoaded(value, program);
    }
  }
  return hasCode ? undefined : refuseInput(call, isLoop);
}

/** Code that is in the argument itself, or on another machine. */
const fromElsewhere = /(?:^|=)(?:data:|https?:\/\/)/i;

function refuseLoaded(text: string, program: string): Denial {
  return deny('inline_code', `\`${program}\` would load code from \`${text}\`; put it into a file and run that.`);
}

/** `python -m module`: some modules run code that their arguments hold, or write the files they name. */
function refuseModule(call: Call, rest: readonly Arg[], option: string): Denial | undefined {
  const { program } = call;
  const attached = option.replace(/^-[a-zA-Z]*?m/, '');
  const [name, args] = attached === '' ? [rest[0]?.text, rest.slice(1)] : [attached, rest];
  if (/^(?:timeit|pdb)$/.test(name ?? '')) return firstDenial(args, (arg) => refuseCode(arg, program));
  if (!/^(?:zipfile|tarfile|zipapp|venv|virtualenv|compileall|json\.tool)$/.test(name ?? '')) return undefined;
  const files = args.filter(({ text: word, isUnknown }) => !isUnknown && !word.startsWith('-'));
  return firstDenial(files, (file) => refuseOutput(file, call));
}

/** `perl -ne … '| id'` opens a pipe, and `-i` rewrites the files it is given. */
function refuseFiles({ program, args, scene }: Call): Denial | undefined {
  const pipe = args.find(({ text }) => /^\s*\||^[^-].*\|\s*$/s.test(text));
  if (pipe !== undefined) return refuseLoaded(pipe.text, program);
  const inPlace = args.find(
    ({ text }) => /^-[a-z0-9]*i/.test(text) && !/^-[a-z0-9]*[IMmeExXdD]/.test(text.split('i')[0] ?? ''),
  );
  if (inPlace === undefined) return undefined;
  const outside = [inPlace, ...args].filter(({ text, isUnknown }) => !isUnknown && /^[^-]|^-\w*i\S*\//.test(text));
  return firstDenial(outside, (file) =>
    /^(?:\.\.?|~)?\/|\/\.\.(?:\/|$)|^-.*\//.test(file.text)
      ? refuseTarget({ ...file, text: file.text.replace(/^-\w*?i/, '') }, scene, {
          rule: 'writes',
          by: `${program} -i`,
          does: 'write',
          exact: false,
        })
      : undefined,
  );
}

/** Code in an option: the next word, what is attached, or the end of a cluster (`-ne`, `-pie`). */
function codeIn(
  arg: Arg,
  next: Arg | undefined,
  { code }: Interpreter,
): { text: Arg | undefined; words: number } | undefined {
  const { text } = arg;
  if (code.includes(text)) return { text: next, words: 2 };
  if (text.startsWith('--')) {
    const [name = '', ...rest] = text.split('=');
    if (!code.some((option) => option === name)) return undefined;
    return { text: { ...arg, text: rest.join('=') }, words: 1 };
  }
  for (const option of code.filter((each) => each.length === 2)) {
    const at = text.indexOf(option.charAt(1), 1);
    if (at < 1 || !/^-[\w.]*$/.test(text.slice(0, at + 1))) continue;
    const rest = text.slice(at + 1);
    // Attached code, or a cluster in which the letter means something else: judged as code either way.
    return rest === '' ? { text: next, words: 2 } : { text: { ...arg, text: rest }, words: 1 };
  }
  return undefined;
}

function refuseEval({ program, args }: Call, index: number): Denial | undefined {
  const [command, ...rest] = args.slice(index);
  const loaded = [command, ...rest].slice(0, 4).find((arg) => arg !== undefined && fromElsewhere.test(arg.text));
  if (loaded !== undefined && /^(?:run|serve|test|bench|install|x|dlx)$|:/.test(command?.text ?? ''))
    return refuseLoaded(loaded.text, program);
  if (!/^(?:eval|repl)$/.test(command?.text ?? '')) return undefined;
  return firstDenial(rest, (arg) => refuseCode(arg, program));
}

/** A script by path is the user's; `/dev/stdin` is not one. */
function refuseOddFile(text: string, program: string): Denial | undefined {
  return /^\/(?:dev|proc)\//.test(text)
    ? deny('inline_code', `\`${program}\` would read code from \`${text}\`; put it into a file.`)
    : undefined;
}

function refuseInput({ program, scene }: Call, isData: boolean): Denial | undefined {
  const { input } = scene;
  // A file is the user's, as a script would be.
  if (isData || input.kind === 'closed' || input.kind === 'file') return undefined;
  if (input.kind === 'text' && input.text !== undefined) return refuseCodeText(input.text, program);
  const [stage, ...more] = input.kind === 'pipe' ? input.stages : [];
  const [name, ...words] = stage ?? [];
  if (more.length === 0 && words.length > 0 && words.every((word) => !word.isComputed)) {
    if (name?.text === 'cat' && words.every((word) => isExact(word) && !word.text.startsWith('-'))) return undefined;
    const text = words.map((word) => word.text).join(' ');
    if (/^(?:echo|printf)$/.test(name?.text ?? '') && !/\\[0x]/.test(text)) return refuseCodeText(text, program);
  }
  return deny('inline_code', `\`${program}\` would read code from standard input; put it into a file and run that.`);
}
