import type { AgentSpec } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import type { HookSet } from '../protocol/hook.ts';
import type { Tool } from '../protocol/tool.ts';
import type { PluginDeclaration } from '../plugins/declaration.ts';
import { createPluginHost } from '../plugins/host.ts';
import { providerKinds } from '../providers/provider.ts';
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
  const tools = new Map<string, Tool>();
  const agents: AgentSpec[] = [];
  const hooks: HookSet[] = [];
  const logger = openLogger(io);
  let lastWords: string | undefined;
  const host = createPluginHost({
    projectRoot: project.root,
    logger: {
      ...logger,
      warn: () => {}, // the failure itself is thrown below
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
  const startedAt = performance.now();
  try {
    await host.load([{ ...plugin, required: false }]);
    const [status] = host.status();
    if (status?.record === undefined) {
      const said = lastWords === undefined ? '' : `; it last said: ${lastWords}`;
      throw new EngineError('plugin', `${status?.lastError ?? `plugin \`${plugin.name}\` did not start`}${said}`);
    }
    return {
      name: plugin.name,
      version: status.record.version,
      tools: [...tools.values()],
      agents,
      hooks,
      startedInMs: performance.now() - startedAt,
      [Symbol.asyncDispose]: () => host.stop(),
    };
  } catch (error) {
    await host.stop();
    throw error;
  }
}

/** Variables a configured provider reads its key from: no plugin sees them (contract README, decision 9). */
function secretNames(project: Project): readonly string[] {
  const configured = Object.values(project.loaded.config.providers ?? {}).flatMap((table) => table.api_key_env ?? []);
  const usual = [...providerKinds.values()].flatMap((kind) => kind.keyVariable ?? []);
  return [...new Set([...configured, ...usual])];
}
