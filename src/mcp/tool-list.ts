import type { McpToolDefinition } from '../protocol/mcp.ts';
import { toToolName } from './names.ts';
import type { RejectedTool } from './normalise.ts';

/** A tool with the name models see. */
export interface NamedTool {
  readonly qualified_name: string;
  readonly definition: McpToolDefinition;
}

export interface ToolList {
  readonly tools: readonly NamedTool[];
  readonly rejected: readonly RejectedTool[];
}

/**
 * Names the tools of a server in list order: the second of a name, and one whose name for models is taken already, are
 * left out (mcp-host 5.1, 6.2). The result depends on the record's name and the list only (MP5).
 */
export function nameTools(
  server: string,
  definitions: readonly McpToolDefinition[],
  rejected: readonly RejectedTool[],
): ToolList {
  const byName = new Set<string>();
  const byQualified = new Map<string, string>();
  const tools: NamedTool[] = [];
  const refused: RejectedTool[] = [...rejected];
  for (const definition of definitions) {
    const qualified_name = toToolName(server, definition.name);
    const holder = byQualified.get(qualified_name);
    if (byName.has(definition.name)) refused.push({ name: definition.name, reason: 'duplicate' });
    else if (holder !== undefined) refused.push({ name: definition.name, reason: 'name_collision', other: holder });
    else {
      byName.add(definition.name);
      byQualified.set(qualified_name, definition.name);
      tools.push({ qualified_name, definition });
    }
  }
  return { tools, rejected: refused };
}
