import type { EngineError } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import { type McpEra, mcpLegacyVersions, type McpTransportKind } from '../protocol/mcp.ts';
import { handoverKeys } from './envelope.ts';
import { handshakeError, invalidResult, listError } from './errors.ts';
import { normaliseResult, readTools, type ToolRules } from './normalise.ts';
import { showVersions } from './probe.ts';
import { readCallResult } from './results.ts';

export type JudgedResult =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'task'; readonly task: JsonObject }
  | { readonly kind: 'fault'; readonly error: EngineError };

/** The only requests a modern server may answer with a question (mcp-host section 2). */
const mayAsk: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/**
 * Decides what the SDK gets to see of a result: repaired where its absence would cost the whole answer, replaced by a
 * stand-in where it would refuse kinds it does not know (the raw result travels along), refused where it is no result of
 * this method.
 */
export function judgeResult(method: string, raw: unknown, era: McpEra, transport: McpTransportKind): JudgedResult {
  if (!isJsonObject(raw)) return fault(method === 'initialize' ? handshakeError('no object') : invalidResult(method));
  if (method === 'initialize') return judgeHandshake(raw);
  const result = withoutHandover(normaliseResult(method, raw, era));
  const type = era === 'modern' ? ownValue(result, 'resultType') : 'complete';
  if (type === 'task') return method === 'tools/call' ? { kind: 'task', task: result } : fault(invalidResult(method));
  if (type === 'input_required' && mayAsk.has(method)) return { kind: 'result', result };
  if (type !== 'complete') return fault(invalidResult(method));
  if (method === 'tools/call') return judgeCall(result);
  if (method === 'tools/list') {
    return judgeToolPage(result, { era, checkHeaders: era === 'modern' && transport !== 'stdio' });
  }
  return { kind: 'result', result };
}

function judgeCall(result: JsonObject): JudgedResult {
  const read = readCallResult(result);
  if (read === undefined) return fault(invalidResult('tools/call'));
  return {
    kind: 'result',
    result: { resultType: 'complete', content: [], _meta: { [handoverKeys.raw]: { ...read } } },
  };
}

function judgeToolPage(result: JsonObject, rules: ToolRules): JudgedResult {
  const entries = ownValue(result, 'tools');
  if (!Array.isArray(entries)) return fault(listError('list_invalid', 'the tools are no list'));
  const { tools, rejected } = readTools(entries, rules);
  const { nextCursor, ...rest } = result;
  // why: null means the end like an absent cursor; another type is judged by who follows the pages
  const cursor = nextCursor === undefined || nextCursor === null ? {} : { nextCursor };
  const meta: { [key: string]: Json } = {
    [handoverKeys.raw]: { tools: tools.map((tool) => ({ ...tool })), ...cursor },
    [handoverKeys.rejected]: rejected.map((tool) => ({ ...tool })),
  };
  return { kind: 'result', result: { ...rest, tools: [], _meta: meta } };
}

function judgeHandshake(result: JsonObject): JudgedResult {
  const version = ownValue(result, 'protocolVersion');
  if (typeof version !== 'string') return fault(handshakeError('no protocol version'));
  if (!mcpLegacyVersions.includes(version))
    return fault(handshakeError(`the server chose version ${showVersions([version])}`));
  const server = ownValue(result, 'serverInfo');
  if (!isJsonObject(ownValue(result, 'capabilities'))) return fault(handshakeError('no capabilities'));
  const name = isJsonObject(server) ? ownValue(server, 'name') : undefined;
  const serverVersion = isJsonObject(server) ? ownValue(server, 'version') : undefined;
  const { _meta, instructions, ...rest } = result;
  return {
    kind: 'result',
    result: {
      ...rest,
      ...(typeof instructions === 'string' ? { instructions } : {}),
      serverInfo: {
        name: typeof name === 'string' ? name : 'unknown',
        version: typeof serverVersion === 'string' ? serverVersion : 'unknown',
      },
    },
  };
}

function withoutHandover(result: JsonObject): JsonObject {
  const meta = ownValue(result, '_meta');
  if (!isJsonObject(meta)) return result;
  const ours: ReadonlySet<string> = new Set(Object.values(handoverKeys));
  return { ...result, _meta: Object.fromEntries(Object.entries(meta).filter(([key]) => !ours.has(key))) };
}

function fault(error: EngineError): JudgedResult {
  return { kind: 'fault', error };
}
