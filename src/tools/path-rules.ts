import { isAbsolute, relative, sep } from 'node:path';

/** Longest path a tool takes, in bytes (PC6). */
const maxPathBytes = 4_096;

/** Why a path text is refused whatever is on the disk (PC6); nothing when it may be looked up. */
export function refusePathText(path: string): string | undefined {
  if (path === '') return 'the path is empty';
  if (path.includes('\0')) return 'the path holds a NUL character';
  if (Buffer.byteLength(path) > maxPathBytes) return `the path is longer than ${maxPathBytes} bytes`;
  if (/^~[^/\\]*(?:[/\\]|$)/.test(path)) return `path \`${path}\` starts with \`~\`, which is not expanded here`;
  if (/^[A-Za-z]:(?:[/\\]|$)/.test(path) && process.platform !== 'win32') return `path \`${path}\` names a drive`;
  if (/^(?:[/\\]{2}[.?][/\\])/.test(path)) return `path \`${path}\` names a device`;
  if (process.platform === 'win32' && path.split(/[/\\]/).some(isDeviceName)) return `path \`${path}\` names a device`;
  return undefined;
}

/** Whether `path` is `directory` or below it, by components; both canonical. */
export function isInside(directory: string, path: string): boolean {
  if (path === directory) return true;
  return path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

/** The same for file systems that ignore letter case and composition. */
export function mayBeInside(directory: string, path: string): boolean {
  const fold = (text: string): string => text.normalize('NFC').toLowerCase();
  return isInside(fold(directory), fold(path));
}

/** Names from `directory` down to `path`, both absolute; nothing when it lies outside. */
export function componentsBelow(directory: string, path: string): readonly string[] | undefined {
  const below = relative(directory, path);
  if (below === '') return [];
  if (below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) return undefined;
  return below.split(sep);
}

/** Why a path made of these names may not be written (PC4, PC5), or nothing. */
export function refuseProtected(components: readonly string[]): string | undefined {
  for (const name of components) {
    const folded = foldName(name);
    if (folded === '.git' || folded === 'git~1') return 'git data (`.git`) is not writable by tools';
    if (folded === '.vibe') return "the engine's own files (`.vibe`) are not writable by tools";
    if (isDeviceName(name)) return `\`${name}\` is a device name`;
  }
  return undefined;
}

/**
 * A name as the least strict file system compares it: composed, lower case, without characters it ignores (HFS+) and
 * without the dots, blanks and stream names Windows drops.
 */
function foldName(name: string): string {
  return name
    .normalize('NFC')
    .replaceAll(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu, '')
    .replace(/:.*$/su, '')
    .replace(/[. ]+$/u, '')
    .toLowerCase();
}

function isDeviceName(name: string): boolean {
  return /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])$/i.test(name);
}
