import type { AgentSpec } from './agent.ts';
import type { CallId, RunId } from './ids.ts';
import type { JsonObject } from './json.ts';
import { toJsonText } from './lines.ts';
import type { ToolContextData } from './tool.ts';

// The Vibe Plugin Protocol: names, numbers and shapes (plugin-protocol sections 3, 5, 8, 12, 16).

export const protocolVersion = '1';
export const mcpProtocolVersion = '2025-06-18';
export const manifestFile = 'vibe-plugin.toml';

export const vppMethods = {
  initialize: 'initialize',
  initialized: 'notifications/initialized',
  listTools: 'tools/list',
  callTool: 'tools/call',
  listAgents: 'agents/list',
  beforeTool: 'hooks/before_tool',
  shutdown: 'shutdown',
  ping: 'ping',
  log: 'log',
  mcpLog: 'notifications/message',
  progress: 'notifications/progress',
  toolsChanged: 'notifications/tools/list_changed',
  cancelled: 'notifications/cancelled',
} as const;

/** A program as it introduces itself. */
export interface ProgramInfo {
  readonly name: string;
  readonly version: string;
}

export interface PluginCapabilities {
  readonly tools: boolean;
  readonly agents: boolean;
  readonly hooks: boolean;
}

export interface InitializeResult extends ProgramInfo {
  readonly capabilities: PluginCapabilities;
}

export interface ToolDescriptor {
  readonly name: string;
  readonly description: string;
  /** Any JSON; normally a JSON Schema of an object. */
  readonly input_schema: unknown;
  readonly mutating: boolean;
}

export interface ToolsPage {
  readonly tools: readonly ToolDescriptor[];
  readonly nextCursor?: string;
}

export interface PluginToolResult {
  readonly content: string;
  readonly is_error: boolean;
}

export type HookAnswer = { readonly decision: 'continue' } | { readonly decision: 'abort'; readonly reason: string };

export type PluginLogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

export interface PluginProgress {
  readonly progressToken: string | number;
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** One entry of the host's list. */
export interface PluginRecord {
  readonly name: string;
  /** As announced. */
  readonly version: string;
  readonly capabilities: PluginCapabilities;
  /** In listing order, duplicates kept. */
  readonly tool_names: readonly string[];
  readonly native: boolean;
}

/** What the host publishes (section 16 row 16). */
export type PluginEvent =
  | {
      readonly type: 'plugin_started';
      readonly plugin: string;
      readonly version: string;
      readonly tools: number;
      readonly agents: number;
      readonly hook: boolean;
    }
  | {
      readonly type: 'plugin_exited';
      readonly plugin: string;
      readonly code: number | null;
      readonly signal: string | null;
      readonly stderr_tail: string[];
    }
  | { readonly type: 'plugin_restarted'; readonly plugin: string; readonly restarts: number }
  | { readonly type: 'plugin_gave_up'; readonly plugin: string; readonly restarts: number }
  | { readonly type: 'plugin_tools_changed'; readonly plugin: string; readonly tools: string[] }
  | PluginProgressEvent;

export interface PluginProgressEvent {
  readonly type: 'plugin_progress';
  readonly plugin: string;
  readonly run: RunId | null;
  readonly call: CallId | null;
  readonly tool: string;
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Everything a plugin offers, from one process. */
export interface PluginListing {
  readonly tools: readonly ToolDescriptor[];
  readonly agents: readonly AgentSpec[];
}

/** What a tool is told about the call, as it crosses to the plugin. */
export interface PluginCallContext {
  readonly workspace_root: string;
  readonly task_id?: string;
  readonly agent: string;
  readonly permissions: {
    readonly read: boolean;
    readonly write: boolean;
    readonly execute: boolean;
    readonly network: boolean;
  };
}

export function toInitializeParams(host: ProgramInfo): JsonObject {
  const program = { name: host.name, version: host.version };
  return {
    protocol_version: protocolVersion,
    host: program,
    protocolVersion: mcpProtocolVersion,
    clientInfo: program,
    capabilities: {},
  };
}

/** Writes the params of `tools/call`. Extra read paths, run and call stay with the host. */
export type WriteCallParams = (
  tool: string,
  input: JsonObject,
  context: ToolContextData,
  progressToken: number,
) => string;

/**
 * A writer of `tools/call` params as JSON text. It remembers the text of the last tool and context: calls of one run differ
 * in their arguments only, and writing the rest again costs as much as a small call itself.
 */
export function createCallParamsWriter(): WriteCallParams {
  let lastTool = '';
  let toolText = '""';
  let last: ToolContextData | undefined;
  let contextText = '';
  return (tool, input, context, progressToken) => {
    if (tool !== lastTool) {
      toolText = toJsonText(tool);
      lastTool = tool;
    }
    if (last === undefined || !isSameContext(last, context)) {
      contextText = toJsonText(toCallContext(context));
      last = context;
    }
    const argumentsText = toJsonText(input);
    return `{"name":${toolText},"arguments":${argumentsText},"_meta":{"vibe":${contextText},"progressToken":${progressToken}}}`;
  };
}

function toCallContext(context: ToolContextData): PluginCallContext {
  const { read, write, execute, network } = context.permissions;
  return {
    workspace_root: context.workspace_root,
    ...(context.task_id === undefined ? {} : { task_id: context.task_id }),
    agent: context.agent,
    permissions: { read, write, execute, network },
  };
}

function isSameContext(left: ToolContextData, right: ToolContextData): boolean {
  if (left === right) return true;
  const before = left.permissions;
  const now = right.permissions;
  return (
    left.workspace_root === right.workspace_root &&
    left.agent === right.agent &&
    left.task_id === right.task_id &&
    (before === now ||
      (before.read === now.read &&
        before.write === now.write &&
        before.execute === now.execute &&
        before.network === now.network))
  );
}
