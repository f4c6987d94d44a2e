import type { ToolSelection } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import type { Tool } from '../protocol/tool.ts';

/** Name to tool, in registration order; registering a name again replaces the tool and keeps its place. */
export interface ToolRegistry {
  /** @throws EngineError `config` for a name that is blank */
  register(tool: Tool): { readonly replaced: Tool | undefined };
  /** Removes a tool; with `owner`, only if it still belongs to that owner. */
  remove(name: string, owner?: string): void;
  get(name: string): Tool | undefined;
  list(): readonly Tool[];
  /** Another number after every change. */
  revision(): number;
  /** The tools a selection stands for, in registry order; unknown names are dropped. */
  resolve(selection: ToolSelection): readonly Tool[];
}

const readOnlyNames: ReadonlySet<string> = new Set([
  'read_file',
  'glob',
  'grep',
  'list_dir',
  'web_fetch',
  'web_search',
]);

export function createToolRegistry(): ToolRegistry {
  const tools = new Map<string, Tool>();
  let revision = 0;
  return {
    register(tool) {
      if (tool.name.trim() === '') throw new EngineError('config', 'a tool needs a name');
      const replaced = tools.get(tool.name);
      tools.set(tool.name, tool);
      revision += 1;
      return { replaced };
    },
    remove(name, owner) {
      const tool = tools.get(name);
      if (tool === undefined || (owner !== undefined && tool.owner !== owner)) return;
      tools.delete(name);
      revision += 1;
    },
    revision: () => revision,
    get: (name) => tools.get(name),
    list: () => [...tools.values()],
    resolve: (selection) => [...tools.values()].filter((tool) => isSelected(selection, tool.name)),
  };
}

/** Names of `available` that a selection offers, in their order, without duplicates (agent-runtime section 1). */
export function selectTools(selection: ToolSelection, available: readonly string[]): readonly string[] {
  return [...new Set(available)].filter((name) => isSelected(selection, name));
}

function isSelected(selection: ToolSelection, name: string): boolean {
  switch (selection) {
    case 'none':
      return false;
    case 'all':
      return true;
    case 'read_only':
      return readOnlyNames.has(name);
    case 'read_write':
      return readOnlyNames.has(name) || name === 'write_file';
    default:
      return selection.named.includes(name);
  }
}
