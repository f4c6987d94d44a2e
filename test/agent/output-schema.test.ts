import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createOutputChecker, toHint } from '../../src/agent/output-schema.ts';
import type { Json } from '../../src/protocol/json.ts';

const asJson = {
  type: 'object',
  properties: { status: { type: 'string' }, 'a/b': { type: 'array', items: { type: 'number' } } },
  required: ['status'],
};
const asZod = z.object({ status: z.string(), 'a/b': z.array(z.number()).optional() });
const nested = (levels: number): Json => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as Json;

describe.each([
  ['a JSON Schema', createOutputChecker(asJson)],
  ['a zod schema', createOutputChecker(asZod)],
])('%s', (_name, checker) => {
  test('hands on a value that fits', async () => {
    expect(await checker.check({ status: 'x', 'a/b': [1] })).toEqual({ ok: true, value: { status: 'x', 'a/b': [1] } });
  });

  test('names the first issue with its path and no full stop', async () => {
    expect(await checker.check({ status: 1 })).toEqual({
      ok: false,
      detail: expect.stringMatching(/^status: .+[^.]$/),
    });
    expect(await checker.check({ status: 'x', 'a/b': [1, 'y'] })).toEqual({
      ok: false,
      detail: expect.stringMatching(/^a\/b\.1: .+[^.]$/),
    });
  });

  test('says what is missing or wrong at the root', async () => {
    expect(await checker.check({})).toMatchObject({ ok: false, detail: expect.stringContaining('status') });
    expect(await checker.check([])).toMatchObject({ ok: false, detail: expect.stringMatching(/array/) });
  });

  test('has a JSON Schema for the hint and the provider', () => {
    expect(checker.jsonSchema).toMatchObject({ type: 'object', required: ['status'] });
  });
});

test('the value is what a Standard Schema makes of the document, also asynchronously', async () => {
  const checker = createOutputChecker(
    z.object({ size: z.coerce.number().refine(async (size) => size > 1, 'too small') }),
  );

  expect(await checker.check({ size: '7' })).toEqual({ ok: true, value: { size: 7 } });
  expect(await checker.check({ size: '1' })).toEqual({ ok: false, detail: 'size: too small' });
});

test('a document too deep for a recursive schema is a wrong answer', async () => {
  const recursive: z.ZodType = z.lazy(() => z.array(recursive));
  const deep = nested(50_000);

  expect(await createOutputChecker(recursive).check(deep)).toEqual({ ok: false, detail: 'nested too deeply' });
  expect(await createOutputChecker({ type: 'array', items: { $ref: '#' } }).check(deep)).toEqual({
    ok: false,
    detail: 'nested too deeply',
  });
});

test('a schema that JSON cannot express still checks', async () => {
  const checker = createOutputChecker(z.object({ at: z.date() }));

  expect(checker.jsonSchema).toBeUndefined();
  expect(await checker.check({ at: 1 })).toMatchObject({ ok: false });
});

test('what is no schema, or refers to nowhere, is a configuration error', async () => {
  expect(() => createOutputChecker('x' as never)).toThrow(expect.objectContaining({ kind: 'config' }));
  await expect(createOutputChecker({ $ref: '#/$defs/gone' }).check({})).rejects.toMatchObject({ kind: 'config' });
  await expect(createOutputChecker({ pattern: '(' }).check('x')).rejects.toMatchObject({ kind: 'config' });
});

test('the given schema is not touched', async () => {
  const schema = Object.freeze({ type: 'object', properties: Object.freeze({ a: Object.freeze({ type: 'string' }) }) });
  const before = JSON.stringify(schema);

  await createOutputChecker(schema).check({ a: 1 });

  expect(JSON.stringify(schema)).toBe(before);
});

test('the hint is the caller’s, else the JSON Schema, else general', () => {
  expect(toHint('mine', asJson)).toBe('mine');
  expect(toHint(' ', asJson)).toBe(JSON.stringify(asJson));
  expect(toHint(undefined, undefined)).toBe('a JSON object or array');
});
