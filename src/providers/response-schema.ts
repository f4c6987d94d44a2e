import { isJsonObject, type JsonObject } from '../protocol/json.ts';

/**
 * Whether each object of a JSON Schema is closed (`additionalProperties: false`), as native schema support asks; with
 * `allRequired` also whether each of its properties is required, as strict mode of OpenAI asks.
 */
export function isClosedSchema(schema: JsonObject, allRequired = false): boolean {
  const pending: unknown[] = [schema];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (Array.isArray(node)) pending.push(...node);
    if (!isJsonObject(node)) continue;
    if (describesObject(node) && !isClosedObject(node, allRequired)) return false;
    for (const [key, value] of Object.entries(node)) {
      if (schemaMaps.has(key) && isJsonObject(value)) pending.push(...Object.values(value));
      else if (!dataKeys.has(key)) pending.push(value);
    }
  }
  return true;
}

/** Keywords whose values are named schemas. */
const schemaMaps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'patternProperties']);
/** Keywords whose values are data, not schemas. */
const dataKeys: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

function describesObject(node: JsonObject): boolean {
  const { type } = node;
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || node['properties'] !== undefined;
}

function isClosedObject(node: JsonObject, allRequired: boolean): boolean {
  if (node['additionalProperties'] !== false) return false;
  if (!allRequired) return true;
  const { properties, required } = node;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  return names.every((name) => Array.isArray(required) && required.includes(name));
}
