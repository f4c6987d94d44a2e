import { deny, type Arg, type Denial } from './shell-types.ts';

/** Refuses code for a language that starts programs, deletes files or cannot be read; `undefined` code is none. */
export function refuseCode(code: Arg | undefined, program: string): Denial | undefined {
  if (code === undefined) return undefined;
  if (code.isOpen)
    return deny('inline_code', `The code for \`${program}\` is computed; write it out or put it into a file.`);
  return refuseCodeText(code.text, program);
}

/** Ways to start programs, delete files or hide code, in the languages above. */
const suspicious = new RegExp(
  [
    String.raw`(?<!\bplatform\.)\bsystem\b|\bpopen|\bsubprocess|(?<![.\w])exec[lvpe]*\s*["'([{]|\bos\.exec|\bspawn|\bfork\b|\bposix_|\bpty\b|\bctypes\b`,
    String.raw`\bchild_process|\bworker_threads|\bexeca\b|\bshelljs|\bBun\.(?:spawn|\$)|\bDeno\.(?:run|Command)|\bprocess\.(?:binding|dlopen|kill)`,
    String.raw`\bopen3?[\s(]*["'][^"'\n]*\||\bIO\.popen|\bKernel\b|\bProcess\.|\bshell_exec|\bpassthru|\bproc_open|\bpcntl_|\bos\.execute`,
    String.raw`\brmtree|\bos\.(?:remove|unlink|rmdir|removedirs|kill|chmod|chown|putenv|setuid)|\bunlink|\brmdir|\brmSync|\.rm\b|\bFile\.delete|\bFileUtils|\bremove_tree`,
    String.raw`\b(?:__import__|importlib|__builtins__|marshal|pickle)|\beval\b|\bglobals\s*\(|\bgetattr\s*\(|(?<![.\w])compile\s*\(|\bFunction\s*\(`,
    String.raw`\brequire\s*\(\s*[^'"\s]|\bimport\s*\(\s*[^'"\s]|\b(?:require|import)\s*\(\s*["'][^"'\n]*["']\s*[^)\s]|=\s*require\b(?!\s*\()`,
    String.raw`\bmainModule\b|\bmodule\.constructor|\bconstructor\.constructor|\b_load\b|\brunIn\w*Context|\bglobalThis\s*\[`,
    String.raw`\b__dict__|\bsys\.modules\b|\bvars\s*\(|\battrgetter|\bmethodcaller|\brunpy\b|\bcode\.(?:interact|Interactive)|\bpdb\b|\bcreate_subprocess|\bmultiprocessing|\bwebbrowser|\bstartfile`,
    // Names that are put together from pieces.
    String.raw`["']\s*[+.]\s*["']`,
  ].join('|'),
);

/** What starts programs in one language and is harmless in others. */
const byLanguage: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:perl|ruby|php|julia)/, /`|\bqx\b|%x\W/],
  [/^perl/, /\bopen\b[^;\n]*["'][^"'\n]*\||\bsyscall\b|\bkill\b|&\{|&\$|->can\b/],
  [/^ruby/, /\b(?:open|read|readlines|foreach|binread|write)\b[^;\n]*["']\s*\||\bsend\b|\bmethod\b|\bOpen3\b/],
  [/^php/, /\$\w+\s*\(|\bcall_user_func/],
  [/^lua/, /\bload(?:string|file)?\b|\bdofile\b|\bio\.popen/],
  [/^ipython/, /^\s*[!%]|[\n;]\s*[!%]/],
  [/^(?:sbcl|clisp|ecl)/, /\brun-program|\brun-shell/],
  [/^(?:clojure|clj|bb)/, /\bsh\b|\bshell\b|\bprocess\b/],
  [/^racket/, /\bprocess\*?|\bsystem\*?/],
  [/^raku/, /\brun\b|\bshell\b|\bProc\b/],
  [/^tclsh/, /\bexec\b|\bopen\s+["{]?\|/],
  [/^gnuplot/, /[!`]|["']\s*<|\bload\b/],
  [/^groovy/, /\.execute\b|ProcessBuilder/],
  [/^(?:elixir|erl)/, /\bcmd\b/],
  [/^(?:scala|jshell|ghc)/, /process|Runtime/i],
  [/^(?:r|rscript|octave)/, /\bsystem2\b|\bshell\b/],
];

export function refuseCodeText(text: string, program: string): Denial | undefined {
  const own = byLanguage.filter(([language]) => language.test(program)).map(([, pattern]) => pattern);
  const readings = [text, decode(text)];
  const found = readings
    .flatMap((each) => [
      suspicious.exec(each)?.[0],
      ...own.map((pattern) => pattern.exec(each)?.[0]),
      writesOutside(each),
    ])
    .find((each) => each !== undefined);
  if (found === undefined) return undefined;
  return deny(
    'inline_code',
    `The inline code for \`${program}\` uses \`${found.trim()}\`, which cannot be checked; put it into a script file or use the shell's own commands.`,
  );
}

/** A file opened for writing by a path that leaves the workspace is seen by its text only. */
function writesOutside(text: string): string | undefined {
  const isWriting =
    /\bopen\s*\([^)]*,\s*["'][wax+>]|\bwrite(?:File|FileSync|_text|_bytes)?\b|\bappendFile|\bos\.replace\b|\b(?:copy|move|rename|symlink|mkdir|makedirs|truncate|cp)\w*\s*[("']|createWriteStream/.test(
      text,
    );
  return isWriting
    ? /["'](?:\/(?!dev\/null)|~|\.\.\/)[^"']*["']|["'][^"']*\.(?:git|vibe)\/[^"']*["']/.exec(text)?.[0]
    : undefined;
}

/** Escapes that stand for letters, as languages write them. */
function decode(text: string): string {
  return text.replaceAll(/\\(?:x([\da-f]{2})|u\{?([\da-f]{2,6})\}?|([0-7]{3}))/gi, (whole, ...groups: unknown[]) => {
    const [hex, unicode, octal] = groups.map((group) => (typeof group === 'string' ? group : undefined));
    const value = octal === undefined ? Number.parseInt(hex ?? unicode ?? '', 16) : Number.parseInt(octal, 8);
    return value < 0x80 ? String.fromCharCode(value) : whole;
  });
}
