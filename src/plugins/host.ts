import { type Logger, withFields } from '../protocol/deps.ts';
import { describeError, EngineError, messageOf, toEngineError } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { PluginEvent, PluginRecord } from '../protocol/vpp.ts';
import { toHookSet, toTool } from './adapt.ts';
import type { PluginConnection } from './client.ts';
import type { PluginDeclaration } from './declaration.ts';
import { collectContributions, type NativeContributions, type NativePlugin, toNativeRecord } from './native.ts';
import { createPluginSlot, type PluginSlot } from './plugin-slot.ts';
import { type PluginStatus, toNativeStatus, toStatus } from './plugin-status.ts';
import { ownProgram } from './program.ts';
import { type PluginHostSettings, resolveSettings } from './settings.ts';
import { createToolPlacement, type PluginRegistry, type ToolSource } from './tool-placement.ts';

export interface PluginHostOptions extends PluginHostSettings {
  readonly registry: PluginRegistry;
  readonly logger: Logger;
  /** Where relative working directories start. Absolute. */
  readonly projectRoot: string;
  /** The children, on disk, for the next start after a crash. Default: none. */
  readonly ledger?: { add(pid: number): void; remove(pid: number): void };
  /** Takes each open connection over, to put itself in front of it: an actor does. */
  readonly own?: (connection: PluginConnection) => PluginConnection;
  publish(event: PluginEvent): void;
}

/** Starts plugins, registers what they offer and stops them (plugin-protocol sections 7 and 8). */
export interface PluginHost extends AsyncDisposable {
  /** Adds an in-process plugin; its contributions precede those of all remote ones. */
  addNative(plugin: NativePlugin): void;
  /**
   * Starts all declared plugins at once and registers them in the order of their declarations. Who declares them is
   * trusted: this starts programs.
   * @throws EngineError `plugin` when a required one does not start; then every plugin of this host is stopped
   */
  load(declarations: readonly PluginDeclaration[]): Promise<readonly PluginRecord[]>;
  /** In-process plugins first, then the remote ones that were started, in order. */
  records(): readonly PluginRecord[];
  /** The same and those that did not start. */
  status(): readonly PluginStatus[];
  /** A raw request to one plugin; the result as it came. @throws EngineError `plugin` */
  request(plugin: string, method: string, params?: JsonObject, timeoutMs?: number): Promise<unknown>;
  /** Starts a plugin that ended or was given up once more. @throws EngineError `plugin` */
  restart(plugin: string): Promise<void>;
  /** Stops all processes; when this settles they are gone. May be called at any time, any number of times. */
  stop(): Promise<void>;
}

interface LoadedNative {
  readonly plugin: NativePlugin;
  readonly contributions: NativeContributions;
}

/** @throws EngineError `config` for a setting that cannot be meant */
export function createPluginHost(options: PluginHostOptions): PluginHost {
  const { registry, logger, publish } = options;
  const settings = resolveSettings(options, ownProgram);
  const placement = createToolPlacement(registry, logger);
  const natives: LoadedNative[] = [];
  let loaded: readonly PluginSlot[] = [];
  let failed: readonly PluginSlot[] = [];
  /** By plugin name: the slot its one registered hook asks. */
  const hookTargets = new Map<string, { slot: PluginSlot }>();
  let lane: Promise<unknown> = Promise.resolve();
  /** One for each plugin that is starting: many listeners on one signal look like a leak to Node. */
  let starting: readonly AbortController[] = [];
  let stopping: Promise<void> | undefined;

  /** Loads and stops one at a time, in the order they were asked for. */
  function inLane<T>(work: () => Promise<T>): Promise<T> {
    const result = lane.then(work);
    lane = result.catch(() => {}); // reported to whoever asked
    return result;
  }

  function placeTools(): void {
    const sources: ToolSource[] = natives.map(({ plugin, contributions }) => ({
      plugin: plugin.name,
      tools: contributions.tools,
    }));
    for (const slot of loaded) {
      const { name } = slot.declaration;
      sources.push({ plugin: name, tools: (slot.connection?.tools ?? []).map((tool) => toTool(tool, name, slot)) });
    }
    placement.place(sources);
  }

  function addNative(plugin: NativePlugin): void {
    if (isTaken(plugin.name)) {
      warnOfDuplicate(plugin.name);
      return;
    }
    const contributions = collectContributions(plugin, logger);
    natives.push({ plugin, contributions });
    placeTools();
    for (const spec of contributions.agents) registry.registerAgent(spec);
    for (const slot of loaded) registerAgents(slot);
    for (const hooks of contributions.hooks) registry.registerHooks(hooks);
    for (const { name, provider } of contributions.providers) registry.registerProvider(name, provider);
  }

  function isTaken(name: string): boolean {
    return natives.some(({ plugin }) => plugin.name === name) || loaded.some((slot) => slot.declaration.name === name);
  }

  function warnOfDuplicate(name: string): void {
    logger.warn(`plugin \`${name}\` declared twice; ignoring duplicate`, { plugin: name });
  }

  function registerAgents(slot: PluginSlot): void {
    for (const spec of slot.connection?.agents ?? []) registry.registerAgent(spec);
  }

  function registerHook(slot: PluginSlot): void {
    const { name } = slot.declaration;
    const target = hookTargets.get(name);
    if (target !== undefined) {
      target.slot = slot;
      return;
    }
    if (slot.record()?.capabilities.hooks !== true) return;
    const fresh = { slot };
    hookTargets.set(name, fresh);
    const remote: Parameters<typeof toHookSet>[1] = {
      callTool: (...call) => fresh.slot.callTool(...call),
      beforeTool: (...call) => fresh.slot.beforeTool(...call),
    };
    registry.registerHooks(toHookSet(name, remote, withFields(logger, { plugin: name })));
  }

  function createSlot(declaration: PluginDeclaration): PluginSlot {
    return createPluginSlot(declaration, {
      projectRoot: options.projectRoot,
      settings,
      logger: withFields(logger, { plugin: declaration.name }),
      ledger: options.ledger,
      publish,
      onToolsReplaced: placeTools,
      own: options.own,
    });
  }

  async function loadNow(declarations: readonly PluginDeclaration[]): Promise<readonly PluginRecord[]> {
    const fresh: PluginSlot[] = [];
    for (const declaration of declarations) {
      const { name } = declaration;
      if (isTaken(name) || fresh.some((slot) => slot.declaration.name === name)) warnOfDuplicate(name);
      else fresh.push(createSlot(declaration));
    }
    starting = fresh.map(() => new AbortController());
    const outcomes = await Promise.allSettled(fresh.map((slot, index) => slot.start(starting[index]?.signal)));
    starting = [];
    const broken = reportFailures(fresh, outcomes);
    const ready = fresh.filter((_, index) => outcomes[index]?.status === 'fulfilled');
    failed = [...failed.filter((slot) => !isAmong(slot, fresh)), ...fresh.filter((slot) => !ready.includes(slot))];
    if (broken !== undefined) {
      await stopSlots([...loaded, ...ready]);
      loaded = [];
      throw broken;
    }
    loaded = [...loaded, ...ready];
    placeTools();
    for (const slot of ready) registerAgents(slot);
    for (const slot of ready) registerHook(slot);
    for (const slot of ready) announce(slot);
    return records();
  }

  function announce(slot: PluginSlot): void {
    const record = slot.record();
    if (record === undefined) return;
    publish({
      type: 'plugin_started',
      plugin: record.name,
      version: record.version,
      tools: record.tool_names.length,
      agents: slot.connection?.agents.length ?? 0,
      hook: record.capabilities.hooks,
    });
  }

  /** Logs each failure in declaration order; the error of the first required one. */
  function reportFailures(
    slots: readonly PluginSlot[],
    outcomes: readonly PromiseSettledResult<void>[],
  ): EngineError | undefined {
    let first: EngineError | undefined;
    for (const [index, outcome] of outcomes.entries()) {
      const declaration = slots[index]?.declaration;
      if (outcome.status === 'fulfilled' || declaration === undefined) continue;
      const { name } = declaration;
      const cause = toEngineError(outcome.reason, 'plugin');
      if (declaration.required !== true) {
        logger.warn(`skipping plugin \`${name}\`: ${describeError(cause)}`, { plugin: name });
        continue;
      }
      logger.error(`required plugin \`${name}\` failed to start: ${describeError(cause)}`, { plugin: name });
      const message = `required plugin \`${name}\` failed to start: ${messageOf(cause)}`;
      first ??= new EngineError('plugin', message, { code: cause.code, data: cause.data, cause });
    }
    return first;
  }

  function records(): readonly PluginRecord[] {
    const native = natives.map(({ plugin, contributions }) => toNativeRecord(plugin, contributions));
    return [...native, ...loaded.flatMap((slot) => slot.record() ?? [])];
  }

  function find(plugin: string): PluginSlot {
    const slot = [...loaded, ...failed].find((entry) => entry.declaration.name === plugin);
    if (slot === undefined) {
      throw new EngineError('plugin', `there is no plugin \`${plugin}\``, { code: 'not_found' });
    }
    return slot;
  }

  async function restartNow(plugin: string): Promise<void> {
    const slot = find(plugin);
    await slot.stop();
    await slot.start();
    if (!loaded.includes(slot)) {
      failed = failed.filter((entry) => entry !== slot);
      loaded = [...loaded, slot];
    }
    placeTools();
    registerAgents(slot);
    registerHook(slot);
    announce(slot);
  }

  function stop(): Promise<void> {
    for (const start of starting) start.abort();
    stopping ??= inLane(async () => {
      await stopSlots(loaded);
      loaded = [];
      failed = [];
    }).finally(() => (stopping = undefined));
    return stopping;
  }

  return {
    addNative,
    load: (declarations) => inLane(() => loadNow(declarations)),
    records,
    status: () => [
      ...natives.map(({ plugin, contributions }) => toNativeStatus(plugin, contributions)),
      ...[...loaded, ...failed].map(toStatus),
    ],
    async request(plugin, method, params, timeoutMs = settings.timeouts.default) {
      return await find(plugin).request(method, params, timeoutMs);
    },
    restart: (plugin) => inLane(() => restartNow(plugin)),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function isAmong(slot: PluginSlot, others: readonly PluginSlot[]): boolean {
  return others.some((other) => other.declaration.name === slot.declaration.name);
}

async function stopSlots(slots: readonly PluginSlot[]): Promise<void> {
  await Promise.all(slots.map((slot) => slot.stop()));
}
