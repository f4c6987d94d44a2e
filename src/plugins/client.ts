import { EngineError, messageOf } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { ToolContext } from '../protocol/tool.ts';
import { readHookAnswer, readInitialize, readToolResult } from '../protocol/vpp-read.ts';
import {
  type HookAnswer,
  type InitializeResult,
  type PluginToolResult,
  createCallParamsWriter,
  toInitializeParams,
  type ToolDescriptor,
  vppMethods,
} from '../protocol/vpp.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import type { PluginDeclaration } from './declaration.ts';
import { listAgents, listTools } from './listing.ts';
import { createLogIntake } from './log-intake.ts';
import {
  type ConnectionDeps,
  type ConnectionEnd,
  type ConnectionState,
  createPluginLink,
  type PluginLink,
} from './plugin-link.ts';
import { startProcess } from './start-process.ts';

/** One child process (or a plugin in memory) that speaks VPP, from its handshake to its end. */
export interface PluginConnection {
  readonly name: string;
  /** Absent for one in memory. */
  readonly pid: number | undefined;
  readonly state: ConnectionState;
  readonly pendingCount: number;
  readonly announced: InitializeResult;
  readonly tools: readonly ToolDescriptor[];
  readonly agents: readonly AgentSpec[];
  /** @throws EngineError `plugin` or `cancelled`; a failed tool is a value */
  callTool(tool: string, input: JsonObject, context: ToolContext): Promise<PluginToolResult>;
  /** @throws EngineError `plugin` or `cancelled` */
  beforeTool(tool: string, input: JsonObject, signal?: AbortSignal): Promise<HookAnswer>;
  /** Lists again; `tools` is the new list afterwards, the old one when this rejects. */
  refreshTools(): Promise<void>;
  /** Any request; the result as it came. */
  request(method: string, params: JsonObject | undefined, timeoutMs: number, signal?: AbortSignal): Promise<unknown>;
  /** Ends the process (section 7); a second call joins the first. Never rejects. */
  stop(): Promise<void>;
  /** Settles when the process, its group and its pipes are gone and all of its log lines are out. Never rejects. */
  readonly ended: Promise<ConnectionEnd>;
}

/**
 * Starts a plugin and takes it through handshake and listings. One that fails on the way is stopped before this rejects.
 * @param signal gives the start up
 * @throws EngineError `plugin`
 */
export async function openConnection(
  declaration: PluginDeclaration,
  deps: ConnectionDeps,
  signal?: AbortSignal,
): Promise<PluginConnection> {
  const { settings, logger } = deps;
  const intake = createLogIntake({
    plugin: declaration.name,
    logger,
    stderr: settings.stderr,
    logs: settings.logs,
    ignoredPerMinute: settings.limits.ignoredPerMinute,
    elapsed: settings.elapsed,
  });
  const child = await startProcess(declaration, deps, intake.onStderrLine);
  if (child.pid !== undefined) deps.ledger?.add(child.pid);
  return await greet(createPluginLink(declaration, deps, child, intake), declaration, deps, signal);
}

async function greet(
  link: PluginLink,
  declaration: PluginDeclaration,
  deps: ConnectionDeps,
  signal: AbortSignal | undefined,
): Promise<PluginConnection> {
  const { settings, logger } = deps;
  const { peer, child } = link;
  const { timeouts } = settings;
  const listing = {
    plugin: declaration.name,
    peer,
    logger,
    elapsed: settings.elapsed,
    maxPages: settings.maxPages,
    timeoutMs: timeouts.default,
    listingMs: timeouts.listing,
  };
  let announced: InitializeResult | undefined;
  let tools: readonly ToolDescriptor[] = [];
  let agents: readonly AgentSpec[];
  try {
    announced = await peer.request(vppMethods.initialize, toInitializeParams(settings.host), {
      timeoutMs: timeouts.handshake,
      isSilent: true,
      signal,
      read: readInitialize,
    });
    peer.notify(vppMethods.initialized);
    if (announced.capabilities.tools) tools = await listTools(listing, signal);
    agents = announced.capabilities.agents ? await listAgents(listing, signal) : [];
  } catch (error) {
    await link.stop(announced !== undefined);
    throw error;
  }
  link.markReady();
  const writeCallParams = createCallParamsWriter();

  return {
    name: declaration.name,
    pid: child.pid,
    announced,
    agents,
    ended: link.ended,
    get state() {
      return link.state;
    },
    get pendingCount() {
      return peer.pendingCount;
    },
    get tools() {
      return tools;
    },
    callTool(tool, input, context) {
      let params: string;
      try {
        params = writeCallParams(tool, input, context, peer.nextId);
      } catch (cause) {
        const reason = `the arguments cannot be written as JSON: ${messageOf(cause)}`;
        return Promise.reject(new EngineError('plugin', `plugin \`${declaration.name}\`: ${reason}`, { cause }));
      }
      return peer.requestText(vppMethods.callTool, params, {
        timeoutMs: timeouts.toolCall,
        signalSource: context,
        read: readToolResult,
        tag: { tool, context },
      });
    },
    beforeTool: (tool, input, hookSignal) =>
      peer.request(
        vppMethods.beforeTool,
        { tool, input },
        { timeoutMs: timeouts.hook, signal: hookSignal, read: readHookAnswer },
      ),
    async refreshTools() {
      tools = await listTools(listing);
    },
    request: (method, params, timeoutMs, requestSignal) =>
      peer.request(method, params, { timeoutMs, signal: requestSignal, read: (result) => result }),
    stop: () => link.stop(true),
  };
}
