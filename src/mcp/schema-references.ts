import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';

/** Keywords whose value is data, not a schema: a `$ref` in there means nothing. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
/** Keywords whose value maps names to schemas: a name is no keyword. */
const mapKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);

/**
 * Whether every reference of a schema stays inside it. A reference to somewhere else is never fetched (mcp-host
 * section 2), so such a schema is not usable. The schema must be known to be shallow.
 */
export function checkSchemaReferences(schema: JsonObject): 'remote_reference' | 'unresolved_reference' | undefined {
  const found: { references: string[]; ids: Set<string>; anchors: Set<string> } = {
    references: [],
    ids: new Set(),
    anchors: new Set(),
  };
  collect(schema, found);
  for (const reference of found.references) {
    if (found.ids.has(reference)) continue;
    if (!reference.startsWith('#')) return 'remote_reference';
    const isAnchor = reference !== '#' && !reference.startsWith('#/');
    const isThere = isAnchor
      ? found.anchors.has(reference.slice(1))
      : resolvePointer(schema, reference.slice(1)) !== undefined;
    if (!isThere) return 'unresolved_reference';
  }
  return undefined;
}

function collect(node: Json, found: { references: string[]; ids: Set<string>; anchors: Set<string> }): void {
  if (Array.isArray(node)) {
    for (const entry of node as readonly Json[]) collect(entry, found);
    return;
  }
  if (!isJsonObject(node)) return;
  for (const [key, value] of Object.entries(node)) {
    if (typeof value === 'string') {
      if (key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef') found.references.push(value);
      else if (key === '$id') found.ids.add(value);
      else if (key === '$anchor' || key === '$dynamicAnchor') found.anchors.add(value);
    } else if (mapKeywords.has(key) && isJsonObject(value)) {
      for (const child of Object.values(value)) collect(child, found);
    } else if (!dataKeywords.has(key)) {
      collect(value, found);
    }
  }
}

function resolvePointer(root: Json, pointer: string): Json | undefined {
  let node: Json | undefined = root;
  for (const raw of pointer.split('/').slice(1)) {
    if (typeof node !== 'object' || node === null) return undefined;
    const key = safeDecode(raw).replaceAll('~1', '/').replaceAll('~0', '~');
    node = ownValue(node, key) as Json | undefined;
  }
  return node;
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone `%` stands for itself
  }
}
