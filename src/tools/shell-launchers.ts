import { programName, refuseProgram } from './shell-judge.ts';
import {
  deny,
  elsewhere,
  firstDenial,
  type Arg,
  type Call,
  type Denial,
  type ProgramRule,
  type Scene,
} from './shell-types.ts';
import { refuseAssignmentWord } from './shell-variables.ts';
import { refuseJoined, refuseShellText } from './shell-wrappers.ts';

/** A tool that finds a program and runs it: package runners, environment managers. */
interface Launcher {
  /** Words after which the command follows; the empty list: directly after the name. */
  readonly words: readonly (readonly string[])[];
  /** Options that take a value. */
  readonly values?: readonly string[];
  /** Options that take shell text. */
  readonly texts?: readonly string[];
  /** Operands before the command. */
  readonly operands?: number;
  readonly assignments?: boolean;
  /** Every operand is shell text of its own. */
  readonly eachIsText?: boolean;
  /** The operands are joined and given to a shell. */
  readonly joined?: boolean;
  /** Without a command it runs the lines of its input. */
  readonly needsCommand?: boolean;
  /** A first word that is no command of its own may be a program of the system. */
  readonly fallsBack?: boolean;
  /** Options that change what runs the command. */
  readonly refused?: RegExp;
}

const npx: Launcher = {
  words: [[]],
  values: ['-p', '--package', '--cache', '-w', '--workspace'],
  texts: ['-c', '--call'],
  refused: /^--(?:script-shell|shell|node-options|node-arg)(?:=|$)|^-n$/,
};
const manager: Launcher = {
  words: [['exec'], ['dlx'], ['x']],
  values: ['-C', '--dir', '--filter', '-F', '--package', '-p', '-w', '--workspace', '--prefix'],
  texts: ['-c', '--call'],
};

const launchers: ReadonlyMap<string, Launcher> = new Map<string, Launcher>([
  ['npx', npx],
  ['bunx', npx],
  ['pnpx', npx],
  ['npm', manager],
  ['pnpm', { ...manager, texts: [], fallsBack: true, refused: /^-c$|^--shell-mode$/ }],
  ['yarn', { ...manager, texts: [], fallsBack: true }],
  ['bun', { words: [['x']], fallsBack: true }],
  ['uvx', { words: [[]], values: ['--from', '--with', '--python', '-p'] }],
  [
    'uv',
    {
      words: [['run'], ['tool', 'run']],
      values: [
        '--with',
        '--python',
        '-p',
        '--extra',
        '--group',
        '--directory',
        '--project',
        '--env-file',
        '--from',
        '--package',
        '-m',
        '--module',
      ],
    },
  ],
  ['poetry', { words: [['run']], values: ['-C', '--directory', '-P', '--project'] }],
  ['pipenv', { words: [['run']] }],
  ['hatch', { words: [['run']], values: ['-e', '--env'] }],
  ['pdm', { words: [['run']], values: ['-p', '--project'] }],
  ['rye', { words: [['run']] }],
  ['pixi', { words: [['run']], values: ['-e', '--environment', '--manifest-path'] }],
  ['pipx', { words: [['run']], values: ['--spec', '--python'] }],
  ['conda', { words: [['run']], values: ['-n', '--name', '-p', '--prefix', '--cwd'] }],
  ['mamba', { words: [['run']], values: ['-n', '--name', '-p', '--prefix', '--cwd'] }],
  ['bundle', { words: [['exec']], values: ['--gemfile'] }],
  ['direnv', { words: [['exec']], operands: 1 }],
  ['mise', { words: [['exec'], ['x']], texts: ['-c', '--command'], values: ['-C', '-j'] }],
  ['asdf', { words: [['exec']] }],
  ['nix', { words: [['run'], ['shell'], ['develop']], texts: [], values: ['-f', '--file', '-I'] }],
  ['nix-shell', { words: [['\0']], texts: ['--run', '--command'] }],
  ['cross-env', { words: [[]], assignments: true }],
  ['cross-env-shell', { words: [[]], assignments: true, joined: true }],
  ['dotenv', { words: [[]], values: ['-e', '-c', '-v', '-f'] }],
  ['env-cmd', { words: [[]], values: ['-f', '--file', '-e', '--environments'] }],
  ['doppler', { words: [['run']], texts: ['--command'], values: ['-p', '-c', '--project', '--config'] }],
  ['op', { words: [['run']], values: ['--env-file', '--account'] }],
  [
    'perf',
    {
      words: [['stat'], ['record'], ['trace'], ['mem', 'record']],
      values: ['-e', '-o', '-F', '-c', '-C', '-p', '-r', '-I', '-g', '--call-graph'],
    },
  ],
  ['valgrind', { words: [[]] }],
  [
    'hyperfine',
    {
      words: [[]],
      eachIsText: true,
      texts: ['-p', '--prepare', '-s', '--setup', '-c', '--cleanup', '--conclude', '--reference'],
      values: [
        '-w',
        '--warmup',
        '-m',
        '--min-runs',
        '-M',
        '--max-runs',
        '-r',
        '--runs',
        '-n',
        '--command-name',
        '--export-json',
        '--export-csv',
        '--export-markdown',
        '-S',
        '--shell',
        '-L',
        '-P',
        '--style',
        '-u',
      ],
    },
  ],
  [
    'concurrently',
    {
      words: [[]],
      eachIsText: true,
      values: ['-n', '--names', '-c', '--prefix-colors', '-s', '--success', '-m', '--max-processes', '--restart-tries'],
    },
  ],
  [
    'parallel',
    {
      words: [[]],
      joined: true,
      needsCommand: true,
      values: ['-j', '--jobs', '-n', '-N', '-I', '-d', '--delay', '--timeout', '-a', '-C'],
    },
  ],
  ['sem', { words: [[]], joined: true, needsCommand: true, values: ['-j', '--id'] }],
  ['entr', { words: [[]], texts: ['-s'] }],
  ['nodemon', { words: [['\0']], texts: ['-x', '--exec'] }],
  ['watchexec', { words: [[]], joined: true, values: ['-e', '-w', '-f', '-i', '--exts', '--watch', '--shell'] }],
  ['cargo-watch', { words: [['\0']], texts: ['-s', '--shell'] }],
]);

export const launcherRules: ReadonlyMap<string, ProgramRule> = new Map(
  [...launchers].map(([name, launcher]) => [name, (call: Call) => refuseLauncher(call, launcher)]),
);

function refuseLauncher(call: Call, launcher: Launcher): Denial | undefined {
  const { program, args } = call;
  // Whoever allows a launcher allows the packages it finds; what is blocked stays blocked.
  const scene = { ...elsewhere(call.scene), policy: { ...call.scene.policy, allowed: undefined } };
  const text = firstDenial(textsOf(args, launcher), (value) => refuseShellText(value, program, scene));
  if (text !== undefined) return text;
  const option = args.find((arg) => launcher.refused?.test(arg.text) === true);
  if (option !== undefined) {
    return deny('wrappers', `\`${option.text}\` changes what \`${program}\` runs commands with; leave it out.`);
  }
  const start = startOfCommand(args, launcher);
  if (start !== undefined) return refuseFrom(args.slice(start), launcher, program, scene);
  return launcher.fallsBack === true ? refuseFallback(args, scene) : undefined;
}

/** `pnpm reboot` and `bun run reboot` run the program when no script has that name. */
function refuseFallback(args: readonly Arg[], { policy }: Scene): Denial | undefined {
  const words = args.filter((arg) => !arg.text.startsWith('-')).map((arg) => arg.text);
  const name = words[0] === 'run' ? words[1] : words[0];
  return name === undefined ? undefined : refuseProgram(programName(name), { ...policy, network: true });
}

function textsOf(args: readonly Arg[], launcher: Launcher): readonly (Arg | undefined)[] {
  return args.flatMap((arg, index) => {
    const equals = arg.text.indexOf('=');
    if (launcher.texts?.includes(arg.text) === true) return [args[index + 1]];
    if (equals > 0 && launcher.texts?.includes(arg.text.slice(0, equals)) === true)
      return [{ ...arg, text: arg.text.slice(equals + 1) }];
    return [];
  });
}

/** Behind the words that announce a command, wherever options stand between them. */
function startOfCommand(args: readonly Arg[], launcher: Launcher): number | undefined {
  for (const words of launcher.words) {
    let at = 0;
    let matched = 0;
    while (matched < words.length && at < args.length) {
      const text = args[at]?.text ?? '';
      if (text === words[matched]) matched += 1;
      else if (launcher.values?.includes(text) === true) at += 1;
      else if (!text.startsWith('-')) break;
      at += 1;
    }
    if (matched === words.length) return at;
  }
  return undefined;
}

/** The command, and everything that may be the command when an option is not known to take a value. */
function refuseFrom(args: readonly Arg[], launcher: Launcher, program: string, scene: Scene): Denial | undefined {
  let skip = launcher.operands ?? 0;
  let isUnclear = false;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined) break;
    const isKnownValue = launcher.values?.includes(arg.text) === true || launcher.texts?.includes(arg.text) === true;
    if (arg.text === '--') {
      isUnclear = false;
      if (index + 1 < args.length && skip === 0) return refuseCommand(args.slice(index + 1), launcher, program, scene);
      continue;
    }
    if (arg.text.startsWith('-') && !arg.isComputed) {
      if (isKnownValue) index += 1;
      else isUnclear ||= !arg.text.includes('=') && args[index + 1]?.text.startsWith('-') === false;
      continue;
    }
    if (launcher.assignments === true && /^\w+=/.test(arg.text)) {
      const denial = refuseAssignmentWord(arg, program);
      if (denial !== undefined) return denial;
      continue;
    }
    if (skip > 0) {
      skip -= 1;
      continue;
    }
    const denial = refuseCommand(args.slice(index), launcher, program, scene);
    if (denial !== undefined || !isUnclear) return denial;
    isUnclear = false;
  }
  if (launcher.needsCommand !== true || args.some((arg) => /^--(?:help|version|citation)$/.test(arg.text)))
    return undefined;
  return deny('shells', `\`${program}\` without a command runs the lines it reads; give it the command.`);
}

function refuseCommand(words: readonly Arg[], launcher: Launcher, program: string, scene: Scene): Denial | undefined {
  if (launcher.eachIsText === true)
    return firstDenial(
      words.filter((word) => !word.text.startsWith('-')),
      (word) => refuseShellText(word, program, scene),
    );
  if (launcher.joined === true) {
    const end = words.findIndex((word) => word.text.startsWith(':::'));
    const command = end < 0 ? words : words.slice(0, end);
    if (end === 0 || command.some((word) => /[{}]/.test(word.text))) {
      return deny(
        'wrappers',
        `\`${program}\` would run text that it puts together itself; use \`xargs\` or a loop in a script file.`,
      );
    }
    return refuseJoined(command, program, scene);
  }
  const [name] = words;
  // A package may be named with a version or a scope; what it runs is that package.
  if (name !== undefined && /^@|[@:]/.test(name.text.slice(1))) return undefined;
  return scene.run(words, scene);
}
