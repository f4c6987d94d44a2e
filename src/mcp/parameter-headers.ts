import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';

const keyword = 'x-mcp-header';
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/**
 * Whether the `x-mcp-header` declarations of an input schema are the ones revision 2026-07-28 allows on HTTP: on plain
 * values (text, integer, boolean), reached through `properties` only, with header names that differ without case. A tool
 * that breaks a rule must be left out; the SDK would do so too, but says it on the console.
 */
export function checkParameterHeaders(inputSchema: JsonObject): boolean {
  const names = new Set<string>();

  function visit(node: Json, isReachable: boolean, isRoot: boolean): boolean {
    if (Array.isArray(node)) return (node as readonly Json[]).every((entry) => visit(entry, false, false));
    if (!isJsonObject(node)) return true;
    if (Object.hasOwn(node, keyword)) {
      const name = node[keyword];
      if (!isReachable || isRoot || typeof name !== 'string' || !token.test(name)) return false;
      if (!types.has(ownValue(node, 'type')) || names.has(name.toLowerCase())) return false;
      names.add(name.toLowerCase());
    }
    return Object.entries(node).every(([key, value]) => {
      if (key === 'properties' && isJsonObject(value)) {
        return Object.values(value).every((child) => visit(child, isReachable, false));
      }
      return key === 'const' || key === 'enum' || key === 'default' || key === 'examples' || visit(value, false, false);
    });
  }

  return visit(inputSchema, true, true);
}
