import type { AgentSpec } from './agent.ts';
import type { HookSet } from './hook.ts';
import type { Provider } from './model.ts';
import type { Tool } from './tool.ts';

/**
 * What plugins and MCP servers register into. Registration order is precedence: a same-named tool or agent is replaced in
 * its place, hooks never replace each other.
 */
export interface ContributionRegistry {
  /** `replaced`: a tool of this name was there before. */
  registerTool(tool: Tool): { readonly replaced: boolean };
  /** Removes a tool if it still belongs to that owner (absent owner: the embedder's own). */
  removeTool(name: string, owner?: string): void;
  registerAgent(spec: AgentSpec): void;
  registerHooks(hooks: HookSet): void;
  registerProvider(name: string, provider: Provider): void;
}

/** Takes everything and keeps nothing: for whoever calls servers without offering their tools to anyone. */
export const forgetfulRegistry: ContributionRegistry = {
  registerTool: () => ({ replaced: false }),
  removeTool: () => {},
  registerAgent: () => {},
  registerHooks: () => {},
  registerProvider: () => {},
};
