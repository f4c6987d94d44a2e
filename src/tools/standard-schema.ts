import type { JsonObject } from '../protocol/json.ts';
import type { InputCheck } from '../protocol/tool.ts';

/**
 * The Standard Schema interface, version 1, as zod, Valibot, ArkType and others implement it. Kept structural, so that an
 * embedder's own version of such a library fits.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Present where the library can export JSON Schema. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export function isStandardSchema(value: object): value is StandardSchema {
  return '~standard' in value;
}

/** Runs the schema's own validator; problems in the form `<path>: <message>; …`. */
export function checkWithStandard(schema: StandardSchema, input: JsonObject): InputCheck | Promise<InputCheck> {
  const result = schema['~standard'].validate(input);
  return result instanceof Promise ? result.then(toInputCheck) : toInputCheck(result);
}

function toInputCheck(result: StandardResult<unknown>): InputCheck {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, detail: result.issues.map(describeIssue).join('; ') };
}

function describeIssue(issue: StandardIssue): string {
  const path = (issue.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return `${path === '' ? 'input' : path}: ${issue.message}`;
}
