import { isJsonObject, type Json, type JsonObject } from './json.ts';

/**
 * The part of Standard Schema v1 and its JSON Schema extension that is used here (standardschema.dev). Schemas of zod,
 * valibot, arktype and others have this shape; no library is depended on.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema?: { input(options: { readonly target: 'draft-2020-12' }): { readonly [key: string]: unknown } };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Some libraries make their schemas functions, so both are looked at. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || !('~standard' in value))
    return false;
  const standard = value['~standard'];
  return (
    typeof standard === 'object' &&
    standard !== null &&
    'validate' in standard &&
    typeof standard.validate === 'function'
  );
}

/**
 * The JSON Schema of what a schema takes, by its own export, objects closed; nothing when it has no export. Throws what the
 * library throws for a type that JSON cannot express.
 */
export function jsonSchemaOf(schema: StandardSchema): JsonObject | undefined {
  const exported = exportOf(schema);
  if (!isJsonObject(exported)) return undefined;
  // why: a library may hang functions and hidden markers on its export; what reaches a model is JSON
  const { $schema: _dialect, ...plain } = JSON.parse(JSON.stringify(exported)) as JsonObject;
  return closeObjects(plain);
}

// why: versions of zod and arktype from before the JSON Schema extension have a method of their own
function exportOf(schema: StandardSchema): unknown {
  const target = 'draft-2020-12';
  const exporter = schema['~standard'].jsonSchema;
  if (exporter !== undefined) return exporter.input({ target });
  if ('toJSONSchema' in schema && typeof schema.toJSONSchema === 'function') {
    return schema.toJSONSchema({ io: 'input', target });
  }
  return 'toJsonSchema' in schema && typeof schema.toJsonSchema === 'function' ? schema.toJsonSchema() : undefined;
}

/** An issue as `<path>: <message>`; at the root the message alone. */
export function describeIssue(issue: StandardIssue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}

/**
 * The schema with `additionalProperties: false` on every object that lists its properties and says nothing of others. Parts
 * of `allOf` stay open: each of them must accept the keys of the other parts.
 */
export function closeObjects(schema: JsonObject): JsonObject {
  const closed: { [key: string]: Json } = { ...schema };
  for (const key of schemaKeys) if (isJsonObject(closed[key])) closed[key] = closeObjects(closed[key]);
  for (const key of schemaListKeys) if (Array.isArray(closed[key])) closed[key] = closed[key].map(closeAny);
  for (const key of schemaMapKeys) {
    const map = closed[key];
    if (isJsonObject(map))
      closed[key] = Object.fromEntries(Object.entries(map).map(([name, part]) => [name, closeAny(part)]));
  }
  if (isJsonObject(closed['properties']) && !openMarks.some((key) => key in closed)) {
    closed['additionalProperties'] = false;
  }
  return closed;
}

function closeAny(part: Json): Json {
  return isJsonObject(part) ? closeObjects(part) : part;
}

const openMarks = ['additionalProperties', 'unevaluatedProperties', 'patternProperties', 'allOf'] as const;
const schemaKeys = ['items', 'contains', 'additionalProperties'] as const;
const schemaListKeys = ['anyOf', 'oneOf', 'prefixItems'] as const;
const schemaMapKeys = ['properties', 'patternProperties', '$defs', 'definitions'] as const;
