import type { Logger } from '../protocol/deps.ts';
import { describeError, EngineError, messageOf } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { ToolContext } from '../protocol/tool.ts';
import { readHookAnswer, readInitialize, readProgress, readToolResult } from '../protocol/vpp-read.ts';
import {
  type HookAnswer,
  type InitializeResult,
  type PluginProgressEvent,
  type PluginToolResult,
  createCallParamsWriter,
  toInitializeParams,
  type ToolDescriptor,
  vppMethods,
} from '../protocol/vpp.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import type { ChildExit } from '../transport/child.ts';
import type { PipedProgram } from '../transport/memory-child.ts';
import { createRpcPeer, type RpcPeer } from '../transport/rpc-peer.ts';
import { settlesWithin } from '../transport/settles-within.ts';
import type { PluginDeclaration } from './declaration.ts';
import { listAgents, listTools } from './listing.ts';
import { createLogIntake, type LogIntake } from './log-intake.ts';
import type { ResolvedSettings } from './settings.ts';
import { startProcess } from './start-process.ts';

export interface ConnectionDeps {
  readonly projectRoot: string;
  readonly settings: ResolvedSettings;
  /** Adds nothing of its own: lines carry `plugin` already. */
  readonly logger: Logger;
  readonly ledger?: { add(pid: number): void; remove(pid: number): void } | undefined;
  publish(event: PluginProgressEvent): void;
  /** The plugin says that its tools changed; told only while it is ready. */
  onToolsChanged(): void;
}

/** How a plugin process ended. */
export interface ConnectionEnd extends ChildExit {
  readonly stderrTail: readonly string[];
  /** It ended with code 0, nobody having asked: a clean exit. */
  readonly isClean: boolean;
  /** `stop` was called before. */
  readonly wasStopped: boolean;
}

export type ConnectionState = 'ready' | 'dead' | 'stopping' | 'stopped';

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

/** How long the news of an exit may lag behind the end of the output. */
const exitNewsMs = 50;
/** A plugin whose output has ended and that still runs after this is stopped. */
const leaveMs = 250;

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
  return await greet(createLink(declaration, deps, child, intake), declaration, deps, signal);
}

/** A process and the two ways of ending with it, before and after the handshake. */
interface Link {
  readonly child: PipedProgram;
  readonly peer: RpcPeer<ProgressTarget>;
  readonly ended: Promise<ConnectionEnd>;
  readonly state: ConnectionState;
  markReady(): void;
  stop(asks: boolean): Promise<void>;
}

interface ProgressTarget {
  readonly tool: string;
  readonly context: ToolContext;
}

function createLink(
  declaration: PluginDeclaration,
  deps: ConnectionDeps,
  child: PipedProgram,
  intake: LogIntake,
): Link {
  const { settings, logger } = deps;
  const { timeouts } = settings;
  let isReady = false;
  let state: ConnectionState = 'ready';
  let wasStopped = false;
  let outlivedOutput = false;
  let stopping: Promise<void> | undefined;

  const peer = createRpcPeer<ProgressTarget>({
    name: declaration.name,
    input: child.stdin,
    output: child.stdout,
    limits: settings.limits,
    logger,
    elapsed: settings.elapsed,
    sendsCancellations: declaration.cancel ?? settings.cancel,
    onNotification,
    onDisconnect: () => void onDisconnect(), // never rejects: it only waits and stops
  });

  const ended = child.closed.then((exit): ConnectionEnd => {
    const stderrTail = child.stderrTail();
    peer.fail(toErrorData(exit, stderrTail));
    peer.dispose();
    intake.end();
    if (child.pid !== undefined) deps.ledger?.remove(child.pid);
    state = 'stopped';
    return { ...exit, stderrTail, isClean: exit.code === 0 && !outlivedOutput, wasStopped };
  });
  void child.exited.then((exit) => {
    logger.debug(`plugin exited: ${exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`}`, {
      ...exit,
      stderr_tail: child.stderrTail(),
    });
  });

  function onNotification(method: string, params: unknown): void {
    switch (method) {
      case vppMethods.log:
      case vppMethods.mcpLog:
        intake.onLog(params);
        return;
      case vppMethods.progress:
        if (!onProgress(params)) intake.onIgnored(method);
        return;
      case vppMethods.toolsChanged:
        if (isReady && state === 'ready') deps.onToolsChanged();
        else intake.onIgnored(method);
        return;
      default:
        intake.onIgnored(method);
    }
  }

  function onProgress(params: unknown): boolean {
    let report: ReturnType<typeof readProgress>;
    try {
      report = readProgress(params);
    } catch {
      return false;
    }
    const { progressToken, ...figures } = report;
    const target = typeof progressToken === 'number' ? peer.tagOf(progressToken) : undefined;
    if (target === undefined || typeof progressToken !== 'number') return false;
    if (settings.resetTimeoutOnProgress) peer.prolong(progressToken);
    const { run = null, call } = target.context;
    deps.publish({ type: 'plugin_progress', plugin: declaration.name, run, call, tool: target.tool, ...figures });
    return true;
  }

  async function onDisconnect(): Promise<void> {
    if (state === 'ready') state = 'dead';
    if (!(await settlesWithin(child.exited, exitNewsMs))) peer.fail(undefined);
    else peer.fail(toErrorData(child.exit, child.stderrTail()));
    if (stopping !== undefined || (await settlesWithin(child.exited, leaveMs - exitNewsMs))) return;
    outlivedOutput = true;
    await (stopping ??= climbDown(false));
  }

  async function climbDown(asks: boolean): Promise<void> {
    peer.close();
    if (asks && state !== 'dead') {
      state = 'stopping';
      await peer
        .request(vppMethods.shutdown, undefined, {
          timeoutMs: timeouts.shutdownGrace,
          isSilent: true,
          isLast: true,
          read: () => undefined,
        })
        .catch((error: unknown) => logger.debug(`shutdown request failed: ${describeError(error)}`));
    }
    await peer.endInput(timeouts.shutdownGrace);
    await child.stop({
      exitGraceMs: timeouts.shutdownGrace,
      termGraceMs: timeouts.termGrace,
      onKill: () => logger.debug('killing plugin'),
    });
    await ended;
  }

  return {
    child,
    peer,
    ended,
    get state() {
      return state;
    },
    markReady: () => void (isReady = true),
    stop(asks) {
      wasStopped = true;
      return (stopping ??= climbDown(asks));
    },
  };
}

async function greet(
  link: Link,
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

function toErrorData(exit: ChildExit | undefined, stderrTail: readonly string[]): unknown {
  if (exit === undefined) return undefined;
  return { exit_code: exit.code, signal: exit.signal, stderr_tail: [...stderrTail] };
}
