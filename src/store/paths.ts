import path from 'node:path';

/** Environment variables as `process.env` holds them. */
export type Environment = { readonly [name: string]: string | undefined };

/**
 * The user's folder for every part of the engine: `$VIBE_CONFIG_HOME`, else the user configuration folder of the platform
 * plus `vibe` (mcp-host section 1, plugin-protocol section 12). Always absolute; undefined when there is no home folder.
 */
export function configDir(env: Environment, platform: NodeJS.Platform): string | undefined {
  const own = env['VIBE_CONFIG_HOME'];
  if (own !== undefined && own !== '') return path.resolve(own);
  const base = userConfigDir(env, platform);
  return base === undefined ? undefined : joiner(platform).join(base, 'vibe');
}

function userConfigDir(env: Environment, platform: NodeJS.Platform): string | undefined {
  const paths = joiner(platform);
  if (platform === 'win32') return absent(env['APPDATA']);
  const home = absent(env['HOME']);
  if (platform === 'darwin') return home === undefined ? undefined : paths.join(home, 'Library', 'Application Support');
  const xdg = env['XDG_CONFIG_HOME'];
  if (xdg !== undefined && paths.isAbsolute(xdg)) return xdg;
  return home === undefined ? undefined : paths.join(home, '.config');
}

/** Where things of one project lie. All paths are absolute when `root` is. */
export interface ProjectPaths {
  /** `<root>/.vibe`. */
  readonly dir: string;
  readonly config: string;
  readonly agents: string;
  readonly plugins: string;
  readonly mcp: string;
  /** One folder per durable run. */
  readonly runs: string;
}

export function projectPaths(root: string): ProjectPaths {
  const dir = path.join(root, '.vibe');
  return {
    dir,
    config: path.join(dir, 'config.toml'),
    agents: path.join(dir, 'agents'),
    plugins: path.join(dir, 'plugins'),
    mcp: path.join(dir, 'mcp.json'),
    runs: path.join(dir, 'runs'),
  };
}

/** Where things of one user lie, given the folder `configDir` names. */
export interface UserPaths {
  readonly dir: string;
  readonly config: string;
  readonly trust: string;
  readonly plugins: string;
  readonly mcp: string;
  /** One file per engine process: the programs it started. */
  readonly run: string;
  /** The folders confined MCP servers may write to, one each. */
  readonly scratch: string;
}

export function userPaths(dir: string): UserPaths {
  return {
    dir,
    config: path.join(dir, 'config.toml'),
    trust: path.join(dir, 'trust.json'),
    plugins: path.join(dir, 'plugins'),
    mcp: path.join(dir, 'mcp.json'),
    run: path.join(dir, 'run'),
    scratch: path.join(dir, 'scratch'),
  };
}

/** A path as people read it: the home folder as `~`. */
export function toShownPath(file: string, env: Environment): string {
  const home = absent(env['HOME']) ?? absent(env['USERPROFILE']);
  if (home === undefined) return file;
  if (file === home) return '~';
  return file.startsWith(home + path.sep) ? `~${file.slice(home.length)}` : file;
}

function joiner(platform: NodeJS.Platform): path.PlatformPath {
  return platform === 'win32' ? path.win32 : path.posix;
}

function absent(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
