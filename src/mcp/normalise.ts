import { isDeeperThan, isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import type { McpEra, McpToolDefinition } from '../protocol/mcp.ts';
import { checkSchemaReferences } from './schema-references.ts';
import { checkParameterHeaders } from './parameter-headers.ts';

/** Why a tool of a list is left out (closed list, mcp-host 6.3). */
export type RejectReason =
  | 'name_missing'
  | 'schema_not_object'
  | 'too_large'
  | 'too_deep'
  | 'remote_reference'
  | 'unresolved_reference'
  | 'header_declaration'
  | 'name_collision'
  | 'duplicate';

export interface RejectedTool {
  /** As the server wrote it, cut to 128 characters; empty when it has none. */
  readonly name: string;
  readonly reason: RejectReason;
  /** The tool that holds the name already; only with `name_collision`. */
  readonly other?: string;
}

/** Longest time a result may be reused, in milliseconds: 24 h (mcp-host 6.1, MP12). */
export const maxTtlMs = 86_400_000;
const maxToolBytes = 256 * 1_024;
const maxToolDepth = 64;

/** How long a result may be reused: a whole number of milliseconds; anything else is 0 (mcp-host 6.1). */
export function readTtlMs(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? Math.min(value, maxTtlMs) : 0;
}

const cacheableMethods: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/**
 * Fills in the members of a result whose absence makes the SDK refuse it as a whole (mcp-host 6.3). Content is never
 * touched. In the legacy era there is nothing to fill in.
 */
export function normaliseResult(method: string, result: JsonObject, era: McpEra): JsonObject {
  const meta = ownValue(result, '_meta');
  const fixed: Record<string, Json> = { ...result };
  // why: a foreign `_meta` of the wrong type makes the whole message unreadable for the SDK; nothing of it is needed
  if (meta !== undefined && !isJsonObject(meta)) delete fixed['_meta'];
  if (ownValue(result, 'nextCursor') === null) delete fixed['nextCursor'];
  if (era === 'legacy') return fixed;
  if (ownValue(result, 'resultType') === undefined) fixed['resultType'] = 'complete';
  if (cacheableMethods.has(method) && fixed['resultType'] === 'complete') {
    fixed['ttlMs'] = readTtlMs(ownValue(result, 'ttlMs'));
    fixed['cacheScope'] = ownValue(result, 'cacheScope') === 'public' ? 'public' : 'private';
  }
  return fixed;
}

export interface ToolPage {
  readonly tools: readonly McpToolDefinition[];
  readonly rejected: readonly RejectedTool[];
}

export interface ToolRules {
  readonly era: McpEra;
  /** Judge the header declarations too: they matter on HTTP in the modern era. */
  readonly checkHeaders: boolean;
}

/** The usable tools of one page. */
export function readTools(entries: readonly unknown[], rules: ToolRules): ToolPage {
  const tools: McpToolDefinition[] = [];
  const rejected: RejectedTool[] = [];
  for (const entry of entries) {
    const tool = readTool(entry, rules);
    if ('reason' in tool) rejected.push(tool);
    else tools.push(tool);
  }
  return { tools, rejected };
}

function readTool(entry: unknown, rules: ToolRules): McpToolDefinition | RejectedTool {
  const name = isJsonObject(entry) ? ownValue(entry, 'name') : undefined;
  const reject = (reason: RejectReason): RejectedTool => ({
    name: typeof name === 'string' ? name.slice(0, 128) : '',
    reason,
  });
  if (!isJsonObject(entry) || typeof name !== 'string' || name === '') return reject('name_missing');
  if (isDeeperThan(entry, maxToolDepth)) return reject('too_deep');
  if (Buffer.byteLength(JSON.stringify(entry)) > maxToolBytes) return reject('too_large');
  const inputSchema = ownValue(entry, 'inputSchema');
  if (!isJsonObject(inputSchema) || inputSchema['type'] !== 'object') return reject('schema_not_object');
  const reference = checkSchemaReferences(inputSchema);
  if (reference !== undefined) return reject(reference);
  if (rules.checkHeaders && !checkParameterHeaders(inputSchema)) return reject('header_declaration');

  const outputSchema = ownValue(entry, 'outputSchema');
  const execution = ownValue(entry, 'execution');
  const meta = ownValue(entry, '_meta');
  return {
    name,
    ...texts(entry, 'title', 'description'),
    inputSchema,
    ...(isJsonObject(outputSchema) && checkSchemaReferences(outputSchema) === undefined ? { outputSchema } : {}),
    ...annotationsOf(entry),
    // why: the modern era has no such member, tasks are an extension there
    ...(rules.era === 'legacy' && isJsonObject(execution) && taskSupports.has(execution['taskSupport'])
      ? { execution }
      : {}),
    ...(isJsonObject(meta) ? { _meta: meta } : {}),
  };
}

const taskSupports: ReadonlySet<unknown> = new Set(['required', 'optional', 'forbidden']);
const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

function texts(
  entry: JsonObject,
  ...keys: readonly ('title' | 'description')[]
): { title?: string; description?: string } {
  return Object.fromEntries(
    keys.flatMap((key) => (typeof ownValue(entry, key) === 'string' ? [[key, entry[key]]] : [])),
  );
}

/** Only hints of the right type: `"true"` is no hint (MP9). */
function annotationsOf(entry: JsonObject): { annotations?: JsonObject } {
  const given = ownValue(entry, 'annotations');
  if (!isJsonObject(given)) return {};
  const known = Object.entries(given).filter(
    ([key, value]) =>
      (hints.includes(key) && typeof value === 'boolean') || (key === 'title' && typeof value === 'string'),
  );
  return known.length === 0 ? {} : { annotations: Object.fromEntries(known) };
}
