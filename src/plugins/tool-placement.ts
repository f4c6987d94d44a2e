import type { ContributionRegistry } from '../protocol/contributions.ts';
import type { Logger } from '../protocol/deps.ts';
import { describeError } from '../protocol/error.ts';
import type { Tool } from '../protocol/tool.ts';

/** The registry as plugins need it: they must see what a name stands for before they take or leave it. */
export interface PluginRegistry extends ContributionRegistry {
  findTool(name: string): Tool | undefined;
}

export interface ToolSource {
  readonly plugin: string;
  readonly tools: readonly Tool[];
}

export interface ToolPlacement {
  /** Makes the registry hold exactly these plugin tools, later sources before earlier ones, in one synchronous step. */
  place(sources: readonly ToolSource[]): void;
}

/**
 * Keeps the tools of all plugins in the registry in the order of their declarations (plugin-protocol section 8), however
 * often one of them changes its list. A tool that a plugin had replaced comes back when the plugin drops the name; a tool
 * that someone else registered over a plugin's stays.
 */
export function createToolPlacement(registry: PluginRegistry, logger: Logger): ToolPlacement {
  let placed = new Map<string, Tool>();
  /** What stood under a name before plugins took it. */
  const replaced = new Map<string, Tool>();
  let known: ReadonlySet<string> = new Set();

  /** Takes all plugin tools out; the names that now belong to someone else. */
  function clear(): ReadonlySet<string> {
    const taken = new Set<string>();
    for (const [name, tool] of placed) {
      const current = registry.findTool(name);
      const before = replaced.get(name);
      if (current !== undefined && current.owner !== tool.owner) taken.add(name);
      else if (before !== undefined) registry.registerTool(before);
      else registry.removeTool(name, tool.owner);
    }
    placed = new Map();
    return taken;
  }

  function add(tool: Tool, plugin: string, overrides: Set<string>): void {
    const current = registry.findTool(tool.name);
    try {
      registry.registerTool(tool);
    } catch (error) {
      logger.warn(`cannot register tool \`${tool.name}\`: ${describeError(error)}`, { plugin });
      return;
    }
    if (current !== undefined) {
      if (!placed.has(tool.name)) replaced.set(tool.name, current);
      const key = JSON.stringify([tool.name, plugin]);
      if (!known.has(key)) logger.warn(`tool \`${tool.name}\` overrides an already registered tool`, { plugin });
      overrides.add(key);
    } else replaced.delete(tool.name);
    placed.set(tool.name, tool);
  }

  return {
    place(sources) {
      const taken = clear();
      const overrides = new Set<string>();
      for (const { plugin, tools } of sources) {
        for (const tool of tools) if (!taken.has(tool.name)) add(tool, plugin, overrides);
      }
      known = overrides;
    },
  };
}
