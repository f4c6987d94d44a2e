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
import { openPins, type Pins } from './pins.ts';
import { createRegistryStore } from './registry-file.ts';

/** Opens connections with what the host was given, and knows which ways of starting a server were seen before. */
export interface Opener {
  /** Reads what is remembered from earlier engines. */
  prepare(): Promise<void>;
  pins(): Pins;
  open(record: McpServerRecord, source: McpSource, signal: AbortSignal): Promise<McpConnection>;
  openForTest(record: McpServerRecord, signal: AbortSignal): Promise<McpConnection>;
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
  let pins: Pins | undefined;

  function deps(folder: string, signal: AbortSignal): ConnectDeps {
    return {
      clock,
      logger,
      identity: { name: 'vibe-bus', version: options.version },
      env,
      newMarker: randomUUID,
      workspaceFolder: projectRoot,
      userHome,
      folder,
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
    async open(record, source, signal) {
      checkStart(record);
      const folder = source === 'user' ? (userHome ?? projectRoot) : projectRoot;
      const base = deps(folder, signal);
      const connection = await connect(record, store === undefined ? base : { ...base, eraMemory: store });
      known().accept(startId(record), recordFingerprint(record));
      return connection;
    },
    openForTest: (record, signal) => connect(record, deps(projectRoot, signal)),
    approveStart(record) {
      known().accept(startId(record), recordFingerprint(record));
    },
    flush: async () => await pins?.flush(),
  };
}
