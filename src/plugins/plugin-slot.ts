import type { Logger } from '../protocol/deps.ts';
import { describeError, EngineError, messageOf } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { HookAnswer, PluginEvent, PluginRecord } from '../protocol/vpp.ts';
import type { RemoteCalls } from './adapt.ts';
import { openConnection, type PluginConnection } from './client.ts';
import type { ConnectionDeps, ConnectionEnd } from './plugin-link.ts';
import type { PluginDeclaration } from './declaration.ts';
import type { ResolvedSettings } from './settings.ts';

export type SlotState = 'starting' | 'ready' | 'restarting' | 'ended' | 'failed' | 'stopped';

export interface SlotDeps extends Omit<ConnectionDeps, 'onToolsChanged' | 'publish'> {
  readonly settings: ResolvedSettings;
  readonly logger: Logger;
  publish(event: PluginEvent): void;
  /** Takes an open connection over, to put itself in front of it. */
  readonly own?: ((connection: PluginConnection) => PluginConnection) | undefined;
  /** The tools of this plugin are others now: register them anew. */
  onToolsReplaced(): void;
}

/** One plugin by its configured name, over all processes it has during its life. */
export interface PluginSlot extends RemoteCalls {
  readonly declaration: PluginDeclaration;
  readonly state: SlotState;
  /** The newest connection; absent before the first start. */
  readonly connection: PluginConnection | undefined;
  /** Since it was last up for a minute. */
  readonly restarts: number;
  readonly lastError: string | undefined;
  record(): PluginRecord | undefined;
  /** The first start, or one more after it ended, failed or was stopped. @throws EngineError `plugin` */
  start(signal?: AbortSignal): Promise<void>;
  /** @throws EngineError `plugin` */
  request(method: string, params: JsonObject | undefined, timeoutMs: number, signal?: AbortSignal): Promise<unknown>;
  stop(): Promise<void>;
}

const goOn: HookAnswer = { decision: 'continue' };

export function createPluginSlot(declaration: PluginDeclaration, deps: SlotDeps): PluginSlot {
  const { settings, logger } = deps;
  const { name } = declaration;
  const limits = settings.restart;
  const policy = declaration.restart ?? limits.policy;

  let state: SlotState = 'stopped';
  let connection: PluginConnection | undefined;
  let restarts = 0;
  let readyAt = 0;
  let hadHook = false;
  let lastError: string | undefined;
  let supervision: Promise<void> = Promise.resolve();
  let life = new AbortController();
  let isListing = false;
  let isListedAgain = false;

  /** Runs a call on the process that can be called now. */
  function call<T>(work: (open: PluginConnection) => Promise<T>): Promise<T> {
    return state === 'ready' && connection !== undefined ? work(connection) : Promise.reject(closedError());
  }

  function closedError(): EngineError {
    return new EngineError('plugin', `plugin \`${name}\` is closed`, { code: 'closed' });
  }

  async function open(signal: AbortSignal): Promise<PluginConnection> {
    const opened = await openConnection(declaration, { ...deps, onToolsChanged: () => void refreshTools() }, signal);
    return deps.own?.(opened) ?? opened;
  }

  async function start(signal?: AbortSignal): Promise<void> {
    life = new AbortController();
    const { signal: ended } = life;
    const abort = (): void => life.abort();
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    state = 'starting';
    restarts = 0;
    hadHook = false;
    try {
      adopt(await open(ended));
    } catch (error) {
      state = ended.aborted ? 'stopped' : 'failed';
      lastError = messageOf(error);
      throw ended.aborted ? closedError() : error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  function adopt(opened: PluginConnection): void {
    connection = opened;
    hadHook ||= opened.announced.capabilities.hooks;
    readyAt = settings.elapsed();
    state = 'ready';
    lastError = undefined;
    supervision = watch(opened);
  }

  /** Follows one process to its end; never rejects. */
  async function watch(opened: PluginConnection): Promise<void> {
    const end = await opened.ended;
    deps.publish({
      type: 'plugin_exited',
      plugin: name,
      code: end.code,
      signal: end.signal,
      stderr_tail: [...end.stderrTail],
    });
    if (end.wasStopped || life.signal.aborted) {
      state = 'stopped';
      return;
    }
    lastError = describeEnd(end);
    state = 'ended';
    if (policy === 'on-failure' && !end.isClean) await restart();
  }

  async function restart(): Promise<void> {
    if (settings.elapsed() - readyAt >= limits.stableMs) restarts = 0;
    state = 'restarting';
    while (restarts < limits.max) {
      const delayMs = Math.min(limits.firstDelayMs * 2 ** restarts, limits.longestDelayMs);
      restarts += 1;
      await sleep(delayMs, life.signal);
      if (life.signal.aborted) break;
      try {
        const opened = await open(life.signal);
        if (await keepsHook(opened)) {
          onRestarted(opened);
          return;
        }
      } catch (error) {
        lastError = messageOf(error);
        logger.debug(`restart failed: ${describeError(error)}`);
      }
    }
    if (life.signal.aborted) {
      state = 'stopped';
      return;
    }
    state = 'failed';
    logger.warn(`plugin \`${name}\` keeps failing; giving up after ${limits.max} restarts`);
    deps.publish({ type: 'plugin_gave_up', plugin: name, restarts });
  }

  /** A policy must not vanish because its plugin came back without it. */
  async function keepsHook(opened: PluginConnection): Promise<boolean> {
    if (!life.signal.aborted && (!hadHook || opened.announced.capabilities.hooks)) return true;
    lastError = `plugin \`${name}\` no longer offers its hook`;
    await opened.stop();
    return false;
  }

  function onRestarted(opened: PluginConnection): void {
    adopt(opened);
    deps.onToolsReplaced();
    deps.publish({ type: 'plugin_restarted', plugin: name, restarts });
  }

  /** At most one listing running and one waiting, however often the plugin says that its tools changed. */
  async function refreshTools(): Promise<void> {
    if (isListing) {
      isListedAgain = true;
      return;
    }
    isListing = true;
    try {
      do {
        isListedAgain = false;
        await refreshOnce();
      } while (isListedAgain);
    } finally {
      isListing = false;
    }
  }

  async function refreshOnce(): Promise<void> {
    const asked = connection;
    if (state !== 'ready' || asked === undefined || asked.state !== 'ready' || !asked.announced.capabilities.tools)
      return;
    try {
      await asked.refreshTools();
    } catch (error) {
      if (asked.state === 'ready')
        logger.warn(`cannot refresh the tools of plugin \`${name}\`: ${describeError(error)}`);
      return;
    }
    if (state !== 'ready' || connection !== asked) return;
    deps.onToolsReplaced();
    deps.publish({ type: 'plugin_tools_changed', plugin: name, tools: asked.tools.map((tool) => tool.name) });
  }

  async function stop(): Promise<void> {
    life.abort();
    await connection?.stop();
    await supervision;
    state = 'stopped';
  }

  return {
    declaration,
    get state() {
      return state;
    },
    get connection() {
      return connection;
    },
    get restarts() {
      return restarts;
    },
    get lastError() {
      return lastError;
    },
    record: () => (connection === undefined ? undefined : toRecord(name, connection)),
    start,
    stop,
    callTool: (tool, input, context) =>
      state === 'ready' && connection !== undefined
        ? connection.callTool(tool, input, context)
        : Promise.reject(closedError()),
    beforeTool: (tool, input, signal) =>
      call((open) =>
        // why: a later load may have brought the plugin back without its hook, and what is not offered is not called
        open.announced.capabilities.hooks ? open.beforeTool(tool, input, signal) : Promise.resolve(goOn),
      ),
    request: (method, params, timeoutMs, signal) => call((open) => open.request(method, params, timeoutMs, signal)),
  };
}

function toRecord(name: string, connection: PluginConnection): PluginRecord {
  const { version, capabilities } = connection.announced;
  return { name, version, capabilities, tool_names: connection.tools.map((tool) => tool.name), native: false };
}

function describeEnd(end: ConnectionEnd): string {
  const last = end.stderrTail.at(-1);
  const how = end.signal === null ? `exit code ${end.code}` : `signal ${end.signal}`;
  return last === undefined ? `ended with ${how}` : `ended with ${how}: ${last}`;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener('abort', wake, { once: true });
  });
}
