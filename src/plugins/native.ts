import type { AgentSpec } from '../protocol/agent.ts';
import type { ContributionRegistry } from '../protocol/contributions.ts';
import type { Logger } from '../protocol/deps.ts';
import { describeError } from '../protocol/error.ts';
import type { HookSet } from '../protocol/hook.ts';
import type { Provider } from '../protocol/model.ts';
import type { Tool } from '../protocol/tool.ts';
import type { PluginRecord } from '../protocol/vpp.ts';

/** A plugin that lives in this process. */
export interface NativePlugin {
  readonly name: string;
  /** Default `0.0.0`. */
  readonly version?: string;
  /** Adds its contributions; synchronous, without side effects, may be called more than once. */
  register(registry: ContributionRegistry): void;
}

export interface NativeContributions {
  readonly tools: readonly Tool[];
  readonly agents: readonly AgentSpec[];
  readonly hooks: readonly HookSet[];
  readonly providers: readonly { readonly name: string; readonly provider: Provider }[];
}

/**
 * What an in-process plugin contributes, collected in a scratch registry, so that one that fails half-way contributes
 * nothing.
 */
export function collectContributions(plugin: NativePlugin, logger: Logger): NativeContributions {
  const tools: Tool[] = [];
  const agents: AgentSpec[] = [];
  const hooks: HookSet[] = [];
  const providers: { name: string; provider: Provider }[] = [];
  const scratch: ContributionRegistry = {
    registerTool(tool) {
      const replaced = tools.some((entry) => entry.name === tool.name);
      tools.push({ ...tool, owner: plugin.name, call: (input, context) => tool.call(input, context) });
      return { replaced };
    },
    removeTool(name) {
      const index = tools.findIndex((entry) => entry.name === name);
      if (index >= 0) tools.splice(index, 1);
    },
    registerAgent: (spec) => void agents.push(spec),
    registerHooks: (set) => void hooks.push(set),
    registerProvider: (name, provider) => void providers.push({ name, provider }),
  };
  try {
    plugin.register(scratch);
  } catch (error) {
    logger.warn(`native plugin \`${plugin.name}\` failed to register: ${describeError(error)}`, {
      plugin: plugin.name,
    });
    return { tools: [], agents: [], hooks: [], providers: [] };
  }
  return { tools, agents, hooks, providers };
}

export function toNativeRecord(plugin: NativePlugin, contributions: NativeContributions): PluginRecord {
  return {
    name: plugin.name,
    version: plugin.version ?? '0.0.0',
    capabilities: {
      tools: contributions.tools.length > 0,
      agents: contributions.agents.length > 0,
      hooks: contributions.hooks.length > 0,
    },
    tool_names: contributions.tools.map((tool) => tool.name),
    native: true,
  };
}
