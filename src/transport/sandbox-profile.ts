/** What a confined program sees of the machine. All paths are absolute and canonical. */
export interface SandboxProfile {
  /** Folders that are empty inside: home folders, temporary files. */
  readonly hidden: readonly string[];
  /** Visible but not writable; what is not there is left out. */
  readonly readable: readonly string[];
  /** Visible and writable; must be there, or the start fails. */
  readonly writable: readonly string[];
  /** Inside a writable folder, writable, and yet not to be moved or removed; what is not there is left out. */
  readonly held: readonly string[];
  /** Inside a writable folder and yet not writable; what is not there is left out. */
  readonly kept: readonly string[];
  readonly cwd: string;
  /** Variables that differ from the environment the program is started with, by name. */
  readonly env: Readonly<Record<string, string>>;
  readonly network: boolean;
  /** No capabilities and no further user namespaces inside. */
  readonly isStrict: boolean;
  /** A line on stderr says that the confinement stands, before the program runs. */
  readonly announces: boolean;
  /** The person's home folder, which macOS hides by a rule of its own. */
  readonly home: string;
}

/** Programs and libraries, and of `/etc` only what programs need to start and to reach the network (mcp-host 13.3). */
export const systemFolders: readonly string[] = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib64',
  '/etc/ssl',
  '/etc/pki',
  '/etc/ca-certificates',
  '/etc/crypto-policies',
  '/etc/resolv.conf',
  '/etc/host.conf',
  '/etc/gai.conf',
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/passwd',
  '/etc/group',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/alternatives',
  '/etc/localtime',
  '/etc/timezone',
];

export interface ServerSandboxOptions {
  /** The one folder the server may always write to: its home, its start folder, its place for temporary files. */
  readonly scratch: string;
  /** The person's home folder. */
  readonly home: string;
  /** Canonical paths of the server's program and of the interpreters on its PATH. */
  readonly programs: readonly string[];
  /** Package caches and other toolchain folders. */
  readonly toolchain?: readonly string[];
  /** `sandbox.read` and `sandbox.write` of the record. */
  readonly read?: readonly string[];
  readonly write?: readonly string[];
}

/** The profile of an MCP server (mcp-host 13.3). The network stays open (13.4). */
export function toServerProfile(options: ServerSandboxOptions): SandboxProfile {
  const { scratch, home } = options;
  return {
    hidden: ['/tmp'],
    readable: distinct([
      ...systemFolders,
      ...options.programs.map((program) => installationOf(program, home)),
      ...(options.toolchain ?? []),
      ...(options.read ?? []),
    ]),
    writable: distinct([...(options.write ?? []), scratch]),
    held: [],
    kept: [],
    cwd: scratch,
    env: { HOME: scratch, TMPDIR: scratch },
    network: true,
    isStrict: false,
    announces: true,
    home,
  };
}

export interface CommandSandboxOptions {
  readonly workspace: string;
  readonly cwd: string;
  readonly home: string;
  readonly network: boolean;
  /** Canonical paths of interpreters and tools outside of the system's folders. */
  readonly programs?: readonly string[];
  readonly read?: readonly string[];
  /** Becomes the home folder; default: a folder that is gone when the command ends. */
  readonly scratch?: string;
}

/** Inside the private `/tmp`; made at the start. */
export const temporaryHome = '/tmp/home';

/** The stricter profile of the `bash` tool: the workspace and nothing else of the person's (dependencies, bwrap as tried). */
export function toCommandProfile(options: CommandSandboxOptions): SandboxProfile {
  const { workspace, cwd, home, network, scratch } = options;
  return {
    hidden: distinct(['/tmp', '/home', '/root', ...(home === '/' ? [] : [home])]),
    readable: distinct([
      ...systemFolders,
      ...(options.programs ?? []).map((program) => installationOf(program, home)),
      ...(options.read ?? []),
    ]),
    writable: distinct([...(scratch === undefined ? [] : [scratch]), workspace]),
    // why: with `.git` moved away, another one could take its place and bring hooks of its own
    held: [`${workspace}/.git`],
    // What git or the engine runs or obeys later, outside of the confinement.
    kept: ['.vibe', '.git/hooks', '.git/config', '.git/modules', '.git/worktrees'].map(
      (name) => `${workspace}/${name}`,
    ),
    cwd,
    env: { HOME: scratch ?? temporaryHome, TMPDIR: '/tmp' },
    network,
    isStrict: true,
    announces: false,
    home,
  };
}

function distinct(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}

/**
 * The folder a program was installed to: the parent of its `bin`. A home folder, `~/.local` and `/` hold far more than
 * programs, so of those only the `bin` folder itself counts.
 */
export function installationOf(program: string, home: string): string {
  const folder = parentOf(program);
  const prefix = folder.endsWith('/bin') ? parentOf(folder) : folder;
  const isTooWide = prefix === '/' || prefix === `${home}/.local` || home === prefix || home.startsWith(`${prefix}/`);
  return isTooWide ? folder : prefix;
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}
