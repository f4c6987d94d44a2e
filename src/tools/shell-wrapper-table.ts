/** How a program that runs another one is read. An option that is not listed is refused: it might take the next word. */
export interface Wrapper {
  /** Short switches, and short options that take a value. */
  readonly flags?: string;
  readonly values?: string;
  /** Short options whose value, if any, is in the same word. */
  readonly attached?: string;
  readonly longFlags?: readonly string[];
  readonly longValues?: readonly string[];
  /** Words such as `-arm64` are one option. */
  readonly single?: boolean;
  /** Operands before the command. */
  readonly operands?: number;
  /** The first operand is a file that is written. */
  readonly writesOperand?: boolean;
  /** `-10` is an option. */
  readonly numeric?: boolean;
  /** `NAME=value` may stand before the command. */
  readonly assignments?: boolean;
  /** Options with which nothing is run. */
  readonly inert?: readonly string[];
  /** Options whose value is a file that is written, shell text, an assignment, a directory to start in. */
  readonly writes?: readonly string[];
  readonly texts?: readonly string[];
  readonly assigns?: readonly string[];
  readonly enters?: readonly string[];
  /** The command is joined and given to a shell unless one of these options is there. */
  readonly joinsUnless?: readonly string[];
  /** Without a command it starts a shell. */
  readonly needsCommand?: boolean;
}

const timeout: Wrapper = {
  flags: 'vpf',
  values: 'ks',
  longFlags: ['--preserve-status', '--foreground', '--verbose'],
  longValues: ['--kill-after', '--signal'],
  operands: 1,
};

const personality: Wrapper = { flags: 'RFZLXBIST3v', longFlags: ['--addr-no-randomize', '--verbose'] };

export const wrapperTable: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  [
    'env',
    {
      flags: 'i0v',
      values: 'uaC',
      longFlags: ['--ignore-environment', '--null', '--debug', '--block-signal', '--default-signal', '--ignore-signal'],
      longValues: ['--unset', '--argv0', '--chdir'],
      assignments: true,
      enters: ['-C', '--chdir'],
    },
  ],
  [
    'time',
    {
      flags: 'apvqV',
      values: 'of',
      longFlags: ['--append', '--portability', '--verbose', '--quiet'],
      longValues: ['--output', '--format'],
      writes: ['-o', '--output'],
    },
  ],
  ['nice', { values: 'n', longValues: ['--adjustment'], numeric: true }],
  [
    'ionice',
    {
      flags: 't',
      values: 'cn',
      longFlags: ['--ignore'],
      longValues: ['--class', '--classdata'],
      inert: ['-p', '-P', '-u'],
    },
  ],
  ['nohup', {}],
  ['timeout', timeout],
  ['gtimeout', timeout],
  ['exec', { flags: 'cl', values: 'a' }],
  ['command', { flags: 'p', inert: ['-v', '-V'] }],
  ['builtin', {}],
  ['setsid', { flags: 'cfw', longFlags: ['--ctty', '--fork', '--wait'] }],
  ['stdbuf', { values: 'ioe', longValues: ['--input', '--output', '--error'] }],
  [
    'flock',
    {
      flags: 'sxeunoFv',
      values: 'wEc',
      longFlags: ['--shared', '--exclusive', '--unlock', '--nonblock', '--nb', '--close', '--no-fork', '--verbose'],
      longValues: ['--timeout', '--wait', '--conflict-exit-code', '--command'],
      operands: 1,
      texts: ['-c', '--command'],
      writesOperand: true,
    },
  ],
  [
    'watch',
    {
      flags: 'bcdegptwrx',
      values: 'nq',
      longFlags: [
        '--beep',
        '--color',
        '--differences',
        '--errexit',
        '--chgexit',
        '--precise',
        '--no-title',
        '--no-wrap',
        '--exec',
      ],
      longValues: ['--interval', '--equexit'],
      joinsUnless: ['-x', '--exec'],
    },
  ],
  ['strace', { flags: 'cCdDfFhiknqrtTvVwxXyYzZ', values: 'aebIoOpPsSUXE', writes: ['-o'], assigns: ['-E'] }],
  ['ltrace', { flags: 'bcCfhiLnrStTV', values: 'aAeFlopsxX', writes: ['-o'] }],
  [
    'script',
    {
      flags: 'aefqrkdpt',
      values: 'cEIoBOTm',
      longFlags: ['--append', '--return', '--flush', '--force', '--quiet'],
      longValues: [
        '--command',
        '--echo',
        '--log-in',
        '--log-out',
        '--log-io',
        '--log-timing',
        '--logging-format',
        '--output-limit',
      ],
      texts: ['-c', '--command'],
      writes: ['-I', '-O', '-B', '-T', '--log-in', '--log-out', '--log-io', '--log-timing'],
      operands: 1,
      writesOperand: true,
      needsCommand: true,
    },
  ],
  ['busybox', { inert: ['--list', '--list-full'] }],
  ['toybox', { inert: ['--long'] }],
  ['taskset', { flags: 'ac', longFlags: ['--all-tasks', '--cpu-list'], operands: 1, inert: ['-p', '--pid'] }],
  ['chrt', { flags: 'abdfiorRmv', values: 'TPD', operands: 1, inert: ['-p', '--pid', '-m'] }],
  [
    'prlimit',
    { attached: 'cdefilmnqrstuvxyT', longFlags: ['--verbose', '--raw', '--noheadings'], inert: ['-p', '--pid'] },
  ],
  ['unbuffer', { flags: 'p' }],
  ['sshpass', { flags: 'eV', values: 'pfdP' }],
  ['ifne', { flags: 'n' }],
  ['eatmydata', {}],
  ['torify', {}],
  ['torsocks', { flags: 'i' }],
  ['proxychains', { flags: 'q', values: 'f' }],
  ['proxychains4', { flags: 'q', values: 'f' }],
  ['catchsegv', {}],
  ['envdir', { operands: 1 }],
  ['systemd-inhibit', { longValues: ['--what', '--who', '--why', '--mode'] }],
  ['shx', {}],
  ['chronic', { flags: 've' }],
  // Words of zsh that stand before a command; elsewhere they are unknown programs.
  ['noglob', {}],
  ['nocorrect', {}],
  ['repeat', { operands: 1 }],
  ['fakeroot', { values: 'lsib', longValues: ['--lib', '--faked'] }],
  ['caffeinate', { flags: 'dimsu', values: 'tw' }],
  ['rlwrap', { flags: 'acinopNrRvmM', values: 'bdfHlsStz' }],
  ['tini', { flags: 'svgw', values: 'pe' }],
  ['dumb-init', { flags: 'cv', values: 'r', longFlags: ['--single-child', '--verbose'], longValues: ['--rewrite'] }],
  ['dbus-run-session', { longValues: ['--config-file'] }],
  [
    'xvfb-run',
    {
      flags: 'al',
      values: 'npsw',
      longFlags: ['--auto-servernum', '--listen-tcp'],
      longValues: ['--server-num', '--server-args', '--wait'],
    },
  ],
  ['faketime', { flags: 'm', values: 'f', operands: 1 }],
  ['cpulimit', { flags: 'zvifm', values: 'lc', longValues: ['--limit'] }],
  ['setarch', { ...personality, operands: 1 }],
  ['linux32', personality],
  ['linux64', personality],
  ['arch', { single: true, longFlags: ['-x86_64', '-arm64', '-arm64e', '-i386', '-32', '-64'] }],
]);
