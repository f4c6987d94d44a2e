import type { BusEvent } from '../bus/events.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import { type EngineError, messageOf, toEngineError } from '../protocol/error.ts';
import type { McpExit, McpServerInfo, McpServerRecord, McpServerState, McpSource } from '../protocol/mcp.ts';
import { untilAborted } from '../protocol/signal.ts';
import type { McpConnection } from './connection.ts';
import { connectError, mcpError, toSeconds } from './errors.ts';
import type { Noise } from './noise-meter.ts';
import { definitionHash } from './remote-tool.ts';
import { createStartLimiter } from './start-limiter.ts';
import type { ToolList } from './tool-list.ts';

export interface ServerSlotOptions {
  readonly record: McpServerRecord;
  readonly source: McpSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publish: (event: BusEvent) => void;
  /** Opens the connection; on failure nothing may be left of it. */
  readonly open: (record: McpServerRecord, signal: AbortSignal) => Promise<McpConnection>;
  /** Told every list the server gave. */
  readonly onTools: (list: ToolList) => void;
}

/** One configured, enabled server: connected at its first use, shared by everyone who uses it (mcp-host 3.5, PL3). */
export interface ServerSlot {
  /** Settings that need no new connection; the next one is opened with them. */
  setRecord(record: McpServerRecord): void;
  record(): McpServerRecord;
  info(): McpServerInfo;
  /** The living connection; opens one if there is none. All callers at the same time share the attempt. */
  connection(signal?: AbortSignal): Promise<McpConnection>;
  listTools(options?: { readonly signal?: AbortSignal; readonly refresh?: boolean }): Promise<ToolList>;
  /** Forgets what the connection has listed. */
  dropLists(): void;
  /** Lifts the limit on starts: someone asked for the server explicitly. */
  allowStart(): void;
  /** Ends the connection, or the attempt at one; the next use opens a new one. */
  disconnect(): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

export function createServerSlot(options: ServerSlotOptions): ServerSlot {
  const { clock, logger, publish } = options;
  let { record } = options;
  const server_name = record.name;
  const limiter = createStartLimiter(clock);
  let state: McpServerState = 'stopped';
  let lastError: { code: string; message: string } | undefined;
  let toolCount: number | undefined;
  let listKey: string | undefined;
  let noise: Noise | undefined;
  let current: McpConnection | undefined;
  let connecting: Promise<McpConnection> | undefined;
  let attempt = new AbortController();
  let isStopped = false;

  async function connection(signal?: AbortSignal): Promise<McpConnection> {
    if (isStopped) throw mcpError('closed', 'connection ended: the server was removed or the engine closed');
    if (current !== undefined) return current;
    connecting ??= connect().finally(() => {
      connecting = undefined;
    });
    return await (signal === undefined ? connecting : untilAborted(connecting, signal));
  }

  async function connect(): Promise<McpConnection> {
    const waitMs = limiter.admit();
    if (waitMs > 0) throw startedTooOften(waitMs);
    const started = clock.elapsed();
    const elapsed = (): number => Math.round(clock.elapsed() - started);
    state = 'starting';
    attempt = new AbortController();
    try {
      const opened = await options.open(record, attempt.signal);
      if (attempt.signal.aborted) {
        await opened.stop();
        throw attempt.signal.reason;
      }
      connected(opened, elapsed());
      return opened;
    } catch (error) {
      throw failed(toEngineError(error, 'plugin'), elapsed());
    }
  }

  function connected(opened: McpConnection, elapsed_ms: number): void {
    const { era, protocol_version, transport, sandbox } = opened;
    const openedAt = clock.elapsed();
    current = opened;
    state = 'connected';
    lastError = undefined;
    const fields = { server_name, era, protocol_version, transport, sandbox, elapsed_ms };
    logger.info('mcp.server.connect.ok', fields);
    publish({ type: 'mcp_server_connected', ...fields });
    opened.onToolsChanged(receiveList);
    // why: `exited` never rejects, and what follows only reports
    void opened.exited.then((exit) => {
      limiter.ended(clock.elapsed() - openedAt);
      ended(opened, exit);
    });
  }

  function ended(opened: McpConnection, exit: McpExit): void {
    const { exit_code, signal, strays_killed } = exit;
    noise = opened.noise();
    if (current === opened) {
      current = undefined;
      state = exit.expected ? 'stopped' : 'failed';
      if (!exit.expected) lastError = { code: 'closed', message: 'connection ended' };
    }
    logger.info('mcp.server.exit', { server_name, exit_code, signal, strays_killed });
    publish({ type: 'mcp_server_stopped', server_name, exit_code, signal });
  }

  function failed(error: EngineError, elapsed_ms: number): EngineError {
    const error_code = error.code;
    state = isStopped ? 'stopped' : error_code === 'needs_auth' ? 'needs_auth' : 'failed';
    lastError = { code: error_code, message: messageOf(error) };
    logger.warn('mcp.server.connect.failed', { server_name, error_code, elapsed_ms });
    publish({ type: 'mcp_server_failed', server_name, error_code, elapsed_ms });
    if (error_code === 'needs_auth') publish({ type: 'mcp_auth_needed', server_name, error_code });
    return error;
  }

  function receiveList(list: ToolList): void {
    const before = listKey;
    takeList(list);
    if (before !== undefined && before !== listKey) {
      publish({ type: 'mcp_tools_changed', server_name, tool_count: list.tools.length });
    }
  }

  function takeList(list: ToolList): void {
    toolCount = list.tools.length;
    listKey = list.tools.map((tool) => definitionHash(tool.definition)).join();
    options.onTools(list);
  }

  async function disconnect(): Promise<void> {
    attempt.abort(mcpError('closed', 'connection ended: stopped while connecting'));
    if (connecting !== undefined) await connecting.catch(() => {});
    await current?.stop();
    state = 'stopped';
  }

  return {
    setRecord(next) {
      record = next;
    },
    record: () => record,
    connection,
    info() {
      const printed = current === undefined ? noise : current.noise();
      return {
        name: server_name,
        source: options.source,
        state,
        transport: current?.transport ?? record.type,
        ...(current === undefined
          ? {}
          : {
              era: current.era,
              protocol_version: current.protocol_version,
              sandbox: current.sandbox,
              server: current.server,
            }),
        ...(toolCount === undefined ? {} : { tool_count: toolCount }),
        ...(printed === undefined ? {} : { noise: printed }),
        ...(lastError === undefined ? {} : { last_error: lastError }),
      };
    },
    async listTools(listOptions = {}) {
      const open = await connection(listOptions.signal);
      const list = await open.listTools(listOptions);
      takeList(list);
      return list;
    },
    dropLists: () => current?.dropLists(),
    allowStart: () => limiter.reset(),
    disconnect,
    async stop() {
      isStopped = true;
      await disconnect();
    },
  };

  function startedTooOften(waitMs: number): EngineError {
    const text = `\`${server_name}\` was started 5 times within 60 s; the next try is possible in ${toSeconds(Math.ceil(waitMs / 1_000) * 1_000)} s.`;
    return connectError('connect_failed', text);
  }
}
