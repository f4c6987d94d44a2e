import { describe, expect, test } from 'vitest';
import { handoverKeys } from '../../src/mcp/envelope.ts';
import { judgeResult } from '../../src/mcp/judge-result.ts';
import { normaliseResult, readTools, readTtlMs } from '../../src/mcp/normalise.ts';
import type { Json, JsonObject } from '../../src/protocol/json.ts';

const rules = { era: 'modern', checkHeaders: true } as const;
const object = { type: 'object' };

function reasonOf(entry: unknown): string | undefined {
  return readTools([entry], rules).rejected[0]?.reason;
}

function nested(depth: number): Json {
  let value: Json = {};
  for (let level = 1; level < depth; level += 1) value = { a: value };
  return value;
}

describe('repair before validation (mcp-host 6.3)', () => {
  test.each([
    [60_000, 60_000],
    [0, 0],
    [-1, 0],
    ['60000', 0],
    [1.5, 0],
    [undefined, 0],
    [null, 0],
    [Number.NaN, 0],
    [1e15, 86_400_000],
    [1e300, 0],
  ])('ttlMs %j counts as %d', (given, expected) => {
    expect(readTtlMs(given)).toBe(expected);
  });

  test('missing members of the modern era are filled in, content is left alone', () => {
    expect(normaliseResult('tools/list', { tools: [], cacheScope: 'world', ttlMs: -5 }, 'modern')).toEqual({
      tools: [],
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
    });
    const call = { content: 'odd', isError: 'yes', structuredContent: [1] };
    expect(normaliseResult('tools/call', call, 'modern')).toEqual({ ...call, resultType: 'complete' });
  });

  test('a result of the legacy era gets no new members', () => {
    expect(normaliseResult('tools/list', { tools: [] }, 'legacy')).toEqual({ tools: [] });
  });

  test('a `_meta` of the wrong type and a cursor that is null are dropped', () => {
    expect(normaliseResult('tools/list', { tools: [], _meta: 'x', nextCursor: null }, 'legacy')).toEqual({ tools: [] });
  });
});

describe('tools that are left out (mcp-host 6.3, MP4)', () => {
  test.each([
    ['text', 'name_missing'],
    [{ inputSchema: object }, 'name_missing'],
    [{ name: '', inputSchema: object }, 'name_missing'],
    [{ name: 5, inputSchema: object }, 'name_missing'],
    [{ name: 'a' }, 'schema_not_object'],
    [{ name: 'a', inputSchema: 'x' }, 'schema_not_object'],
    [{ name: 'a', inputSchema: { type: 'string' } }, 'schema_not_object'],
    [{ name: 'a', inputSchema: true }, 'schema_not_object'],
    [{ name: 'a', inputSchema: object, description: 'x'.repeat(256 * 1024) }, 'too_large'],
    [{ name: 'a', inputSchema: { type: 'object', a: nested(70) } }, 'too_deep'],
    [{ name: 'a', inputSchema: { type: 'object', $ref: 'https://evil.example/x.json' } }, 'remote_reference'],
    [{ name: 'a', inputSchema: { type: 'object', properties: { p: { $ref: 'other.json' } } } }, 'remote_reference'],
    [
      { name: 'a', inputSchema: { type: 'object', properties: { p: { $ref: '#/$defs/none' } } } },
      'unresolved_reference',
    ],
    [{ name: 'a', inputSchema: { type: 'object', properties: { p: { $ref: '#none' } } } }, 'unresolved_reference'],
    [
      { name: 'a', inputSchema: { type: 'object', properties: { p: { type: 'number', 'x-mcp-header': 'P' } } } },
      'header_declaration',
    ],
  ])('%j: %s', (entry, reason) => {
    expect(reasonOf(entry)).toBe(reason);
  });

  test('one bad tool costs only itself', () => {
    const page = readTools(
      [{ name: 'a', inputSchema: object }, { name: 'b' }, { name: 'c', inputSchema: object }],
      rules,
    );

    expect(page.tools.map((tool) => tool.name)).toEqual(['a', 'c']);
    expect(page.rejected).toEqual([{ name: 'b', reason: 'schema_not_object' }]);
  });

  test.each([
    { $ref: '#/$defs/a', $defs: { a: { type: 'string' } }, type: 'object' },
    { type: 'object', properties: { p: { $ref: '#/properties/q%25' }, 'q%': {} } },
    { type: 'object', properties: { p: { $ref: '#/$defs/a~1b' } }, $defs: { 'a/b': {} } },
    { type: 'object', properties: { p: { $ref: '#here' } }, $defs: { a: { $anchor: 'here' } } },
    { type: 'object', properties: { p: { $ref: 'urn:x' } }, $defs: { a: { $id: 'urn:x' } } },
    { type: 'object', properties: { $ref: { type: 'string' } } },
    { type: 'object', properties: { p: { const: { $ref: 'https://data.example' } } } },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
    {
      type: 'object',
      properties: { p: { type: 'object', properties: { q: { type: 'string', 'x-mcp-header': 'Q' } } } },
    },
  ])('the schema %j is usable, and `$defs` survive', (inputSchema) => {
    const page = readTools([{ name: 'a', inputSchema }], rules);

    expect(page.tools[0]?.inputSchema).toEqual(inputSchema);
  });

  test.each([
    [{ type: 'object', properties: { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } } }],
    [{ type: 'object', 'x-mcp-header': 'A' }],
    [{ type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } }],
    [{ type: 'object', properties: { a: { type: 'string', 'x-mcp-header': '' } } }],
    [
      {
        type: 'object',
        properties: { a: { type: 'string', 'x-mcp-header': 'X' }, b: { type: 'string', 'x-mcp-header': 'x' } },
      },
    ],
  ])('the header declaration in %j is refused on HTTP only', (inputSchema) => {
    expect(reasonOf({ name: 'a', inputSchema })).toBe('header_declaration');
    expect(readTools([{ name: 'a', inputSchema }], { ...rules, checkHeaders: false }).tools).toHaveLength(1);
  });

  test('optional members of the wrong type are dropped, hints that are no booleans are no hints (MP9)', () => {
    const entry = {
      name: 'a',
      inputSchema: object,
      title: 5,
      description: ['x'],
      icons: 'x',
      outputSchema: 'x',
      execution: { taskSupport: 'perhaps' },
      annotations: { readOnlyHint: 'true', destructiveHint: false, title: 7 },
      _meta: [],
    };

    expect(readTools([entry], rules).tools).toEqual([
      { name: 'a', inputSchema: object, annotations: { destructiveHint: false } },
    ]);
  });
});

describe('what the SDK gets to see of a result', () => {
  const kindOf = (method: string, raw: unknown, era: 'modern' | 'legacy' = 'modern') =>
    judgeResult(method, raw, era, 'stdio');

  test.each([
    ['tools/list', { resultType: 'task', taskId: 't' }],
    ['tools/list', { resultType: 'input_required', requestState: 's' }],
    ['tools/call', { resultType: 'banana' }],
    ['tools/call', 'text'],
    ['tools/call', null],
    ['tools/call', { content: 'text' }],
    ['tools/call', { content: ['text'] }],
    ['tools/list', {}],
  ])('%s: %j is no result of it', (method, raw) => {
    expect(kindOf(method, raw)).toMatchObject({ kind: 'fault' });
  });

  test('a result of a call travels along as it was received, also with kinds nobody knows', () => {
    const raw = { content: [{ type: 'hologram', data: 1 }], isError: false };

    const judged = kindOf('tools/call', raw);

    expect(judged).toMatchObject({ kind: 'result', result: { content: [] } });
    const meta = (judged as { result: JsonObject }).result['_meta'] as JsonObject;
    expect(meta[handoverKeys.raw]).toMatchObject(raw);
  });

  test('a server cannot use the members that are ours', () => {
    const judged = kindOf('prompts/list', { prompts: [], _meta: { [handoverKeys.raw]: { tools: [] }, mine: 1 } });

    expect(judged).toMatchObject({ result: { _meta: { mine: 1 } } });
    expect(JSON.stringify(judged)).not.toContain(handoverKeys.raw);
  });

  test.each([
    [{ protocolVersion: '1999-01-01', capabilities: {} }, 'the server chose version 1999-01-01'],
    [{ capabilities: {} }, 'no protocol version'],
    [{ protocolVersion: '2025-06-18' }, 'no capabilities'],
  ])('the handshake %j is refused naming it', (raw, reason) => {
    const judged = kindOf('initialize', raw, 'legacy');

    expect(judged).toMatchObject({ kind: 'fault', error: { code: 'handshake_invalid' } });
    expect(judged.kind === 'fault' ? judged.error.message : '').toContain(
      `list_tools failed: invalid handshake: ${reason}`,
    );
  });

  test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'])(
    'version %s is accepted',
    (version) => {
      expect(kindOf('initialize', { protocolVersion: version, capabilities: {} }, 'legacy').kind).toBe('result');
    },
  );
});
