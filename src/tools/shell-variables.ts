import { changesReading, isReadableCoding } from './bash-environment.ts';
import { deny, firstDenial, type Arg, type Call, type Denial } from './shell-types.ts';

/** Variables that change which program runs, or what it does (agent-runtime section 16 rule 1, reliability CP6, and their like). */
const forbidden = new Set(
  `PATH IFS BASH_ENV ENV PROMPT_COMMAND CDPATH PERL5OPT PYTHONSTARTUP NODE_OPTIONS RUBYOPT
  PS0 PS1 PS2 PS4 PAGER MANPAGER EDITOR VISUAL LESSOPEN LESSCLOSE LESS MORE BROWSER SHELL HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS ZDOTDIR
  FPATH SHELLOPTS BASHOPTS GLOBIGNORE EXECIGNORE BASH_XTRACEFD HISTFILE PWD OLDPWD
  PERL5LIB PERLLIB PERL5DB PYTHONHOME PYTHONBREAKPOINT PYTHONUSERBASE RUBYLIB NODE_REPL_EXTERNAL_MODULE
  JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS GCONV_PATH LOCPATH HOSTALIASES NLSPATH
  SUDO_ASKPASS SSH_ASKPASS SSH_ASKPASS_REQUIRE RIPGREP_CONFIG_PATH TAR_OPTIONS GREP_OPTIONS RSYNC_RSH CVS_RSH RSYNC_CONNECT_PROG
  EXINIT VIMINIT GVIMINIT PSQLRC PSQL_EDITOR PSQL_PAGER PSQL_HISTORY MYSQL_HISTFILE SQLITE_HISTORY CURL_HOME WGETRC INPUTRC
  RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC CARGO_HOME GOENV GOROOT MAKEFILES
  ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS DOTNET_STARTUP_HOOKS R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER PERL5SHELL
  OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES GCC_EXEC_PREFIX COMPILER_PATH CCC_OVERRIDE_OPTIONS RUSTDOC GROFF_COMMAND_PREFIX MANOPT
  MANROFFOPT TAR_RSH RSH DIRSTACK BASH_LOADABLES_PATH
  TERMINFO TERMCAP AWKPATH AWKLIBPATH NETRC DOCKER_CONFIG KUBECONFIG`.split(/\s+/),
);

const forbiddenPrefixes = [
  'LD_',
  'DYLD_',
  'BASH_FUNC_',
  'VIBE_',
  'CARGO_BUILD_RUSTC',
  'CARGO_ALIAS_',
  'LUA_INIT',
  'NPM_CONFIG_SCRIPT_SHELL',
  'NPM_CONFIG_NODE_OPTIONS',
  'NPM_CONFIG_USERCONFIG',
  'NPM_CONFIG_GLOBALCONFIG',
  'NPM_CONFIG_GIT',
  'NPM_CONFIG_EDITOR',
  'NPM_CONFIG_VIEWER',
];

/** Everything of git is refused but what only changes how it asks and shows. */
const harmlessGit = new Set([
  'GIT_TERMINAL_PROMPT',
  'GIT_OPTIONAL_LOCKS',
  'GIT_LFS_SKIP_SMUDGE',
  'GIT_ADVICE',
  'GIT_MERGE_AUTOEDIT',
]);

/** Make reads options out of these, among them ones that run commands. */
const makeFlags = new Set(['MAKEFLAGS', 'GNUMAKEFLAGS', 'MFLAGS']);

/** Bash evaluates what these are set to as an expression, in which `a[$(command)]` runs the command. */
const numeric = new Set(['RANDOM', 'SRANDOM', 'SECONDS', 'OPTIND', 'HISTCMD', 'LINENO']);

export function isForbiddenVariable(name: string): boolean {
  if (forbidden.has(name) || changesReading(name)) return true;
  const upper = name.toUpperCase();
  if (forbiddenPrefixes.some((prefix) => upper.startsWith(prefix))) return true;
  if (/^(?:CARGO_TARGET_\w+_(?:RUNNER|LINKER)|CMAKE_\w+_LAUNCHER)$/.test(name)) return true;
  return name.startsWith('GIT_') && !harmlessGit.has(name);
}

/** Refuses giving a value to a variable, in whatever form (`by` names the form). */
export function refuseAssignment(name: string, value: string | undefined, by: string): Denial | undefined {
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    return deny('variables', `\`${by}\` sets a variable whose name cannot be read (\`${name}\`); write the name out.`);
  }
  if (makeFlags.has(name) && !/^-?[\w ]*(?:-j ?\d+[\w ]*)?$/.test(value ?? '$')) {
    return deny('variables', `\`${name}\` can make \`make\` run commands; give the options to \`make\` itself.`);
  }
  if (name === 'GOFLAGS' && !/^[-\w=., ]*$/.test((value ?? '$').replace('toolexec', '$'))) {
    return deny('variables', '`GOFLAGS` can make `go` run other programs; give the options to `go` itself.');
  }
  if (numeric.has(name) && !/^\d+$/.test(value ?? '$')) {
    return deny(
      'variables',
      `\`${name}\` is computed by the shell, which may run what it is set to; use a variable of another name.`,
    );
  }
  if (/-XX:On\w+=/.test(value ?? '')) {
    return deny('variables', `\`${name}\` would make Java run a command; leave \`-XX:On…\` out of it.`);
  }
  if (!isReadableCoding(name, value ?? '$')) {
    return deny(
      'variables',
      `\`${name}\` of another coding lets a shell read the line otherwise; use \`C\` or a UTF-8 one.`,
    );
  }
  if (!isForbiddenVariable(name)) return undefined;
  return deny(
    'variables',
    `The variable \`${name}\` changes what runs and must not be set; leave it out and use options of the program.`,
  );
}

/** `NAME=value` as an argument of `env`, `export` and the like; a word without `=` is a name. */
export function refuseAssignmentWord(arg: Arg, by: string): Denial | undefined {
  const match = /^([^=]*)(?:=(.*))?$/s.exec(arg.text);
  const name = match?.[1] ?? '';
  // The name must be there in the text: a computed word may hold any name.
  if (arg.maySteer || (arg.isUnknown && !/^\w+=/.test(arg.text))) {
    return deny('variables', `\`${by}\` sets a variable whose name is computed (\`${arg.text}\`); write the name out.`);
  }
  return refuseAssignment(name.replace(/\+$/, ''), match?.[2], by);
}

/** `export`, `declare`, `readonly`, `local`, `typeset`. */
export function refuseDeclaration({ program, args }: Call): Denial | undefined {
  return firstDenial(args, (arg) => {
    if (!/^[-+]/.test(arg.text)) return refuseAssignmentWord(arg, program);
    // `-n` makes a name stand for another one; `-i` evaluates values, `-f` functions.
    if (!arg.isComputed && /^[-+][aAfFglLprtuxU]*$|^--$/.test(arg.text)) return undefined;
    return deny(
      'variables',
      `The option \`${arg.text}\` of \`${program}\` is not checked here; assign the variable plainly.`,
    );
  });
}

/** `read`, `mapfile`, `getopts`, `unset`, `wait -p`: which variables they set. */
export function refuseReader({ program, args }: Call): Denial | undefined {
  const values = readerValues[program] ?? '';
  let skip = program === 'getopts' ? 1 : 0;
  return firstDenial(args, (arg) => {
    if (skip > 0) {
      skip -= 1;
      return undefined;
    }
    if (/^-[A-Za-z]/.test(arg.text) && !arg.isComputed) {
      const taken = arg.text
        .slice(1)
        .split('')
        .findIndex((letter) => values.includes(letter));
      if (/^-\w*[CcA]/.test(arg.text) && program !== 'unset') {
        return deny(
          'variables',
          `The option \`${arg.text}\` of \`${program}\` is not checked here; read the lines with a plain \`read\`.`,
        );
      }
      if (taken === arg.text.length - 2) skip = 1;
      return undefined;
    }
    if (arg.text === '--' || (program === 'wait' && /^[\d$%]/.test(arg.text))) return undefined;
    if (arg.isComputed) {
      return deny(
        'variables',
        `\`${program}\` sets a variable whose name is computed (\`${arg.text}\`); write the name out.`,
      );
    }
    return refuseAssignment(arg.text, undefined, program);
  });
}

/** Options of each that take a value which is no variable name. */
const readerValues: Readonly<Record<string, string>> = {
  read: 'dinNptu',
  mapfile: 'dnOsu',
  readarray: 'dnOsu',
  getopts: '',
  unset: '',
  wait: '',
};

/** `printf -v NAME`. */
export function refusePrintf({ args }: Call): Denial | undefined {
  const [first, second] = args;
  if (first === undefined) return undefined;
  if (first.maySteer) {
    return deny(
      'variables',
      `The first argument of \`printf\` is computed (\`${first.text}\`); write the format out, or put \`--\` before it.`,
    );
  }
  if (!first.text.startsWith('-v')) return undefined;
  const name = first.text === '-v' ? second : { ...first, text: first.text.slice(2) };
  if (name === undefined) return undefined;
  return name.isComputed
    ? refuseAssignment('', undefined, 'printf -v')
    : refuseAssignment(name.text, undefined, 'printf -v');
}

/** `test -v` evaluates what stands in brackets, and in some shells a comparison of numbers does. */
export function refuseTest({ program, args }: Call): Denial | undefined {
  return firstDenial(args, (arg, index) => {
    const next = args[index + 1];
    if (/^-[vR]$/.test(arg.text) && next !== undefined && !/^[\w.-]*$/.test(next.text))
      return deny('variables', `\`${program} -v\` may run what \`${next.text}\` holds; test a plain variable name.`);
    if (!/^-(?:eq|ne|lt|le|gt|ge)$/.test(arg.text)) return undefined;
    const value = [args[index - 1], next].find(
      (each) => each !== undefined && /\[.*[$`]/s.test(each.text) && !each.isUnknown,
    );
    return value === undefined
      ? undefined
      : deny('variables', `\`${program} ${arg.text}\` may run what \`${value.text}\` holds; compare plain numbers.`);
  });
}
