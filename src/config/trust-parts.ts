import path from 'node:path';
import { parse } from 'smol-toml';
import { isJsonObject, ownValue } from '../protocol/json.ts';
import type { UntrustedPart } from './config.ts';

/**
 * What a user is asked to trust in the files other parts of the engine own. Names only, and lenient on purpose: a file that
 * is not valid is still bound to the trust, and its loader reports what is wrong with it.
 */
export function listMcpParts(bytes: Buffer): readonly UntrustedPart[] {
  const text = bytes.toString('utf8');
  if (text.trim() === '') return [];
  const names = mcpServerNames(text);
  if (names === undefined) return [{ name: 'the MCP servers of .vibe/mcp.json', required: false }];
  return names.map((name) => ({ name: `MCP server \`${name}\``, required: false }));
}

/** A plugin found in `.vibe/plugins/<folder>`. */
export function toPluginPart(bytes: Buffer, folder: string): UntrustedPart {
  const manifest = readOr(() => parse(bytes.toString('utf8')));
  const name = isJsonObject(manifest) ? ownValue(manifest, 'name') : undefined;
  return {
    name: `plugin \`${typeof name === 'string' ? name : folder}\``,
    required: isJsonObject(manifest) && ownValue(manifest, 'required') === true,
  };
}

/** A file of `.vibe/agents` that reads outside of the project. */
export function toAgentPart(file: string): UntrustedPart {
  return { name: `agent file \`${path.basename(file)}\`, which reads outside of the project`, required: false };
}

/** The three shapes of mcp-host 3.1; undefined for anything else. */
function mcpServerNames(text: string): readonly string[] | undefined {
  const value = readOr(() => JSON.parse(text) as unknown);
  if (Array.isArray(value)) {
    return value.flatMap((record: unknown) => {
      const name = isJsonObject(record) ? ownValue(record, 'name') : undefined;
      return typeof name === 'string' ? [name] : [];
    });
  }
  if (!isJsonObject(value)) return undefined;
  const table = ownValue(value, 'mcpServers') ?? ownValue(value, 'servers');
  return isJsonObject(table) ? Object.keys(table) : undefined;
}

function readOr(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    // see the first comment: what is wrong is for the loader to say
    return undefined;
  }
}
