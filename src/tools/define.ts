import { EngineError } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import {
  describeIssue,
  isStandardSchema,
  type StandardResult,
  type StandardSchema,
} from '../protocol/standard-schema.ts';
import type { InputCheck, Tool, ToolContext, ToolContextData, ToolWorker } from '../protocol/tool.ts';
import { createJsonSchemaCheck, exportJsonSchema } from './json-schema.ts';
import { refusePermission, type PermissionNeed } from './permission.ts';

/** What a handler gets besides its input. */
export interface HandlerContext extends ToolContext {
  readonly throwIfCancelled: () => void;
}

/** A validator (zod or another Standard Schema) or a JSON Schema of an object. */
export type InputSchema = StandardSchema | JsonObject;

/** The value a handler gets: the validator's output, or the input itself for a JSON Schema. */
export type InputOf<Schema extends InputSchema> =
  Schema extends StandardSchema<infer Output> ? Output : Schema extends JsonObject ? JsonObject : never;

export interface ToolDefinition<Schema extends InputSchema> {
  /** Unique in the registry; snake_case. */
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  /** The JSON Schema offered to the model. Default: what `input` exports. */
  readonly input_schema?: JsonObject;
  /** A mutating call runs alone and on the main thread. Default false. */
  readonly mutating?: boolean;
  /** Where a worker thread finds the tool. Default: the module given to `defineTool`, else none = main thread. */
  readonly worker?: ToolWorker;
  /** Limit of one call in milliseconds; 0 = none. Default: the run's limit. */
  readonly timeout_ms?: number;
  readonly needs_approval?: boolean;
  /** A permission the calling agent must have; checked before the input. Default: none. */
  readonly permission?: PermissionNeed;
  /**
   * Does the work. May return an output, a string, nothing or any JSON value; an error it throws becomes an error result.
   * On a worker thread the input and the result cross as structured clones.
   */
  execute(input: InputOf<Schema>, context: HandlerContext): unknown;
}

/**
 * Makes a tool from a handler and a schema of its input. Given the module's own URL (`import.meta.url`) and not mutating,
 * the tool runs on worker threads: it must then be an export of that module, whose closures are those of the thread.
 * @throws EngineError `config` when no JSON Schema can be had from `input` or it cannot be applied
 */
export function defineTool<Schema extends InputSchema>(definition: ToolDefinition<Schema>): Tool;
export function defineTool<Schema extends InputSchema>(moduleUrl: string, definition: ToolDefinition<Schema>): Tool;
export function defineTool<Schema extends InputSchema>(
  first: string | ToolDefinition<Schema>,
  second?: ToolDefinition<Schema>,
): Tool {
  const definition = typeof first === 'string' ? second : first;
  if (definition === undefined) throw new EngineError('config', 'defineTool needs a definition beside the module URL');
  const worker = definition.worker ?? (typeof first === 'string' ? { module: first } : undefined);
  const { input_schema, check } = prepareSchema(definition);
  return {
    name: definition.name,
    description: definition.description,
    input_schema,
    is_mutating: definition.mutating ?? false,
    ...(worker === undefined || definition.mutating === true ? {} : { worker }),
    ...(definition.timeout_ms === undefined ? {} : { timeout_ms: definition.timeout_ms }),
    ...(definition.needs_approval === undefined ? {} : { needs_approval: definition.needs_approval }),
    validate: (input, context) => refuse(definition.permission, context) ?? check(input),
    // `call` gets what `validate` let through, which is what the schema promises.
    call: (input, context) => definition.execute(input as InputOf<Schema>, toHandlerContext(context)),
  };
}

/** The context of a call with `throwIfCancelled`, which a context made by hand may lack. */
export function toHandlerContext(context: ToolContext): HandlerContext {
  // why: a copy would look at the signal, which contexts make at first use
  if (isHandlerContext(context)) return context;
  return { ...context, throwIfCancelled: () => context.signal.throwIfAborted() };
}

function isHandlerContext(context: ToolContext): context is HandlerContext {
  return context.throwIfCancelled !== undefined;
}

type CheckInput = (input: JsonObject) => InputCheck | Promise<InputCheck>;

function prepareSchema(definition: ToolDefinition<InputSchema>): { input_schema: JsonObject; check: CheckInput } {
  const { name, input } = definition;
  if (isStandardSchema(input)) {
    const input_schema = definition.input_schema ?? exportJsonSchema(input, name);
    return { input_schema, check: (value) => checkWithStandard(input, value) };
  }
  return { input_schema: definition.input_schema ?? input, check: createJsonSchemaCheck(input, name) };
}

function refuse(need: PermissionNeed | undefined, context: ToolContextData): InputCheck | undefined {
  const output = need === undefined ? undefined : refusePermission(need, context.permissions);
  return output === undefined ? undefined : { ok: false, output };
}

function checkWithStandard(schema: StandardSchema, input: JsonObject): InputCheck | Promise<InputCheck> {
  const result = schema['~standard'].validate(input);
  return result instanceof Promise ? result.then(toInputCheck) : toInputCheck(result);
}

function toInputCheck(result: StandardResult<unknown>): InputCheck {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, detail: result.issues.map(describeIssue).join('; ') };
}
