import { createSupervisor, type ActorInfo } from './actors/supervisor.ts';
import { createOutputChecker, type OutputSchema, toHint } from './agent/output-schema.ts';
import { type Bus, createBus } from './bus/bus.ts';
import { createHooks, type Hooks } from './bus/hooks.ts';
import type { UntrustedPart } from './config/config.ts';
import type { Config } from './config/schema.ts';
import { toActorEvent } from './engine/actor-events.ts';
import { createAdmission } from './engine/admission.ts';
import { type AgentRegistry, createAgentRegistry, registerAgents, toSpec } from './engine/agents.ts';
import { checkEngineOptions } from './engine/check-options.ts';
import { createLoopDelayMonitor } from './engine/loop-delay.ts';
import { createLoopWatch } from './engine/loop-watch.ts';
import { type MapInput, type MapOptions, mapRuns } from './engine/map.ts';
import {
  type ContinuationOptions,
  type EngineOptions,
  type RunOptions,
  type StructuredOptions,
  toBudgetLimits,
  toRunLimits,
} from './engine/options.ts';
import type { RunHandle } from './engine/run-handle.ts';
import { createContributions } from './engine/contributions.ts';
import { openHosts } from './engine/hosts.ts';
import { createModels } from './engine/models.ts';
import { createPlacements } from './engine/placement.ts';
import type { RunRequest, StartedRun } from './engine/run-request.ts';
import { createRuns } from './engine/runs.ts';
import { openSandboxProbe } from './engine/server-sandbox.ts';
import { openSetup } from './engine/setup.ts';
import { createStats, type EngineStats } from './engine/stats.ts';
import { createEngineTools } from './engine/tools.ts';
import { createTurns } from './engine/turns.ts';
import type { McpHost } from './mcp/host-options.ts';
import type { PluginHost } from './plugins/host.ts';
import type { AgentInput, AgentOutcome } from './protocol/agent.ts';
import { silentLogger } from './protocol/deps.ts';
import { fromWireError } from './protocol/error.ts';
import { createRandomIds } from './protocol/ids.ts';
import { systemClock } from './protocol/signal.ts';
import { defaultPermissions, type Permissions, type Tool } from './protocol/tool.ts';
import type { Providers } from './providers/registry.ts';
import { createToolRegistry, type ToolRegistry } from './tools/registry.ts';
import { parseRules } from './tools/rules.ts';
import { createRunPool } from './workers/run-pool.ts';

/** An engine: one bus, one registry of tools, agents and hooks, any number of runs. */
export interface Engine extends AsyncDisposable {
  readonly bus: Bus;
  readonly hooks: Hooks;
  readonly tools: ToolRegistry;
  readonly agents: AgentRegistry;
  readonly providers: Providers;
  readonly plugins: PluginHost;
  readonly mcp: McpHost;
  /** Absolute. */
  readonly root: string;
  /** Parts of the project that are left out because nobody trusted them; `vibe-bus trust` does. */
  readonly untrusted: readonly UntrustedPart[];
  /**
   * Starts a run of an agent, given by role or as a spec.
   * @throws EngineError `config` for an unknown role, model or a bad option; code `engine_closed` after `close`
   */
  run(agent: string | AgentInput, message: string, options?: RunOptions): RunHandle;
  /**
   * Runs an agent and reads its answer as JSON in the shape of `schema`: any Standard Schema (zod, valibot, …) or a JSON
   * Schema. An answer that does not fit is repaired once and asked for again once.
   * @throws EngineError with the last outcome as its `outcome`: `invalid_request` when no valid document came, `cancelled`,
   * or the kind the run failed with
   */
  runStructured<T>(
    agent: string | AgentInput,
    message: string,
    schema: OutputSchema<T>,
    options?: StructuredOptions,
  ): Promise<{ readonly value: T; readonly outcome: AgentOutcome }>;
  /** Runs an agent that goes on in a fresh session, from a summary, whenever its context is full. */
  runWithContinuation(agent: string | AgentInput, message: string, options?: ContinuationOptions): RunHandle;
  /**
   * Runs an agent over a list, some side by side; event `map_progressed` after each.
   * @returns the outcomes in the order of the inputs
   * @throws EngineError `config` for a bad option, or when a run cannot start; the others are then cancelled. What the list
   * throws when it is read, before any run starts
   */
  map(agent: string | AgentInput, inputs: Iterable<MapInput>, options?: MapOptions): Promise<readonly AgentOutcome[]>;
  /** Runs that have not ended, those that wait for their turn included. */
  runs(): readonly RunHandle[];
  /** Figures for operators. Rates, shares and delays are those since they were last taken. */
  stats(): EngineStats;
  /** Everything alive: runs, plugin and MCP connections, with state and mailbox depth. */
  actors(): readonly ActorInfo[];
  /** Refuses new runs, cancels the others, stops every process and thread. A second call joins the first. */
  close(): Promise<void>;
}

/**
 * Opens an engine.
 * @throws EngineError `config` for bad options or files, `plugin` when a required plugin does not start
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  checkEngineOptions(options);
  const logger = options.logger ?? silentLogger;
  const clock = options.clock ?? systemClock;
  const newId = options.newId ?? createRandomIds();
  const env = options.env ?? process.env;
  const setup = await openSetup(options, env);
  const { root, config } = setup;
  const rules = [parseRules(config.rules ?? {}, '[rules]'), parseRules(options.rules ?? {}, 'option `rules`')];
  const bus = createBus({ clock, logger });
  const hooks = createHooks({ logger });
  const tools = createToolRegistry();
  const agents = createAgentRegistry();
  const models = createModels(options, config, {
    fetch: options.fetch ?? fetch,
    clock,
    random: options.random ?? Math.random,
    env,
    logger,
  });
  const { runThreads: threads, runsPerThread } = options;
  const runPool = options.runPool ?? createRunPool({ threads, runsPerThread, logger });
  const supervisor = createSupervisor({ clock, onEvent: (event) => void bus.publish(toActorEvent(event)) });
  const admission = createAdmission(options.admission ?? {}, { clock });
  const delay = createLoopDelayMonitor();
  const watch = createLoopWatch({ bus, logger, now: () => performance.now() });
  const placements = createPlacements({
    usual: options.placement,
    ownFunctions: (['clock', 'fetch'] as const).filter((name) => options[name] !== undefined),
    delay,
    logger,
  });
  const secretNames = models.providers.keyVariables();
  const probe = openSandboxProbe(env);
  const engineTools = createEngineTools(options, config, {
    logger,
    env,
    secretNames,
    probe,
    configDir: setup.configDir,
  });
  const registry = createContributions({
    bus,
    tools,
    agents,
    hooks,
    providers: models.providers,
    place: engineTools.place,
  });
  for (const tool of [...engineTools.builtin, ...(options.tools ?? [])]) registry.registerTool(tool);
  await registerAgents(agents, options, setup);
  const hosts = await openHosts(options, setup, { bus, registry, supervisor, clock, logger, env, secretNames, probe });

  const runs = createRuns({
    bus,
    hooks,
    tools,
    agents,
    supervisor,
    clock,
    newId,
    logger,
    root,
    limits: [options, toRunLimits(config)],
    permissions: { ...defaultPermissions, ...extraReadPaths(config), ...options.permissions },
    rules,
    defaults: { ...options, budget: { ...toBudgetLimits(config), ...options.budget } },
    chooseModel: models.choose,
    priceOf: models.priceOf,
    runPool,
    admission,
    placements,
    watch,
    turns: createTurns(),
  });
  const stats = createStats({
    bus,
    runs,
    admission,
    placements,
    supervisor,
    runPool,
    toolPool: engineTools.pool,
    delay,
    clock,
    intervalMs: options.statsIntervalMs,
  });

  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    const grace = new AbortController();
    await Promise.race([
      runs.close(),
      clock.sleep(options.closeGraceMs ?? 10_000, grace.signal).catch(() => {}), // ended in time
    ]);
    grace.abort();
    stats.close();
    delay.close();
    watch[Symbol.dispose]();
    await hosts.stop();
    // why: what still runs in a thread after the grace ends with the thread
    if (options.runPool === undefined) await runPool.close();
    await supervisor.stop();
    await engineTools.close();
  }

  /** A tool given by the embedder runs on the pool when it says where a thread finds it. */
  function registerPlaced(tool: Tool): { readonly replaced: Tool | undefined } {
    const replaced = tools.get(tool.name);
    registry.registerTool(tool);
    return { replaced };
  }

  function startRun(
    agent: string | AgentInput,
    message: string,
    runOptions: RunOptions,
    rest: Pick<RunRequest, 'mode' | 'checkDocument' | 'responseSchema'>,
  ): StartedRun {
    const spec = models.applyPhase(toSpec(agent, agents), runOptions.phase);
    return runs.start({ spec, message, options: runOptions, ...rest });
  }

  try {
    await hosts.start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    bus,
    hooks,
    tools: { ...tools, register: registerPlaced },
    plugins: hosts.plugins,
    mcp: hosts.mcp,
    agents,
    providers: models.providers,
    root,
    untrusted: setup.untrusted,
    run: (agent, message, runOptions = noOptions) =>
      startRun(agent, message, runOptions, { mode: { kind: 'plain' } }).handle,
    async runStructured<T>(
      agent: string | AgentInput,
      message: string,
      schema: OutputSchema<T>,
      structured: StructuredOptions = {},
    ): Promise<{ readonly value: T; readonly outcome: AgentOutcome }> {
      const { hint, ...runOptions } = structured;
      const checker = createOutputChecker<T>(schema);
      const { result } = startRun(agent, message, runOptions, {
        mode: { kind: 'structured', hint: toHint(hint, checker.jsonSchema) },
        checkDocument: checker.check,
        responseSchema: checker.jsonSchema,
      });
      const { outcome, value, error } = await result;
      if (error !== undefined) throw Object.assign(fromWireError(error), { outcome });
      return { value: value as T, outcome };
    },
    runWithContinuation(agent, message, { continuation, ...runOptions } = {}) {
      const policy = {
        ...(continuation?.maxContinuations === undefined ? {} : { max_continuations: continuation.maxContinuations }),
        ...(continuation?.summaryMaxWords === undefined ? {} : { summary_max_words: continuation.summaryMaxWords }),
      };
      return startRun(agent, message, runOptions, { mode: { kind: 'continuation', policy } }).handle;
    },
    map: (agent, inputs, mapOptions = {}) =>
      mapRuns(agent, inputs, mapOptions, {
        bus,
        clock,
        newId,
        run: (role, message, runOptions) => startRun(role, message, runOptions, { mode: { kind: 'plain' } }).handle,
      }),
    runs: runs.active,
    stats: stats.read,
    actors: supervisor.list,
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

/** Folders the configuration lets file tools read, besides the workspace. */
function extraReadPaths(config: Config): Pick<Permissions, 'extra_read_paths'> {
  const paths = config.security?.extra_read_paths;
  return paths === undefined || paths.length === 0 ? {} : { extra_read_paths: paths };
}

const noOptions: RunOptions = {};
