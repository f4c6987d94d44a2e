import type { Clock, Logger } from '../protocol/deps.ts';
import { isEngineError } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import type {
  McpCallResult,
  McpEra,
  McpExit,
  McpSandboxState,
  McpServerRecord,
  McpTimeouts,
  McpToolDefinition,
  McpTransportKind,
} from '../protocol/mcp.ts';
import type { ToolProgress } from '../protocol/tool.ts';
import type { CallTimerOptions } from './call-timer.ts';
import { createChangeWatch } from './change-watch.ts';
import type { ListMethod, McpClient } from './client.ts';
import { codeOf, mcpError } from './errors.ts';
import { toPrintable } from './log-text.ts';
import type { Noise } from './noise-meter.ts';
import type { RejectedTool } from './normalise.ts';
import { createPagedList } from './paged-list.ts';
import { nameTools, type ToolList } from './tool-list.ts';

/** What carries a connection, process or web server. */
export interface Carrier {
  readonly kind: McpTransportKind;
  readonly sandbox: McpSandboxState;
  readonly pid?: number;
  readonly exited: Promise<McpExit>;
  stop(): Promise<McpExit>;
  stderrTail(): readonly string[];
  /** Absent on the web, where there is none. */
  noise?(): Noise;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ToolProgress) => void;
}

export interface ListOptions {
  readonly signal?: AbortSignal;
  /** Ask the server even if what is kept is still good. */
  readonly refresh?: boolean;
}

/** One living connection to one server. Every rejection is an EngineError with a code of mcp-host section 15. */
export interface McpConnection {
  readonly server_name: string;
  readonly era: McpEra;
  readonly protocol_version: string;
  readonly transport: McpTransportKind;
  readonly sandbox: McpSandboxState;
  /** Self-reported. */
  readonly server: { readonly name: string; readonly version: string };
  readonly pid: number | undefined;
  /** Settles when nothing of the connection is left. Never rejects. */
  readonly exited: Promise<McpExit>;
  stderrTail(): readonly string[];
  /** What the program printed besides messages; undefined when nothing. */
  noise(): Noise | undefined;
  listTools(options?: ListOptions): Promise<ToolList>;
  /** Calls a tool by the name the server gave it. */
  callTool(name: string, args: JsonObject, options?: CallOptions): Promise<McpCallResult>;
  /** All prompts, resources or resource templates. */
  list(method: Exclude<ListMethod, 'tools/list'>, options?: ListOptions): Promise<readonly unknown[]>;
  /** One prompt or resource; `params` as the protocol has them. */
  read(method: 'prompts/get' | 'resources/read', params: JsonObject, options?: CallOptions): Promise<JsonObject>;
  /** Forgets what was listed: another token may see something else (MP12). */
  dropLists(): void;
  /** Told the new list whenever the server changed it. */
  onToolsChanged(listener: (list: ToolList) => void): () => void;
  /** Ends it; a second call joins the first. All processes are gone when it settles (within 5 s). */
  stop(): Promise<McpExit>;
}

export interface ConnectionParts {
  readonly record: McpServerRecord;
  readonly timeouts: McpTimeouts;
  readonly client: McpClient;
  readonly carrier: Carrier;
  readonly clock: Clock;
  readonly logger: Logger;
}

const headerMismatch = -32_020;
const invalidParams = -32_602;

export function createConnection(parts: ConnectionParts): McpConnection {
  const { client, carrier, clock, logger, timeouts } = parts;
  const server = parts.record.name;
  const listeners = new Set<(list: ToolList) => void>();
  const warned = new Set<string>();
  /** The definitions of the last list, by the server's names: calls go by them. */
  let known = new Map<string, McpToolDefinition>();

  const toPaged = (method: ListMethod) =>
    createPagedList({
      server,
      era: client.era,
      clock,
      logger,
      limitMs: timeouts.list_ms,
      page: (cursor, signal) => client.page(method, cursor, signal),
    });
  const tools = toPaged('tools/list');
  const others = {
    'prompts/list': toPaged('prompts/list'),
    'resources/list': toPaged('resources/list'),
    'resources/templates/list': toPaged('resources/templates/list'),
  };
  const watch = createChangeWatch({
    server,
    client,
    clock,
    logger,
    onNotice: () => tools.drop(),
    onQuiet: () => void announce(),
  });
  const exited = carrier.exited.finally(() => watch[Symbol.dispose]());

  async function listTools(options: ListOptions = {}): Promise<ToolList> {
    if (client.capabilities['tools'] === undefined) return { tools: [], rejected: [] };
    const list = await tools.get(options);
    // why: entries come from our own transport, which has read them from the wire
    const named = nameTools(
      server,
      list.items as readonly McpToolDefinition[],
      list.rejected as readonly RejectedTool[],
    );
    known = new Map(named.tools.map((tool) => [tool.definition.name, tool.definition]));
    for (const tool of named.rejected) warnOnce(tool);
    watch.open();
    return named;
  }

  /** Its own error path: a failed refresh keeps nothing old, the next use asks again. */
  async function announce(): Promise<void> {
    try {
      const list = await listTools();
      for (const listener of listeners) listener(list);
    } catch (error) {
      logger.warn('mcp.list.refresh.failed', {
        server_name: server,
        error_code: codeOf(error),
      });
    }
  }

  function warnOnce(tool: RejectedTool): void {
    const key = `${tool.reason} ${tool.name}`;
    if (warned.has(key) || warned.size > 1_000) return;
    warned.add(key);
    logger.warn('mcp.tool.rejected', {
      server_name: server,
      tool_name: toPrintable(tool.name),
      reason: tool.reason,
      ...(tool.other === undefined ? {} : { other: toPrintable(tool.other) }),
    });
  }

  function limits(options: CallOptions): CallTimerOptions {
    const { signal } = options;
    return { idleMs: timeouts.call_ms, maxMs: timeouts.call_max_ms, ...(signal === undefined ? {} : { signal }) };
  }

  async function callTool(name: string, args: JsonObject, options: CallOptions = {}): Promise<McpCallResult> {
    const call = (): Promise<McpCallResult> => {
      const tool = known.get(name);
      return client.call({
        name,
        args,
        ...limits(options),
        ...(tool === undefined ? {} : { tool }),
        ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
      });
    };
    const rpcCode = (error: unknown): unknown =>
      isEngineError(error) && error.code === 'remote'
        ? (error.data as { rpc_code?: unknown } | undefined)?.rpc_code
        : undefined;
    try {
      return await call();
    } catch (error) {
      // why: the server refused before it did anything, so the call may be made again by the right definition
      if (rpcCode(error) === headerMismatch) {
        await listTools({ refresh: true });
        return await call();
      }
      if (rpcCode(error) === invalidParams) refresh();
      throw error;
    }
  }

  /** What the host knows of the tool may be old (mcp-host 5.7). Beside the call, whose error must not wait for it. */
  function refresh(): void {
    tools.drop();
    void announce();
  }

  return {
    server_name: server,
    era: client.era,
    protocol_version: client.protocolVersion,
    transport: carrier.kind,
    sandbox: carrier.sandbox,
    server: client.server,
    pid: carrier.pid,
    exited,
    stderrTail: () => carrier.stderrTail(),
    noise() {
      const noise = carrier.noise?.();
      return noise?.lines === 0 ? undefined : noise;
    },
    listTools,
    callTool,
    async list(method, options = {}) {
      const kind = method === 'prompts/list' ? 'prompts' : 'resources';
      if (client.capabilities[kind] === undefined) return [];
      return (await others[method].get(options)).items;
    },
    async read(method, params, options = {}) {
      const kind = method === 'prompts/get' ? 'prompts' : 'resources';
      if (client.capabilities[kind] === undefined) {
        throw mcpError('invalid_request', `MCP server \`${server}\` offers no ${kind}`);
      }
      return await client.read(method, params, limits(options));
    },
    dropLists() {
      for (const list of [tools, ...Object.values(others)]) list.drop();
    },
    onToolsChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async stop() {
      watch[Symbol.dispose]();
      await carrier.stop();
      return await exited;
    },
  };
}
