import { Validator } from '@cfworker/json-schema';
import { EngineError, messageOf } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject } from '../protocol/json.ts';
import { describeIssue, isStandardSchema, jsonSchemaOf, type StandardSchema } from '../protocol/standard-schema.ts';

/** What a structured run may be asked for: any Standard Schema (then `T` is its output type) or a JSON Schema. */
export type OutputSchema<T = unknown> = StandardSchema<T> | JsonObject;

/** A document that was looked at: the value to hand on, or the first issue as `<path>: <message>`. */
export type OutputCheck<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly detail: string };

/** A schema made ready. It holds functions, so it stays in the thread it was made in. */
export interface OutputChecker<T> {
  /** What the schema asks for, as JSON Schema; absent when a Standard Schema has no export or JSON cannot express it. */
  readonly jsonSchema: JsonObject | undefined;
  /** @throws EngineError `config` for a schema that cannot be used */
  check(value: Json): Promise<OutputCheck<T>>;
}

/** @throws EngineError `config` for something that is no schema */
export function createOutputChecker<T>(schema: OutputSchema<T>): OutputChecker<T> {
  if (isStandardSchema(schema)) return fromStandard(schema as StandardSchema<T>);
  if (!isJsonObject(schema)) {
    throw new EngineError('config', 'the output schema must be a Standard Schema (such as zod) or a JSON Schema');
  }
  return fromJsonSchema(schema);
}

function fromStandard<T>(schema: StandardSchema<T>): OutputChecker<T> {
  let jsonSchema: JsonObject | undefined;
  try {
    jsonSchema = jsonSchemaOf(schema);
  } catch {
    // why: a date or a transform has no JSON Schema; the value can be checked all the same, only the hint is poorer
  }
  return {
    jsonSchema,
    check: (value) =>
      answerDepth(async () => {
        const result = await schema['~standard'].validate(value);
        if (result.issues === undefined) return { ok: true, value: result.value };
        return { ok: false, detail: result.issues[0] === undefined ? 'refused' : describeIssue(result.issues[0]) };
      }),
  };
}

function fromJsonSchema<T>(schema: JsonObject): OutputChecker<T> {
  const dialect = schema['$schema'];
  const isDraft7 = typeof dialect === 'string' && dialect.includes('draft-07');
  // why: the validator writes marks into the schema it gets
  const validator = new Validator(structuredClone(schema), isDraft7 ? '7' : '2020-12');
  return {
    jsonSchema: schema,
    check: (value) =>
      answerDepth(async () => {
        const detail = firstIssue(validator, value);
        // why: without a Standard Schema nothing narrows T, so it is whatever JSON the caller says it is
        return detail === undefined ? { ok: true, value: value as T } : { ok: false, detail };
      }),
  };
}

function firstIssue(validator: Validator, value: Json): string | undefined {
  let result: ReturnType<Validator['validate']>;
  try {
    result = validator.validate(value);
  } catch (cause) {
    if (cause instanceof RangeError) throw cause;
    throw new EngineError('config', `the output schema cannot be used: ${messageOf(cause)}`, { cause });
  }
  if (result.valid) return undefined;
  // why: errors of containers come before the errors inside that explain them
  const error = result.errors.find(({ keyword }) => !containerKeywords.has(keyword)) ?? result.errors[0];
  if (error === undefined) return 'refused';
  const path = error.instanceLocation.split('/').slice(1).map(unescapePointer);
  return describeIssue({ path, message: error.error.replace(/\.$/, '') });
}

// why: validators recurse; a document of some thousand levels is a wrong answer, not a broken program
async function answerDepth<T>(check: () => Promise<OutputCheck<T>>): Promise<OutputCheck<T>> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof RangeError) return { ok: false, detail: 'nested too deeply' };
    throw error;
  }
}

/** The hint for a model that has to write such a document: the caller's, else the JSON Schema. */
export function toHint(hint: string | undefined, jsonSchema: JsonObject | undefined): string {
  if (hint !== undefined && hint.trim() !== '') return hint;
  return jsonSchema === undefined ? 'a JSON object or array' : JSON.stringify(jsonSchema);
}

function unescapePointer(part: string): string {
  let decoded = part;
  try {
    decoded = decodeURIComponent(part);
  } catch {
    // a lone % is itself
  }
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~');
}

const containerKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'items',
  'prefixItems',
  'additionalItems',
  'allOf',
  '$ref',
  '$recursiveRef',
  'if',
  'dependentSchemas',
  'dependencies',
]);
