import { isExact } from './shell-paths.ts';
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
  ['deno', { code: [], commands: true }],
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
  let isLoop = false;
  let hasCode = false;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined) break;
    const { text } = arg;
    if (arg.maySteer && arg.place === undefined) {
      return deny('inline_code', `\`${text}\` may hold code for \`${program}\`; write its arguments out.`);
    }
    if (text === '-') return refuseInput(call, isLoop || hasCode);
    if (text === '--') return hasCode || index + 1 < args.length ? undefined : refuseInput(call, isLoop);
    if (!text.startsWith('-')) {
      if (interpreter.commands === true || !hasCode)
        return interpreter.commands === true ? refuseEval(call, index) : refuseOddFile(text, program);
      continue;
    }
    if (/perl|ruby/.test(program)) {
      // `-M'strict;…'` is code as well.
      const denial = refuseText(text, program);
      if (denial !== undefined) return denial;
    }
    if (
      interpreter.values?.some((option) => option.length === 2 && text.length > 2 && text.startsWith(option)) === true
    )
      continue;
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
    if (interpreter.values?.includes(text) === true) index += 1;
  }
  return hasCode ? undefined : refuseInput(call, isLoop);
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
  if (command?.text !== 'eval') return undefined;
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
  if (input.kind === 'text' && input.text !== undefined) return refuseText(input.text, program);
  const [stage, ...more] = input.kind === 'pipe' ? input.stages : [];
  const [name, ...words] = stage ?? [];
  if (more.length === 0 && words.length > 0 && words.every((word) => !word.isComputed)) {
    if (name?.text === 'cat' && words.every((word) => isExact(word) && !word.text.startsWith('-'))) return undefined;
    const text = words.map((word) => word.text).join(' ');
    if (/^(?:echo|printf)$/.test(name?.text ?? '') && !/\\[0x]/.test(text)) return refuseText(text, program);
  }
  return deny('inline_code', `\`${program}\` would read code from standard input; put it into a file and run that.`);
}

function refuseCode(code: Arg | undefined, program: string): Denial | undefined {
  if (code === undefined) return undefined;
  if (code.isOpen)
    return deny('inline_code', `The code for \`${program}\` is computed; write it out or put it into a file.`);
  return refuseText(code.text, program);
}

/** Ways to start programs, delete files or hide code, in the languages above. */
const suspicious = new RegExp(
  [
    String.raw`(?<!\bplatform\.)\bsystem\b|\bpopen|\bsubprocess|(?<![.\w])exec[lvpe]*\s*["'([{]|\bos\.exec|\bspawn|\bfork\b|\bposix_|\bpty\b|\bctypes\b`,
    String.raw`\bchild_process|\bworker_threads|\bexeca\b|\bshelljs|\bBun\.(?:spawn|\$)|\bDeno\.(?:run|Command)|\bprocess\.(?:binding|dlopen|kill)`,
    String.raw`\bopen3?[\s(]*["'][^"'\n]*\||\bIO\.popen|\bKernel\b|\bProcess\.|\bshell_exec|\bpassthru|\bproc_open|\bpcntl_|\bos\.execute`,
    String.raw`\brmtree|\bos\.(?:remove|unlink|rmdir|removedirs|kill|chmod|chown|putenv|setuid)|\bunlink|\brmdir|\brmSync|\.rm\b|\bFile\.delete|\bFileUtils|\bremove_tree`,
    String.raw`\b(?:__import__|importlib|__builtins__|marshal|pickle)|\beval\b|\bglobals\s*\(|\bgetattr\s*\(|(?<![.\w])compile\s*\(|\bFunction\s*\(`,
    String.raw`\brequire\s*\(\s*[^'"\s]|\bimport\s*\(\s*[^'"\s]`,
  ].join('|'),
);

/** What starts programs in one language and is harmless in others. */
const byLanguage: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:perl|ruby|php|julia)/, /`|\bqx\b|%x\W/],
  [/^tclsh/, /\bexec\b|\bopen\s+["{]?\|/],
  [/^gnuplot/, /[!`]|["']\s*<|\bload\b/],
  [/^groovy/, /\.execute\b|ProcessBuilder/],
  [/^(?:elixir|erl)/, /\bcmd\b/],
  [/^(?:scala|jshell|ghc)/, /process|Runtime/i],
  [/^(?:r|rscript|octave)/, /\bsystem2\b|\bshell\b/],
];

function refuseText(text: string, program: string): Denial | undefined {
  const own = byLanguage.find(([language]) => language.test(program))?.[1];
  const found = suspicious.exec(text)?.[0] ?? own?.exec(text)?.[0] ?? writesOutside(text);
  if (found === undefined) return undefined;
  return deny(
    'inline_code',
    `The inline code for \`${program}\` uses \`${found.trim()}\`, which cannot be checked; put it into a script file or use the shell's own commands.`,
  );
}

/** A file opened for writing by a path that leaves the workspace is seen by its text only. */
function writesOutside(text: string): string | undefined {
  const isWriting = /\bopen\s*\([^)]*,\s*["'][wax+>]|\bwrite(?:File|FileSync|_text|_bytes)?\b|\bappendFile/.test(text);
  return isWriting
    ? /["'](?:\/(?!dev\/null)|~|\.\.\/)[^"']*["']|["'][^"']*\.(?:git|vibe)\/[^"']*["']/.exec(text)?.[0]
    : undefined;
}
