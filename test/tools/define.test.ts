import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createRandomIds } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { defaultPermissions, type Tool, type ToolContext } from '../../src/protocol/tool.ts';
import { checkInput } from '../../src/tools/check-input.ts';
import { defineTool } from '../../src/tools/define.ts';

const context: ToolContext = {
  workspace_root: '/',
  permissions: defaultPermissions,
  agent: 'tester',
  call: createRandomIds().call(),
  signal: new AbortController().signal,
};

async function problemOf(tool: Tool, input: JsonObject): Promise<string | undefined> {
  const checked = await checkInput(tool, input, context);
  return checked.ok ? undefined : checked.output.content;
}

const base = { name: 'demo', description: 'For tests.' };

describe('a tool with a zod schema', () => {
  const input = z.object({
    path: z.string(),
    lines: z.object({ from: z.int().min(1) }).optional(),
    tag: z.string().default('x'),
  });
  const tool = defineTool({ ...base, input, execute: ({ path, tag }) => `${path} ${tag}` });

  test('offers the JSON Schema of its input, every object closed', () => {
    expect(tool.input_schema).toEqual({
      type: 'object',
      properties: {
        path: { type: 'string' },
        lines: {
          type: 'object',
          properties: { from: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } },
          required: ['from'],
          additionalProperties: false,
        },
        tag: { type: 'string', default: 'x' },
      },
      required: ['path'],
      additionalProperties: false,
    });
  });

  test('hands the parsed value to the handler', async () => {
    const checked = await checkInput(tool, { path: 'a' }, context);

    expect(checked).toEqual({ ok: true, value: { path: 'a', tag: 'x' } });
    expect(checked.ok && tool.call(checked.value, context)).toBe('a x');
  });

  test('names each problem with its path', async () => {
    expect(await problemOf(tool, { lines: { from: 0 } })).toMatch(
      /^Invalid input for `demo`: path: .+; lines\.from: .+\.$/,
    );
  });
});

describe('a tool with a JSON Schema', () => {
  const input = {
    type: 'object',
    properties: { text: { type: 'string' }, list: { type: 'array', items: { type: 'integer' } } },
    required: ['text'],
    additionalProperties: false,
  } as const;
  const tool = defineTool({ ...base, input, execute: () => '' });

  test.each([
    [{}, /^Invalid input for `demo`: input: .*required.*\.$/],
    [{ text: 1 }, /^Invalid input for `demo`: text: .*\.$/],
    [{ text: '', list: [1, 'x'] }, /^Invalid input for `demo`: list\.1: .*\.$/],
    [{ text: '', other: 1 }, /^Invalid input for `demo`: .*\.$/],
  ])('refuses %j', async (value, expected) => {
    expect(await problemOf(tool, value)).toMatch(expected);
  });

  test('takes what fits and leaves the schema as it was given', async () => {
    expect(await problemOf(tool, { text: 'x', list: [1] })).toBeUndefined();
    expect(tool.input_schema).toEqual(input);
  });

  test.each([
    [{ type: 'string' }, 'must be of type `object`'],
    [
      { type: 'object', properties: { a: { $ref: 'https://example.com/schema' } } },
      'nothing is at `https://example.com/schema`',
    ],
    [{ type: 'object', properties: { a: { $ref: '#/$defs/gone' } } }, 'nothing is at `#/$defs/gone`'],
  ])('the schema %j is refused', (schema, text) => {
    expect(() => defineTool({ ...base, input: schema, execute: () => '' })).toThrow(text);
  });

  test('a pattern that cannot be compiled is a refused input, not a crash', async () => {
    const broken = defineTool({
      ...base,
      input: { type: 'object', properties: { a: { type: 'string', pattern: '(' } } },
      execute: () => '',
    });

    expect(await problemOf(broken, { a: 'x' })).toMatch(
      /^Invalid input for `demo`: input: the schema cannot be applied/,
    );
  });
});

test('another Standard Schema validator is taken when it exports JSON Schema or one is given', async () => {
  const input = {
    '~standard': {
      version: 1 as const,
      vendor: 'own',
      validate: (value: unknown) =>
        typeof value === 'object' && value !== null && 'n' in value
          ? { value: { doubled: Number(value.n) * 2 } }
          : { issues: [{ message: 'needs n', path: [{ key: 'n' }] }] },
    },
  };
  const tool = defineTool({ ...base, input, input_schema: { type: 'object' }, execute: ({ doubled }) => `${doubled}` });

  expect(() => defineTool({ ...base, input, execute: () => '' })).toThrow(
    '`own` exports no JSON Schema; add `input_schema`',
  );
  expect(await checkInput(tool, { n: 2 }, context)).toEqual({ ok: true, value: { doubled: 4 } });
  expect(await problemOf(tool, {})).toBe('Invalid input for `demo`: n: needs n.');
});

test('a schema without a JSON Schema form is refused with the reason', () => {
  expect(() => defineTool({ ...base, input: z.object({ at: z.date() }), execute: () => '' })).toThrow(
    /the input schema of tool `demo` has no JSON Schema form: /,
  );
});

test('permission is asked before the input', async () => {
  const tool = defineTool({
    ...base,
    input: z.strictObject({ a: z.string() }),
    permission: 'network',
    execute: () => '',
  });

  expect(await problemOf(tool, {})).toBe('Permission denied: this agent is not allowed to reach the network.');
});

test('the module URL makes a read-only tool a thread tool; mutating ones and closures have none', () => {
  const input = { type: 'object' };

  expect(defineTool('file:///x/tool.js', { ...base, input, execute: () => '' }).worker).toEqual({
    module: 'file:///x/tool.js',
  });
  expect(defineTool('file:///x/tool.js', { ...base, input, mutating: true, execute: () => '' }).worker).toBeUndefined();
  expect(defineTool({ ...base, input, execute: () => '' }).worker).toBeUndefined();
});

test('a handler can look whether it was cancelled', () => {
  const cancel = new AbortController();
  const tool = defineTool({ ...base, input: { type: 'object' }, execute: (_input, given) => given.throwIfCancelled() });

  expect(tool.call({}, { ...context, signal: cancel.signal })).toBeUndefined();
  cancel.abort(new Error('enough'));
  expect(() => tool.call({}, { ...context, signal: cancel.signal })).toThrow('enough');
});
