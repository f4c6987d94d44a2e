import type { AgentSpec } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import type { HookSet } from '../protocol/hook.ts';
import { createRandomIds } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import { defaultPermissions, type Tool, type ToolOutput } from '../protocol/tool.ts';
import type { PluginDeclaration } from '../plugins/declaration.ts';
import { createPluginHost, type PluginHost } from '../plugins/host.ts';
import type { PluginStatus } from '../plugins/plugin-status.ts';
import { providerKinds } from '../providers/provider.ts';
import { toFailure, toOutput } from '../tools/output.ts';
import { UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import { openLogger } from './open-engine.ts';
import type { Project } from './project.ts';

/** One plugin, started alone. */
export interface PluginSession extends AsyncDisposable {
  readonly name: string;
  /** As the plugin announces it. */
  readonly version: string;
  readonly tools: readonly Tool[];
  readonly agents: readonly AgentSpec[];
  readonly hooks: readonly HookSet[];
  /** From the start of the process to the end of its listings. */
  readonly startedInMs: number;
  /** Calls one tool, without an agent. @throws UsageError for a tool it does not have */
  call(tool: string, input: JsonObject): Promise<ToolOutput>;
}

/**
 * Starts a plugin the way an engine does, without one.
 * @throws EngineError `plugin` when it does not start; nothing of it is then left running
 */
export async function openPluginSession(
  io: CliIo,
  project: Project,
  plugin: PluginDeclaration,
): Promise<PluginSession> {
  const stage = openStage(io, project);
  const { host, tools } = stage;
  const startedAt = performance.now();
  try {
    await host.load([{ ...plugin, required: false }]);
    const [status] = host.status();
    if (status?.record === undefined) {
      const said = stage.lastWords === undefined ? '' : `; it last said: ${stage.lastWords}`;
      throw new EngineError('plugin', `${status?.lastError ?? `plugin \`${plugin.name}\` did not start`}${said}`);
    }
    return {
      name: plugin.name,
      version: status.record.version,
      tools: [...tools.values()],
      agents: stage.agents,
      hooks: stage.hooks,
      startedInMs: performance.now() - startedAt,
      async call(name, input) {
        const tool = tools.get(name);
        if (tool === undefined) {
          const known = [...tools.keys()].join(', ') || 'none';
          throw new UsageError(`plugin \`${plugin.name}\` has no tool \`${name}\`; its tools: ${known}`);
        }
        return await callTool(tool, input, project.root);
      },
      [Symbol.asyncDispose]: () => host.stop(),
    };
  } catch (error) {
    await host.stop();
    throw error;
  }
}

/** Starts plugins together, as an engine does, and says what became of each; none is left running. */
export async function checkPlugins(
  io: CliIo,
  project: Project,
  plugins: readonly PluginDeclaration[],
): Promise<readonly PluginStatus[]> {
  await using host = openStage(io, project).host;
  await host.load(plugins.map((plugin) => ({ ...plugin, required: false })));
  return host.status();
}

interface Stage {
  readonly host: PluginHost;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly agents: readonly AgentSpec[];
  readonly hooks: readonly HookSet[];
  /** The last stderr line of a plugin that ended. */
  readonly lastWords: string | undefined;
}

function openStage(io: CliIo, project: Project): Stage {
  const tools = new Map<string, Tool>();
  const agents: AgentSpec[] = [];
  const hooks: HookSet[] = [];
  const logger = openLogger(io);
  let lastWords: string | undefined;
  const host = createPluginHost({
    projectRoot: project.root,
    logger: {
      ...logger,
      warn: () => {}, // the failure itself is shown
      debug(message, fields) {
        const tail = fields?.['stderr_tail'];
        if (Array.isArray(tail)) lastWords = tail.filter((line) => typeof line === 'string').at(-1);
        logger.debug(message, fields);
      },
    },
    environment: io.env,
    secretNames: secretNames(project),
    publish: () => {},
    registry: {
      registerTool(tool) {
        const replaced = tools.has(tool.name);
        tools.set(tool.name, tool);
        return { replaced };
      },
      findTool: (name) => tools.get(name),
      removeTool: (name) => void tools.delete(name),
      registerAgent: (spec) => void agents.push(spec),
      registerHooks: (set) => void hooks.push(set),
      registerProvider: () => {},
    },
  });
  return {
    host,
    tools,
    agents,
    hooks,
    get lastWords() {
      return lastWords;
    },
  };
}

async function callTool(tool: Tool, input: JsonObject, root: string): Promise<ToolOutput> {
  const context = {
    workspace_root: root,
    permissions: defaultPermissions,
    agent: 'anonymous',
    call: createRandomIds().call(),
    signal: new AbortController().signal,
  };
  try {
    return toOutput(await tool.call(input, context));
  } catch (error) {
    return toFailure(tool.name, error);
  }
}

/** Variables a configured provider reads its key from: no plugin sees them (contract README, decision 9). */
export function secretNames(project: Project): readonly string[] {
  const configured = Object.values(project.loaded.config.providers ?? {}).flatMap((table) => table.api_key_env ?? []);
  const usual = [...providerKinds.values()].flatMap((kind) => kind.keyVariable ?? []);
  return [...new Set([...configured, ...usual])];
}
