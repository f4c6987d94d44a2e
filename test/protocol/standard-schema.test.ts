import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  closeObjects,
  describeIssue,
  isStandardSchema,
  jsonSchemaOf,
  type StandardSchema,
} from '../../src/protocol/standard-schema.ts';

test('a zod schema is a Standard Schema and gives its output type', () => {
  const schema = z.object({ size: z.coerce.number().default(1) });
  const outputOf = <T>(given: StandardSchema<T>): T | undefined => (isStandardSchema(given) ? undefined : undefined);

  const output = outputOf(schema);

  expect(isStandardSchema(schema)).toBe(true);
  expectTypeOf(output).toEqualTypeOf<{ size: number } | undefined>();
});

test('a function with the marker counts, as some libraries have it; other values do not', () => {
  const callable = Object.assign(() => {}, {
    '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) },
  });

  expect(isStandardSchema(callable)).toBe(true);
  for (const value of [null, undefined, 'x', {}, { '~standard': null }, { '~standard': {} }, { type: 'object' }]) {
    expect(isStandardSchema(value)).toBe(false);
  }
});

test('the JSON Schema is what the schema takes, with closed objects and no dialect', () => {
  const schema = z.object({
    name: z.string(),
    size: z.number().default(1),
    parts: z.array(z.object({ id: z.string() })),
    free: z.looseObject({ a: z.string() }),
  });

  expect(jsonSchemaOf(schema)).toEqual({
    type: 'object',
    required: ['name', 'parts', 'free'],
    additionalProperties: false,
    properties: {
      name: { type: 'string' },
      size: { type: 'number', default: 1 },
      parts: {
        type: 'array',
        items: {
          type: 'object',
          properties: { id: { type: 'string' } },
          required: ['id'],
          additionalProperties: false,
        },
      },
      free: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: {} },
    },
  });
});

test('a schema without an export has no JSON Schema', () => {
  expect(jsonSchemaOf({ '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } })).toBeUndefined();
});

test('parts of allOf stay open, data and properties called like keywords are left alone', () => {
  const schema = {
    type: 'object',
    properties: { properties: { type: 'string' }, items: { const: { properties: {} } } },
    allOf: [{ properties: { a: {} } }],
    $defs: { d: { properties: {} } },
  };

  expect(closeObjects(schema)).toEqual({ ...schema, $defs: { d: { properties: {}, additionalProperties: false } } });
});

test('an issue reads path, colon, message; at the root the message alone', () => {
  expect(describeIssue({ message: 'bad', path: ['a', 0, { key: 'b' }] })).toBe('a.0.b: bad');
  expect(describeIssue({ message: 'bad', path: [] })).toBe('bad');
  expect(describeIssue({ message: 'bad' })).toBe('bad');
});
