import type { SandboxProfile } from './sandbox-profile.ts';

/**
 * The profile as text for `sandbox-exec -p` of macOS (mcp-host 13.3): everything is allowed but writing outside the writable
 * folders and reading below the home folder outside what is visible.
 */
export function toSeatbeltProfile(profile: SandboxProfile): string {
  const visible = [...profile.readable, ...profile.writable];
  return [
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    `(allow file-write* ${[...devices, ...profile.writable.map(subpath)].join(' ')})`,
    ...(profile.kept.length === 0 ? [] : [`(deny file-write* ${profile.kept.map(subpath).join(' ')})`]),
    `(deny file-read* ${subpath(profile.home)})`,
    // Without the data of the folders on the way no path below them can be resolved.
    `(allow file-read-metadata ${distinct(visible.flatMap(foldersAbove)).map(literal).join(' ')})`,
    `(allow file-read* ${visible.map(subpath).join(' ')})`,
    ...(profile.network ? [] : ['(deny network*)']),
  ].join('\n');
}

const devices = ['/dev/null', '/dev/zero', '/dev/tty', '/dev/stdout', '/dev/stderr', '/dev/dtracehelper'].map(literal);

function subpath(path: string): string {
  return `(subpath ${quote(path)})`;
}

function literal(path: string): string {
  return `(literal ${quote(path)})`;
}

function quote(path: string): string {
  return `"${path.replaceAll(/["\\]/g, '\\$&')}"`;
}

function foldersAbove(path: string): readonly string[] {
  const names = path.split('/').slice(1, -1);
  return ['/', ...names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)];
}

function distinct(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}
