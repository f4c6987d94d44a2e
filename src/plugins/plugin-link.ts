import type { Logger } from '../protocol/deps.ts';
import { describeError } from '../protocol/error.ts';
import type { ToolContext } from '../protocol/tool.ts';
import { readProgress } from '../protocol/vpp-read.ts';
import { type PluginProgressEvent, vppMethods } from '../protocol/vpp.ts';
import type { ChildExit } from '../transport/child.ts';
import type { PipedProgram } from '../transport/memory-child.ts';
import { createRpcPeer, type RpcPeer } from '../transport/rpc-peer.ts';
import { settlesWithin } from '../transport/settles-within.ts';
import type { PluginDeclaration } from './declaration.ts';
import type { LogIntake } from './log-intake.ts';
import type { ResolvedSettings } from './settings.ts';

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

/** A process and the two ways of ending with it, before and after the handshake. */
export interface PluginLink {
  readonly child: PipedProgram;
  readonly peer: RpcPeer<ProgressTarget>;
  readonly ended: Promise<ConnectionEnd>;
  readonly state: ConnectionState;
  markReady(): void;
  stop(asks: boolean): Promise<void>;
}

export interface ProgressTarget {
  readonly tool: string;
  readonly context: ToolContext;
}

/** How long the news of an exit may lag behind the end of the output. */
const exitNewsMs = 50;
/** A plugin whose output has ended and that still runs after this is stopped. */
const leaveMs = 250;

/** Joins a process that was started to the peer that speaks with it. */
export function createPluginLink(
  declaration: PluginDeclaration,
  deps: ConnectionDeps,
  child: PipedProgram,
  intake: LogIntake,
): PluginLink {
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

function toErrorData(exit: ChildExit | undefined, stderrTail: readonly string[]): unknown {
  if (exit === undefined) return undefined;
  return { exit_code: exit.code, signal: exit.signal, stderr_tail: [...stderrTail] };
}
