import { createHash } from 'node:crypto';
import { isEngineError } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import type { McpCallResult, McpToolDefinition } from '../protocol/mcp.ts';
import { errorOutput, type Tool, type ToolContext, toToolSpec } from '../protocol/tool.ts';
import type { CallOptions } from './connection.ts';
import { toToolOutput } from './results.ts';
import type { NamedTool } from './tool-list.ts';

/** Makes a call on the right connection. */
export type RemoteCall = (
  name: string,
  args: JsonObject,
  options: CallOptions & { readonly context: ToolContext },
) => Promise<McpCallResult>;

/** The owner of a server's tools in the registry. */
export function toolOwner(server: string): string {
  return `mcp:${server}`;
}

/**
 * A server's tool as a tool of the registry. A failed call is an output with the text of mcp-host section 15 and its code
 * as metadata; only the caller's own cancellation throws.
 */
export function toRemoteTool(server: string, tool: NamedTool, call: RemoteCall): Tool {
  const { definition } = tool;
  return {
    name: tool.qualified_name,
    description: definition.description ?? definition.title ?? '',
    input_schema: definition.inputSchema,
    is_mutating: !isReadOnly(definition),
    timeout_ms: 0,
    owner: toolOwner(server),
    runs_in: 'process',
    async call(input, context) {
      const { signal, onProgress } = context;
      try {
        const result = await call(definition.name, input, {
          context,
          signal,
          ...(onProgress === undefined ? {} : { onProgress }),
        });
        return toToolOutput(result);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!isEngineError(error)) throw error;
        return errorOutput(error.message, { error_code: error.code });
      }
    },
  };
}

/** Only the boolean `true` makes a tool read-only (MP9). It changes what may run side by side, never what is permitted. */
export function isReadOnly(definition: McpToolDefinition): boolean {
  return definition.annotations !== undefined && ownValue(definition.annotations, 'readOnlyHint') === true;
}

/** UTF-8 bytes of what a model is offered, divided by 1 024, one decimal (mcp-host 8.1). */
export function sizeInKb(tool: NamedTool): number {
  const { definition, qualified_name } = tool;
  const spec = toToolSpec({
    name: qualified_name,
    description: definition.description ?? definition.title ?? '',
    input_schema: definition.inputSchema,
  });
  return Math.round((Buffer.byteLength(JSON.stringify(spec)) / 1_024) * 10) / 10;
}

/** Tells whether a definition is still the one that was looked at: everything that reaches the model or steers the call. */
export function definitionHash(definition: McpToolDefinition): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  const parts = [name, title ?? null, description ?? null, inputSchema, outputSchema ?? null, annotations ?? null];
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(parts)))
    .digest('hex');
}

function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(sortKeys);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, entry]) => [key, sortKeys(entry)]),
  );
}
