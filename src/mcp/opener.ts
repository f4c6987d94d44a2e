import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Logger } from '../protocol/deps.ts';
import type { McpServerRecord, McpSource } from '../protocol/mcp.ts';
import { openMcpConnection } from './connect.ts';
import type { ConnectDeps } from './connect-deps.ts';
import type { McpConnection } from './connection.ts';
import { recordFingerprint } from './era-memory.ts';
import { mcpError } from './errors.ts';
import type { McpHostOptions } from './host-options.ts';
import { createNoiseLimits, type NoiseLimits } from './noise-meter.ts';
import { openPins, type Pins } from './pins.ts';
import { createRegistryStore } from './registry-file.ts';

/** Which file a record is of, and whose connection it is opened for. */
export interface Origin {
  readonly source: McpSource;
  readonly tenant?: string | undefined;
}

/** Opens connections with what the host was given, and knows which ways of starting a server were seen before. */
export interface Opener {
  /** Reads what is remembered from earlier engines. */
  prepare(): Promise<void>;
  pins(): Pins;
  open(record: McpServerRecord, origin: Origin, signal: AbortSignal): Promise<McpConnection>;
  openForTest(record: McpServerRecord, source: McpSource, signal: AbortSignal): Promise<McpConnection>;
  approveStart(record: McpServerRecord): void;
  /** Waits until what was accepted is written. */
  flush(): Promise<void>;
}

/** Where a connection gets its token and its secrets from. */
export type TokenDeps = Required<Pick<ConnectDeps, 'secret' | 'accessToken' | 'credentials'>>;

export function createOpener(
  options: McpHostOptions,
  logger: Logger,
  env: ConnectDeps['env'],
  tokens: TokenDeps,
): Opener {
  const { clock, configDir, sandbox, ledger, onElicitation, roots } = options;
  const connect = options.connect ?? openMcpConnection;
  const store = configDir === undefined ? undefined : createRegistryStore(configDir, clock, logger);
  const projectRoot = path.resolve(options.projectRoot);
  const userHome = env['HOME'] ?? env['USERPROFILE'];
  /** By server: one that crashes at once must not fill the log. */
  const noises = new Map<string, NoiseLimits>();
  let pins: Pins | undefined;

  function noiseLimits(server: string): NoiseLimits {
    const limits = noises.get(server) ?? createNoiseLimits(clock);
    noises.set(server, limits);
    return limits;
  }

  function deps({ source, tenant }: Origin, signal: AbortSignal): ConnectDeps {
    return {
      clock,
      logger,
      identity: { name: 'vibe-bus', version: options.version },
      env,
      newMarker: randomUUID,
      workspaceFolder: projectRoot,
      userHome,
      folder: source === 'user' ? (userHome ?? projectRoot) : projectRoot,
      ...(tenant === undefined ? {} : { tenant }),
      fetch: options.fetch ?? globalThis.fetch,
      signal,
      ...tokens,
      ...(sandbox === undefined ? {} : { sandbox }),
      ...(ledger === undefined ? {} : { ledger }),
      ...(onElicitation === undefined ? {} : { onElicitation }),
      ...(roots === undefined ? {} : { roots }),
    };
  }

  function known(): Pins {
    if (pins === undefined) throw mcpError('interrupted', 'the MCP host is not started');
    return pins;
  }

  function startId(record: McpServerRecord): string {
    return `server:${record.name}`;
  }

  function checkStart(record: McpServerRecord): void {
    if (known().check(startId(record), recordFingerprint(record)) !== 'changed') return;
    logger.warn('mcp.server.changed', { server_name: record.name });
    if (!known().isStrict) return;
    throw mcpError('needs_trust', `The way the server \`${record.name}\` is started changed and is not approved yet.`);
  }

  return {
    async prepare() {
      pins ??= await openPins(store, options.approvals ?? false, logger);
    },
    pins: known,
    async open(record, origin, signal) {
      checkStart(record);
      const base = { ...deps(origin, signal), noiseLimits: noiseLimits(record.name) };
      const connection = await connect(record, store === undefined ? base : { ...base, eraMemory: store });
      known().accept(startId(record), recordFingerprint(record));
      return connection;
    },
    openForTest: (record, source, signal) => connect(record, deps({ source }, signal)),
    approveStart(record) {
      known().accept(startId(record), recordFingerprint(record));
    },
    flush: async () => await pins?.flush(),
  };
}
