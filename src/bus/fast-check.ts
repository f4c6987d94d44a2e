import { z } from 'zod';

/** Says whether a value matches; never why. */
export type FastCheck = (value: unknown) => boolean;

/**
 * The same verdict as `schema.safeParse(value).success` without building a result: a publish happens many times a step and
 * a zod parse costs several times its delivery. Derived from the schema, so there is one source of truth; a schema kind not
 * handled here falls back to zod.
 */
export function compileCheck(schema: z.core.$ZodType): FastCheck {
  if (schema instanceof z.ZodObject) return compileObject(schema);
  if (isPlainString(schema)) return (value) => typeof value === 'string';
  if (schema instanceof z.ZodBoolean) return (value) => typeof value === 'boolean';
  if (schema instanceof z.ZodNull) return (value) => value === null;
  if (schema instanceof z.ZodNumber) return compileNumber(schema);
  if (schema instanceof z.ZodNullable) {
    const inner = compileCheck(schema.unwrap());
    return (value) => value === null || inner(value);
  }
  if (schema instanceof z.ZodOptional) {
    const inner = compileCheck(schema.unwrap());
    return (value) => value === undefined || inner(value);
  }
  if (schema instanceof z.ZodLiteral || schema instanceof z.ZodEnum) {
    const values = new Set<unknown>(schema instanceof z.ZodLiteral ? schema.values : schema.options);
    const [only] = values;
    return values.size === 1 ? (value) => value === only : (value) => values.has(value);
  }
  if (schema instanceof z.ZodArray && hasNoChecks(schema)) {
    const item = compileCheck(schema.element);
    return (value) => Array.isArray(value) && value.every(item);
  }
  if (schema instanceof z.ZodCustom) {
    const { fn } = schema._zod.def as { readonly fn?: (value: unknown) => unknown };
    if (fn !== undefined) return (value) => fn(value) === true;
  }
  return (value) => z.safeParse(schema, value).success;
}

function isPlainString(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodString && hasNoChecks(schema);
}

function hasNoChecks(schema: z.core.$ZodType): boolean {
  return (schema._zod.def.checks?.length ?? 0) === 0;
}

function compileNumber(schema: z.ZodNumber): FastCheck {
  const { minValue, isInt } = schema;
  const least = minValue ?? Number.NEGATIVE_INFINITY;
  const isExclusive = schema._zod.bag.exclusiveMinimum !== undefined;
  const isPlain = schema._zod.bag.maximum === undefined || schema._zod.bag.maximum === Number.MAX_SAFE_INTEGER;
  if (!isPlain) return (value) => z.safeParse(schema, value).success;
  const isNumber: FastCheck = isInt ? Number.isSafeInteger : Number.isFinite;
  return (value) => isNumber(value) && (isExclusive ? (value as number) > least : (value as number) >= least);
}

function compileObject(schema: z.ZodObject): FastCheck {
  const { catchall } = schema._zod.def;
  if (catchall !== undefined && !(catchall instanceof z.ZodNever)) return (value) => z.safeParse(schema, value).success;
  const isStrict = catchall !== undefined;
  const known = new Set(Object.keys(schema.shape));
  const fields = Object.entries(schema.shape)
    .map(([key, field]) => ({ key, isText: isPlainString(field), check: compileCheck(field) }))
    .sort((left, right) => Number(right.key === 'type') - Number(left.key === 'type'));

  function checkInAnyOrder(record: { readonly [key: string]: unknown }): boolean {
    for (const { key, check } of fields) if (!check(record[key])) return false;
    if (isStrict) for (const key in record) if (!known.has(key)) return false;
    return true;
  }

  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const record = value as { readonly [key: string]: unknown };
    let index = 0;
    // why: publishers write the keys in catalogue order, and walking an object's own keys is several times cheaper than
    // looking each field up and then each key in the set of known ones
    for (const key in record) {
      const field = fields[index];
      if (field === undefined || field.key !== key) return checkInAnyOrder(record);
      // why: most fields are plain text, and looking beats a call
      if (field.isText ? typeof record[key] !== 'string' : !field.check(record[key])) return false;
      index += 1;
    }
    return index === fields.length || checkInAnyOrder(record);
  };
}
