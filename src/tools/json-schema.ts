import { dereference, Validator } from '@cfworker/json-schema';
import { EngineError, messageOf } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import { jsonSchemaOf, type StandardSchema } from '../protocol/standard-schema.ts';
import type { InputCheck } from '../protocol/tool.ts';

/**
 * The JSON Schema a validator exports for its input, objects closed.
 * @throws EngineError `config` when it exports none
 */
export function exportJsonSchema(schema: StandardSchema, tool: string): JsonObject {
  let exported: JsonObject | undefined;
  try {
    exported = jsonSchemaOf(schema);
  } catch (cause) {
    throw new EngineError(
      'config',
      `the input schema of tool \`${tool}\` has no JSON Schema form: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
  if (exported !== undefined) return exported;
  const { vendor } = schema['~standard'];
  throw new EngineError('config', `tool \`${tool}\`: \`${vendor}\` exports no JSON Schema; add \`input_schema\` to it`);
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
    const own = structuredClone(schema);
    validator = new Validator(own, draft, false);
    // why: the validator notices a reference that leads nowhere only when an input reaches it
    const known = dereference(own);
    const lost = Object.values(known).find((part) => {
      const target = typeof part === 'object' ? part.__absolute_ref__ : undefined;
      return target !== undefined && known[target] === undefined;
    });
    if (lost !== undefined && typeof lost === 'object') throw new Error(`nothing is at \`${lost.$ref}\``);
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
