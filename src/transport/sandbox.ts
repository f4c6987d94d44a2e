import { type SandboxProfile, temporaryHome } from './sandbox-profile.ts';
import { toSeatbeltProfile } from './seatbelt.ts';

export type SandboxBackend = 'bwrap' | 'sandbox-exec';

/** A program with its arguments, as it is started: no shell in between. */
export interface SandboxLine {
  readonly program: string;
  readonly args: readonly string[];
}

/** The line that runs `line` inside the profile. */
export function toConfinedLine(backend: SandboxBackend, profile: SandboxProfile, line: SandboxLine): SandboxLine {
  const inner = profile.announces
    ? ['/bin/sh', '-c', announce, '/bin/sh', line.program, ...line.args]
    : [line.program, ...line.args];
  switch (backend) {
    case 'bwrap':
      return { program: 'bwrap', args: [...bwrapOptions(profile), '--', ...inner] };
    case 'sandbox-exec': {
      const variables = Object.entries(profile.env).map(([name, value]) => `${name}=${value}`);
      const args = ['-p', toSeatbeltProfile(profile), '/usr/bin/env', ...variables, ...inner];
      return { program: '/usr/bin/sandbox-exec', args };
    }
  }
}

/** Later mounts lie on top of earlier ones: hidden, then readable, then writable, then what is kept. */
function bwrapOptions(profile: SandboxProfile): readonly string[] {
  const bind = (option: string, paths: readonly string[]): readonly string[] =>
    paths.flatMap((path) => [option, path, path]);
  return [
    ...(profile.isStrict
      ? ['--unshare-all', '--unshare-user', '--disable-userns', '--cap-drop', 'ALL']
      : ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try']),
    ...(profile.isStrict && profile.network ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...profile.hidden.flatMap((path) => ['--tmpfs', path]),
    ...bind('--ro-bind-try', profile.readable),
    ...bind('--bind', profile.writable),
    ...bind('--bind-try', profile.held),
    ...bind('--ro-bind-try', profile.kept),
    ...(profile.env['HOME'] === temporaryHome ? ['--dir', temporaryHome] : []),
    ...Object.entries(profile.env).flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    profile.cwd,
  ];
}

/** The line on stderr that says that the confinement stands. */
export const announcement = 'confined';
const announce = `echo "${announcement}" >&2; exec "$@"`;

/**
 * Whether a program with a profile that announces itself ended because the confinement broke, before the program ran: the
 * backend's complaint is then all there is on stderr. The announcement is what tells it from a program that prints the same
 * complaint in order to be started again without confinement.
 */
export function isSandboxFailure(exitCode: number | null, stderrTail: readonly string[]): boolean {
  const [line, ...more] = stderrTail;
  if (exitCode === null || exitCode === 0 || line === undefined || more.length > 0) return false;
  return /^(?:bwrap|sandbox-exec): /.test(line) && !/: execvp\b/.test(line);
}
