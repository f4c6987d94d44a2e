/** `inherit`: the host's environment; `minimal`: the safe list only. */
export type EnvironmentPolicy = 'inherit' | 'minimal';
export const environmentPolicies: readonly EnvironmentPolicy[] = ['inherit', 'minimal'];

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ChildEnvironmentOptions {
  readonly policy: EnvironmentPolicy;
  /** The environment of this process. */
  readonly host: Environment;
  /** Variables of the declaration, literal; they win. */
  readonly declared?: Readonly<Record<string, string>>;
  /** Names the providers read their keys from: never passed on (unless declared). */
  readonly secretNames?: Iterable<string>;
  readonly platform?: NodeJS.Platform;
}

/** What the minimal policy lets through (PL10), besides every `LC_…`. */
const safeNames = ['PATH', 'HOME', 'LOGNAME', 'USER', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'LANG'];
/** What programs on Windows do not start without (plugin-protocol 13). */
const windowsNames = [
  'SystemRoot',
  'SystemDrive',
  'ComSpec',
  'PATHEXT',
  'TEMP',
  'TMP',
  'USERPROFILE',
  'APPDATA',
  'LOCALAPPDATA',
  'ProgramData',
];

/** The environment a child process gets. On Windows names compare without case. */
export function toChildEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const isWindows = (options.platform ?? process.platform) === 'win32';
  const fold = (name: string): string => (isWindows ? name.toUpperCase() : name);
  const secret = new Set([...(options.secretNames ?? [])].map(fold));
  const safe = new Set([...safeNames, ...(isWindows ? windowsNames : [])].map(fold));
  const isSafe = (name: string): boolean => safe.has(name) || name.startsWith('LC_');

  const byName = new Map<string, [name: string, value: string]>();
  for (const [name, value] of Object.entries(options.host)) {
    const key = fold(name);
    if (value === undefined || secret.has(key)) continue;
    if (options.policy === 'inherit' || isSafe(key)) byName.set(key, [name, value]);
  }
  for (const [name, value] of Object.entries(options.declared ?? {})) byName.set(fold(name), [name, value]);
  // why: `fromEntries` defines properties, so a variable called `__proto__` is data here too
  return Object.fromEntries(byName.values());
}
