import type { Bus } from '../bus/bus.ts';
import type { Hooks } from '../bus/hooks.ts';
import type { PluginRegistry } from '../plugins/tool-placement.ts';
import type { Tool } from '../protocol/tool.ts';
import type { Providers } from '../providers/registry.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { AgentRegistry } from './agents.ts';

/** What plugins and MCP servers register into: the engine's registries, with an event for each override of a tool. */
export function createContributions(deps: {
  readonly bus: Bus;
  readonly tools: ToolRegistry;
  readonly agents: AgentRegistry;
  readonly hooks: Hooks;
  readonly providers: Providers;
  /** Gives a tool the place it runs in. */
  place(tool: Tool): Tool;
}): PluginRegistry {
  return {
    registerTool(tool) {
      const { replaced } = deps.tools.register(deps.place(tool));
      if (replaced !== undefined) {
        deps.bus.publish({
          type: 'tool_overridden',
          tool: tool.name,
          owner: tool.owner ?? null,
          previous_owner: replaced.owner ?? null,
        });
      }
      return { replaced: replaced !== undefined };
    },
    findTool: (name) => deps.tools.get(name),
    removeTool: (name, owner) => deps.tools.remove(name, owner),
    registerAgent: (spec) => deps.agents.register(spec),
    registerHooks: (hooks) => void deps.hooks.register(hooks),
    registerProvider: (name, provider) => deps.providers.register(name, provider),
  };
}
