import type { JsonObject } from '../protocol/json.ts';
import { mcpModernVersion } from '../protocol/mcp.ts';

/** Who we are, in both eras. */
export interface ClientIdentity {
  readonly name: string;
  readonly version: string;
}

/** What we offer to servers, in both eras (mcp-host 4.5); never `sampling`. */
export const clientCapabilities = {
  elicitation: { form: {}, url: {} },
  roots: {},
  extensions: { 'io.modelcontextprotocol/tasks': {} },
} as const;

/** What every request of revision 2026-07-28 carries in `_meta`. The SDK adds it to its requests; this is for our own. */
export function requestMeta(client: ClientIdentity): JsonObject {
  return {
    'io.modelcontextprotocol/protocolVersion': mcpModernVersion,
    'io.modelcontextprotocol/clientInfo': { name: client.name, version: client.version },
    'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
  };
}

export const serverInfoKey = 'io.modelcontextprotocol/serverInfo';

/**
 * Members under which our transport hands facts to our adapter through the SDK. A server's own members of these names are
 * removed before.
 */
export const handoverKeys = {
  /** The result as it was read; what the SDK sees in its place has no content. */
  raw: 'vibe-bus/raw',
  /** The tools of a page that were left out. */
  rejected: 'vibe-bus/rejected',
  /** On a progress notice: the call has become a task. */
  task: 'vibe-bus/task',
} as const;
