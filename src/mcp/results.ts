import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import type { McpCallResult } from '../protocol/mcp.ts';
import { errorOutput, okOutput, type ToolOutput } from '../protocol/tool.ts';

/**
 * Reads the raw result of `tools/call`. Absent content is none; the result has failed only if `isError` is the boolean
 * `true` (MP10). Undefined when its parts have the wrong JSON types.
 */
export function readCallResult(result: JsonObject): McpCallResult | undefined {
  const content = ownValue(result, 'content') ?? [];
  if (!Array.isArray(content) || !content.every((block) => isJsonObject(block))) return undefined;
  const structured = ownValue(result, 'structuredContent');
  return {
    content: content as readonly Json[],
    ...(structured === undefined ? {} : { structuredContent: structured as Json }),
    isError: ownValue(result, 'isError') === true,
  };
}

/** The result as text for a model (mcp-host 5.2): text blocks joined by newline, everything else as one line. */
export function toToolOutput(result: McpCallResult): ToolOutput {
  const lines = result.content.map((block) => describeBlock(isJsonObject(block) ? block : {}));
  const hasText = result.content.some((block) => isJsonObject(block) && block['type'] === 'text');
  if (!hasText && result.structuredContent !== undefined) lines.push(JSON.stringify(result.structuredContent));
  const text = lines.join('\n');
  return result.isError ? errorOutput(text) : okOutput(text);
}

function describeBlock(block: JsonObject): string {
  const type = ownValue(block, 'type');
  switch (type) {
    case 'text':
      return textOf(block, 'text');
    case 'image':
    case 'audio':
      return `[${type} ${oneLine(textOf(block, 'mimeType') || 'unknown type')} ${sizeOf(textOf(block, 'data'))}]`;
    case 'resource': {
      const resource = ownValue(block, 'resource');
      return `[resource ${oneLine(isJsonObject(resource) ? textOf(resource, 'uri') : '')}]`;
    }
    case 'resource_link':
      return `[link ${oneLine(textOf(block, 'name'))} ${oneLine(textOf(block, 'uri'))}]`;
    default:
      return `[${oneLine(typeof type === 'string' ? type : 'unknown content')}]`;
  }
}

function textOf(block: JsonObject, key: string): string {
  const value = ownValue(block, key);
  return typeof value === 'string' ? value : '';
}

/** Foreign text inside a line of ours: no control characters, not endless. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{C}/gu, ' ').slice(0, 2_048);
}

/** The size of what a base64 text stands for. */
function sizeOf(base64: string): string {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  const bytes = Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
  return bytes < 1_024 ? `${bytes} B` : `${Math.round(bytes / 1_024)} KiB`;
}
