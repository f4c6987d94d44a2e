import type { BusEvent } from '../bus/events.ts';
import type { ContributionRegistry } from '../protocol/contributions.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import type { McpServerRecord, McpToolInfo } from '../protocol/mcp.ts';
import { mcpError } from './errors.ts';
import { toPrintable } from './log-text.ts';
import { isToolAllowed, matchesAny } from './names.ts';
import type { Pins } from './pins.ts';
import { definitionHash, isReadOnly, type RemoteCall, sizeInKb, toolOwner, toRemoteTool } from './remote-tool.ts';
import type { NamedTool, ToolList } from './tool-list.ts';

export interface ToolShelfOptions {
  readonly record: McpServerRecord;
  readonly registry: ContributionRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publish: (event: BusEvent) => void;
  readonly call: RemoteCall;
  readonly pins: Pins;
}

/** The tools of one server: what it last listed, and which of them are registered (mcp-host section 8). */
export interface ToolShelf {
  /** Takes over a list: vanished tools leave the registry, changed ones are registered anew, eager ones are loaded. */
  update(list: ToolList): void;
  record(): McpServerRecord;
  /** Other patterns for the same server. */
  setRecord(record: McpServerRecord): void;
  /**
   * Registers a listed tool; one that is registered already stays as it is.
   * @param started when the order was given, on the clock
   * @throws EngineError `not_found`, `untrusted`, `invalid_request`
   */
  load(tool: string, started: number): McpToolInfo;
  /** Accepts the definition as it is listed now. @throws EngineError `not_found` */
  approve(tool: string): void;
  /** Whether some tools are to be registered from the start. */
  wantsStart(): boolean;
  unload(tool: string): void;
  unloadAll(): void;
  tools(): readonly McpToolInfo[];
}

export function createToolShelf(options: ToolShelfOptions): ToolShelf {
  const { registry, clock, logger, publish, pins } = options;
  let { record } = options;
  const server_name = record.name;
  let latest: ToolList = { tools: [], rejected: [] };
  let listed = new Map<string, NamedTool>();
  const announced = new Map<string, string>();
  const loaded = new Map<string, { readonly qualifiedName: string; readonly hash: string }>();

  function update(list: ToolList): void {
    const started = clock.elapsed();
    latest = list;
    const allowed = list.tools.filter((tool) => isToolAllowed(record.tools, tool.definition.name));
    listed = new Map(allowed.map((tool) => [tool.definition.name, tool]));
    for (const [name, held] of loaded) {
      const tool = listed.get(name);
      if (tool === undefined) drop(name);
      else if (definitionHash(tool.definition) !== held.hash) change(tool);
    }
    for (const [name, tool] of listed) {
      const isEager = matchesAny([...record.tools.eager, ...record.tools.pinned], name);
      if (!isEager || loaded.has(name)) continue;
      const status = statusOf(tool);
      if (status === 'unloaded') register(tool, started);
      else if (status === 'quarantined') announceChange(tool);
    }
  }

  function change(tool: NamedTool): void {
    announceChange(tool);
    if (pins.isStrict) drop(tool.definition.name);
    else put(tool);
  }

  /** Once per new form: a list is read many times. */
  function announceChange(tool: NamedTool): void {
    const { name } = tool.definition;
    const hash = definitionHash(tool.definition);
    if (announced.get(name) === hash) return;
    announced.set(name, hash);
    logger.warn('mcp.tool.changed', { server_name, tool_name: toPrintable(name) });
    publish({ type: 'mcp_tool_changed', server_name, tool_name: name });
  }

  function register(tool: NamedTool, started: number): void {
    const elapsed_ms = Math.round(clock.elapsed() - started);
    const size_kb = sizeInKb(tool);
    put(tool);
    const { name } = tool.definition;
    logger.info('mcp.tool.load', { server_name, tool_name: toPrintable(name), elapsed_ms, size_kb });
    publish({ type: 'mcp_tool_loaded', server_name, tool_name: name, elapsed_ms, size_kb });
  }

  function put(tool: NamedTool): void {
    const { name } = tool.definition;
    const hash = definitionHash(tool.definition);
    if (pins.check(idOf(name), hash) === 'changed') announceChange(tool);
    pins.accept(idOf(name), hash);
    registry.registerTool(toRemoteTool(server_name, tool, options.call));
    loaded.set(name, { qualifiedName: tool.qualified_name, hash });
  }

  function idOf(name: string): string {
    return `${server_name}/${name}`;
  }

  function drop(name: string): void {
    const held = loaded.get(name);
    if (held === undefined) return;
    loaded.delete(name);
    registry.removeTool(held.qualifiedName, toolOwner(server_name));
    publish({ type: 'mcp_tool_unloaded', server_name, tool_name: name });
  }

  function statusOf(tool: NamedTool): McpToolInfo['status'] {
    const { definition } = tool;
    // why: tasks of the older kind are not spoken, so such a tool cannot be called at all
    if (definition.execution?.['taskSupport'] === 'required') return 'unsupported';
    const pin = pins.isStrict ? pins.check(idOf(definition.name), definitionHash(definition)) : 'same';
    if (pin === 'changed') return 'quarantined';
    return loaded.has(definition.name) ? 'loaded' : 'unloaded';
  }

  function find(name: string): NamedTool {
    const tool = listed.get(name);
    if (tool === undefined) throw mcpError('not_found', `MCP server \`${server_name}\` has no tool of that name`);
    return tool;
  }

  function toInfo(tool: NamedTool): McpToolInfo {
    const { definition } = tool;
    return {
      id: idOf(definition.name),
      qualified_name: tool.qualified_name,
      server_name,
      name: definition.name,
      ...(definition.title === undefined ? {} : { title: definition.title }),
      description: definition.description ?? '',
      read_only: isReadOnly(definition),
      status: statusOf(tool),
      size_kb: sizeInKb(tool),
      pinned: matchesAny(record.tools.pinned, definition.name),
    };
  }

  return {
    update,
    record: () => record,
    setRecord(next) {
      record = next;
      update(latest);
    },
    load(name, started) {
      const tool = find(name);
      const status = statusOf(tool);
      if (status === 'unsupported') {
        throw mcpError(
          'invalid_request',
          'this tool works only through tasks of the older kind, which this client does not speak',
        );
      }
      if (status === 'quarantined')
        throw mcpError('untrusted', 'the definition of this tool changed and is not approved yet');
      if (status === 'unloaded') register(tool, started);
      return toInfo(tool);
    },
    approve(name) {
      pins.accept(idOf(name), definitionHash(find(name).definition));
    },
    wantsStart: () => record.tools.eager.length + record.tools.pinned.length > 0,
    unload: drop,
    unloadAll() {
      for (const name of loaded.keys()) drop(name);
    },
    tools: () => [...listed.values()].map(toInfo),
  };
}
