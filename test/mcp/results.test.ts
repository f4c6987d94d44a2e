import { describe, expect, test } from 'vitest';
import { checkOutput } from '../../src/mcp/output-check.ts';
import { readCallResult, toToolOutput } from '../../src/mcp/results.ts';
import type { JsonObject } from '../../src/protocol/json.ts';

function outputOf(result: JsonObject) {
  const read = readCallResult(result);
  return read === undefined ? undefined : toToolOutput(read);
}

describe('results as text (mcp-host 5.2, MP10)', () => {
  test('text blocks are joined by newline, other blocks are one line each', () => {
    const output = outputOf({
      content: [
        { type: 'text', text: 'one' },
        { type: 'image', mimeType: 'image/png', data: Buffer.alloc(12 * 1024).toString('base64') },
        { type: 'audio', mimeType: 'audio/wav', data: 'QUJD' },
        { type: 'resource', resource: { uri: 'file:///a', text: 'hidden' } },
        { type: 'resource_link', name: 'b', uri: 'file:///b' },
        { type: 'hologram', depth: 3 },
        { type: 'text', text: 'two' },
      ],
    });

    expect(output).toEqual({
      content:
        'one\n[image image/png 12 KiB]\n[audio audio/wav 3 B]\n[resource file:///a]\n[link b file:///b]\n[hologram]\ntwo',
      is_error: false,
    });
  });

  test.each([
    [{}, ''],
    [{ content: null }, ''],
    [{ structuredContent: { a: 1 } }, '{"a":1}'],
    [{ structuredContent: [1, 'x'] }, '[1,"x"]'],
    [{ content: [], structuredContent: null }, 'null'],
    [{ content: [{ type: 'text', text: 'said' }], structuredContent: { a: 1 } }, 'said'],
    [{ content: [{}] }, '[unknown content]'],
    [{ content: [{ type: 'text' }] }, ''],
  ])('%j reads %j', (result, content) => {
    expect(outputOf(result)).toEqual({ content, is_error: false });
  });

  test.each([
    [true, true],
    [false, false],
    ['true', false],
    [1, false],
    [null, false],
  ])('isError %j: failed %j', (isError, failed) => {
    expect(outputOf({ content: [], isError })?.is_error).toBe(failed);
  });

  test.each([{ content: 'x' }, { content: {} }, { content: ['x'] }, { content: [null] }])(
    '%j has the wrong types',
    (result) => {
      expect(readCallResult(result)).toBeUndefined();
    },
  );

  test('foreign text cannot break out of its line', () => {
    const output = outputOf({ content: [{ type: 'resource_link', name: 'a\n]\u001b[31m', uri: 'x' }] });

    expect(output?.content).toBe('[link a ] [31m x]');
  });
});

describe('structured content against the output schema', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const check = (outputSchema: JsonObject, structuredContent: JsonObject | undefined, isError = false): void =>
    checkOutput(
      { name: 't', inputSchema: { type: 'object' }, outputSchema },
      { content: [], isError, ...(structuredContent === undefined ? {} : { structuredContent }) },
    );

  test('what matches passes, what does not or is missing fails', () => {
    expect(() => check(schema, { n: 1 })).not.toThrow();
    expect(() => check(schema, { n: 'x' })).toThrow('malformed result of tools/call');
    expect(() => check(schema, undefined)).toThrow('malformed result of tools/call');
  });

  test('a failed call needs no structured content', () => {
    expect(() => check(schema, undefined, true)).not.toThrow();
  });

  test.each([
    { type: 'object', properties: { n: { type: 'string', pattern: '(' } } },
    { type: 'object', properties: { n: { $ref: '#/properties/n' } } },
  ])('a schema that cannot be used, %j, judges nothing', (outputSchema) => {
    expect(() => check(outputSchema, { n: 'x' })).not.toThrow();
  });

  test('a pattern that would never end is given up (WK8)', () => {
    const slow = { type: 'object', properties: { n: { type: 'string', pattern: '^(a+)+$' } } };
    const before = performance.now();

    check(slow, { n: `${'a'.repeat(40)}!` });

    expect(performance.now() - before).toBeLessThan(5_000);
  });
});
