import { type Environment, toChildEnvironment } from '../transport/environment.ts';

export interface BashEnvironmentOptions {
  /** The environment of this process. Default: `process.env`. */
  readonly env?: Environment | undefined;
  /** Variables the providers read their keys from. */
  readonly secretNames?: Iterable<string> | undefined;
  /** Canonical directory the command starts in. */
  readonly cwd: string;
}

/**
 * The environment of commands: the host's without secrets (PL10) and without what would let a shell read a command otherwise
 * than the policy did; git and pagers never wait for a person.
 */
export function toBashEnvironment(options: BashEnvironmentOptions): Record<string, string> {
  const entries = Object.entries(options.env ?? process.env);
  return toChildEnvironment({
    policy: 'inherit',
    host: Object.fromEntries(entries.filter(([name, value]) => isHarmless(name, value ?? ''))),
    declared: {
      GIT_TERMINAL_PROMPT: '0',
      GIT_PAGER: 'cat',
      PAGER: 'cat',
      // why: a shell that finds itself where this says believes it, and `cd ..` then goes up that spelling of the path
      PWD: options.cwd,
      // why: programs hand text that was judged as POSIX to this shell (`flock -c`, `script -c`)
      SHELL: '/bin/sh',
      // why: the first bash of a process tree without a terminal takes a socket on its input for a remote login and runs `~/.bashrc`
      SHLVL: '1',
    },
    secretNames: options.secretNames ?? [],
  });
}

/** Compared in upper case. */
const secretLooking = /KEY|TOKEN|SECRET|PASSWORD/;

/**
 * Where a relative `cd` leads, what a wildcard or a blank is, which functions and options a shell begins with, what it runs
 * first, how programs split options from paths, and options added to those of the line.
 */
const readings: ReadonlySet<string> = new Set(
  `CDPATH PWD OLDPWD SHELL SHLVL SSH_CLIENT SSH2_CLIENT GLOBIGNORE EXECIGNORE IFS FPATH SHELLOPTS BASHOPTS BASH_COMPAT BASH_XTRACEFD BASH_ENV ENV PROMPT_COMMAND PS4
  POSIXLY_CORRECT _POSIX2_VERSION TAR_OPTIONS GREP_OPTIONS UNZIP UNZIPOPT ZIP ZIPOPT RSYNC_PROTECT_ARGS RSYNC_OLD_ARGS`.split(
    /\s+/,
  ),
);

/** What says how bytes make characters: in some codings a backslash is the second half of one, and a blank is no blank. */
const codings: ReadonlySet<string> = new Set(['LC_ALL', 'LC_CTYPE', 'LANG']);

/** Whether a variable lets a shell or program read a line otherwise than its text says. */
export function changesReading(name: string): boolean {
  return readings.has(name);
}

/** False for a locale whose coding is neither plain nor UTF-8. */
export function isReadableCoding(name: string, value: string): boolean {
  return !codings.has(name) || /^(?:C|POSIX)?$|utf-?8(?:@\w+)?$/i.test(value);
}

function isHarmless(name: string, value: string): boolean {
  if (secretLooking.test(name.toUpperCase()) || changesReading(name)) return false;
  if (!isReadableCoding(name, value)) return false;
  // Functions as bash exports them, now and in older versions.
  return !name.startsWith('BASH_FUNC_') && !value.startsWith('() {');
}
