import { Validator } from '@cfworker/json-schema';
import { EngineError, messageOf } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject } from '../protocol/json.ts';
import type { InputCheck } from '../protocol/tool.ts';
import type { StandardSchema } from './standard-schema.ts';

/**
 * The JSON Schema a validator exports for its input, objects closed.
 * @throws EngineError `config` when it exports none
 */
export function exportJsonSchema(schema: StandardSchema, tool: string): JsonObject {
  const exporter = schema['~standard'].jsonSchema;
  const target = 'draft-2020-12';
  let exported: unknown;
  try {
    if (exporter !== undefined) exported = exporter.input({ target });
    else if ('toJSONSchema' in schema && typeof schema.toJSONSchema === 'function') {
      exported = schema.toJSONSchema({ io: 'input', target });
    } else if ('toJsonSchema' in schema && typeof schema.toJsonSchema === 'function') exported = schema.toJsonSchema();
  } catch (cause) {
    throw new EngineError(
      'config',
      `the input schema of tool \`${tool}\` has no JSON Schema form: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
  if (!isJsonObject(exported)) {
    const vendor = schema['~standard'].vendor;
    throw new EngineError(
      'config',
      `tool \`${tool}\`: \`${vendor}\` exports no JSON Schema; add \`input_schema\` to it`,
    );
  }
  const { $schema: _, ...rest } = exported;
  return closeObjects(rest);
}

// Closing a branch of these would refuse the properties that the other branches describe.
const openBranches: ReadonlySet<string> = new Set(['allOf', 'if', 'then', 'else', 'not', 'dependentSchemas']);
const dataKeywords: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

/** Adds `additionalProperties: false` to every object schema that lists its properties and says nothing about others. */
function closeObjects(schema: JsonObject): JsonObject {
  const closed: Record<string, Json> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (openBranches.has(key) || dataKeywords.has(key)) closed[key] = value;
    else if (key === 'properties' || key === '$defs' || key === 'definitions') closed[key] = closeEach(value);
    else closed[key] = closeInside(value);
  }
  const isOpen =
    schema['properties'] !== undefined &&
    schema['additionalProperties'] === undefined &&
    schema['unevaluatedProperties'] === undefined &&
    schema['patternProperties'] === undefined &&
    schema['allOf'] === undefined;
  return isOpen ? { ...closed, additionalProperties: false } : closed;
}

function closeInside(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => closeInside(item));
  return isObject(value) ? closeObjects(value) : value;
}

function closeEach(value: Json): Json {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, closeInside(schema)]));
}

function isObject(value: Json): value is JsonObject {
  return isJsonObject(value);
}

// Keywords whose error only says that something inside failed; the inner error follows in the list.
const wrapperKeywords: ReadonlySet<string> = new Set([
  '$ref',
  'properties',
  'patternProperties',
  'items',
  'prefixItems',
  'allOf',
]);

/**
 * A validator of inputs against one JSON Schema, made once per tool.
 * @throws EngineError `config` for a schema that describes no object or refers to something outside itself
 */
export function createJsonSchemaCheck(schema: JsonObject, tool: string): (input: JsonObject) => InputCheck {
  if (schema['type'] !== 'object') {
    throw new EngineError('config', `the input schema of tool \`${tool}\` must be of type \`object\``);
  }
  const dialect = schema['$schema'];
  const draft = typeof dialect === 'string' && dialect.includes('draft-07') ? '7' : '2020-12';
  let validator: Validator;
  try {
    // The validator writes marks into the schema it gets.
    validator = new Validator(structuredClone(schema), draft, false);
    // Unresolved references and unusable patterns show only when they are reached.
    validator.validate({});
  } catch (cause) {
    throw new EngineError('config', `the input schema of tool \`${tool}\` is unusable: ${messageOf(cause)}`, { cause });
  }
  return (input) => {
    try {
      const result = validator.validate(input);
      if (result.valid) return { ok: true, value: input };
      const inner = result.errors.filter((error) => !wrapperKeywords.has(error.keyword));
      const errors = inner.length === 0 ? result.errors : inner;
      return {
        ok: false,
        detail: errors
          .map((error) => `${toPath(error.instanceLocation)}: ${error.error.replace(/\.$/, '')}`)
          .join('; '),
      };
    } catch (error) {
      return { ok: false, detail: `input: the schema cannot be applied (${messageOf(error)})` };
    }
  };
}

function toPath(pointer: string): string {
  const steps = pointer.split('/').slice(1);
  if (steps.length === 0) return 'input';
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
}
