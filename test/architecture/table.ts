// The import table of ARCHITECTURE.md and the other rules of the house as data.

/** A row. A place is a folder of `src/`, or one file of it. */
export interface Layer {
  /** Folders and files this one may import from; `*` = any. Its own files always. */
  readonly imports: readonly string[];
  /** Of these only types. */
  readonly typesOf?: readonly string[];
}

/** What the engine wires together: everything below it. */
const wiring: readonly string[] = [
  'protocol',
  'bus',
  'store',
  'config',
  'transport',
  'agent',
  'providers',
  'tools',
  'plugins',
  'mcp',
  'workers',
  'telemetry',
  'cluster',
  'actors',
];

/** The import table. A file's own row counts instead of its folder's. */
export const layers: { readonly [place: string]: Layer } = {
  protocol: { imports: [] },
  bus: { imports: ['protocol'] },
  store: { imports: ['protocol'] },
  config: { imports: ['protocol', 'store'] },
  transport: { imports: ['protocol'] },
  agent: { imports: ['protocol'], typesOf: ['bus/events.ts'] },
  providers: { imports: ['protocol'] },
  tools: { imports: ['protocol', 'bus', 'transport'] },
  plugins: { imports: ['protocol', 'transport', 'config', 'store'] },
  // why: a plugin author's process must start fast and carry nothing of the host
  'plugins/server.ts': { imports: ['protocol', 'transport'] },
  mcp: { imports: ['protocol', 'bus', 'store', 'transport'] },
  workers: { imports: ['protocol', 'bus', 'agent', 'providers', 'tools'] },
  telemetry: { imports: ['protocol', 'bus'] },
  cluster: { imports: ['protocol', 'bus'] },
  actors: { imports: ['protocol', 'bus', 'agent', 'tools', 'plugins', 'mcp', 'workers', 'cluster'] },
  'actors/behavior.ts': { imports: ['protocol'] },
  'actors/actor.ts': { imports: ['protocol', 'actors/behavior.ts'] },
  'actors/supervisor.ts': { imports: ['protocol', 'actors/behavior.ts', 'actors/actor.ts'] },
  // the engine's own parts: files that would make engine.ts too long
  engine: { imports: wiring },
  'engine.ts': { imports: [...wiring, 'engine'] },
  daemon: { imports: ['protocol', 'bus', 'store', 'mcp', 'telemetry', 'engine.ts', 'engine'] },
  cli: { imports: ['*'] },
  'index.ts': { imports: ['*'] },
  testing: {
    imports: ['protocol', 'bus', 'agent', 'providers', 'tools', 'actors/actor.ts'],
    typesOf: ['plugins/declaration.ts', 'plugins/server.ts'],
  },
  'testing.ts': { imports: ['protocol', 'bus', 'agent', 'providers', 'tools', 'actors/actor.ts', 'testing'] },
};

/** Packages, node modules and globals that belong to some places only. A trailing `*` matches any ending. */
export const reserved: readonly { readonly names: readonly string[]; readonly places: readonly string[] }[] = [
  { names: ['eventemitter3'], places: ['bus'] },
  { names: ['libsql', '@napi-rs/keyring'], places: ['store'] },
  { names: ['smol-toml'], places: ['config', 'plugins/manifest.ts'] },
  { names: ['execa'], places: ['transport', 'tools/bash.ts'] },
  { names: ['eventsource-parser'], places: ['providers'] },
  { names: ['@modelcontextprotocol/*'], places: ['mcp'] },
  { names: ['piscina', 'node:worker_threads'], places: ['workers'] },
  { names: ['pino'], places: ['telemetry'] },
  { names: ['@opentelemetry/*'], places: ['telemetry/otel.ts'] },
  { names: ['@nats-io/*'], places: ['cluster'] },
  { names: ['commander'], places: ['cli'] },
  { names: ['unbash', 'diff', 'picomatch', 'ignore'], places: ['tools'] },
  { names: ['node:http'], places: ['daemon', 'cli'] },
  { names: ['node:child_process'], places: ['transport', 'store/process-identity.ts', 'cli'] },
  {
    names: ['process.stdout', 'process.exit', 'process.on', 'process.once', 'console.log', 'console.error'],
    places: ['cli'],
  },
];

/** Places that may use only what is named here of packages and node modules, or must not use what is named. */
export const restricted: readonly {
  readonly place: string;
  readonly except: readonly string[];
  readonly names: readonly string[];
}[] = [
  {
    place: 'protocol',
    except: [],
    names: ['node:fs', 'node:fs/promises', 'node:net', 'node:http', 'node:child_process', 'node:worker_threads'],
  },
  { place: 'protocol', except: ['protocol/signal.ts'], names: ['setTimeout()', 'setInterval()', 'setImmediate()'] },
  { place: 'bus', except: ['bus/log.ts', 'bus/replay.ts'], names: ['node:fs', 'node:fs/promises'] },
  { place: 'agent', except: ['agent/prompt.ts'], names: ['node:fs', 'node:fs/promises'] },
];

/** Files with a default export: piscina calls it. */
export const defaultExports: readonly string[] = ['workers/tool-worker.ts', 'workers/run-worker.ts'];

/** Files made of re-exports. */
export const reExports: readonly string[] = ['index.ts', 'testing.ts'];

/** What a thread loads, besides the tool modules that a task names. */
export const threadEntries: readonly string[] = ['workers/tool-worker.ts', 'workers/run-worker.ts'];

/** Modules the tool thread loads by name; the same rules hold for them. */
export const threadTools: readonly string[] = [
  'tools/read-file.ts',
  'tools/list-dir.ts',
  'tools/glob.ts',
  'tools/grep.ts',
];

/** What the tool thread must not load: each costs start-up time in every thread, or starts things of its own. */
export const forbiddenInToolThread: readonly string[] = ['execa', 'pino', 'piscina', 'providers/'];

/** What an embedder must not pay for by importing the package: loaded at its first use. */
export const lazyPackages: readonly string[] = [
  '@modelcontextprotocol/*',
  'libsql',
  '@napi-rs/keyring',
  '@nats-io/*',
  '@opentelemetry/*',
];

/** The few places where the tree differs from the table, each with its reason. Removed when the reason is gone. */
export const exceptions: readonly { readonly file: string; readonly allows: string; readonly why: string }[] = [
  {
    file: 'tools/web-request.ts',
    allows: 'node:http',
    why: 'web_fetch must connect to the very address it judged, which the global fetch cannot be told',
  },
  {
    file: 'mcp/oauth/listener.ts',
    allows: 'node:http',
    why: 'the answer of the browser arrives here also where no daemon runs, and only while an authorization waits',
  },
  ...['process.exit', 'process.stdout'].map((allows) => ({
    file: 'plugins/server.ts',
    allows,
    why: 'it is the program: the protocol is its standard output, and it ends when the host closes its input',
  })),
  {
    file: 'workers/run-worker.ts',
    allows: 'process.on',
    why: 'the process object of a thread is its own: an error nobody waits for must not end the runs of the thread',
  },
  ...['process.on', 'process.exit', 'process.stdout'].map((allows) => ({
    file: 'workers/tool-worker.ts',
    allows,
    why: 'the process object of a thread is its own: errors, exits and output of tools are caught there',
  })),
];

export const maxCodeLines = 300;
