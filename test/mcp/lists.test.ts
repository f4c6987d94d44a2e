import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../src/protocol/json.ts';
import { carriers, openScripted } from './scripted-web.ts';
import {
  connect,
  createRecordingLogger,
  failureOf,
  legacyScript,
  discoverOf,
  modernScript,
  type ScriptedServer,
  type Step,
  tool,
  toolPage,
} from './support.ts';

type Era = 'modern' | 'legacy';

const lists = (server: ScriptedServer): number => server.methods().filter((method) => method === 'tools/list').length;

/** A server of an era with these pages of tools. */
function pages(era: Era, steps: readonly Step[]) {
  return (era === 'modern' ? modernScript : legacyScript)({ 'tools/list': steps });
}

function cursorsAsked(server: ScriptedServer): readonly (Json | undefined)[] {
  return server
    .received()
    .filter((message) => message['method'] === 'tools/list')
    .map((message) => (message['params'] as JsonObject | undefined)?.['cursor']);
}

describe.each(carriers)('6: lists, %s', (carrier) => {
  test.each<[string, JsonObject, number]>([
    ['60000', { ttlMs: 60_000 }, 1],
    ['0', { ttlMs: 0 }, 3],
    ['-1', { ttlMs: -1 }, 3],
    ['"60000"', { ttlMs: '60000' }, 3],
    ['1.5', { ttlMs: 1.5 }, 3],
    ['absent', {}, 3],
    ['null', { ttlMs: null }, 3],
    ['10^15', { ttlMs: 1e15 }, 1],
  ])('6.1, 18, MP12: ttlMs %s, three orders within 1 s: %d requests', async (_, ttl, requests) => {
    const server = await openScripted(
      carrier,
      pages('modern', [{ result: { resultType: 'complete', tools: [tool('work')], ...ttl } }]),
    );
    const connection = await connect(server.record);

    for (let order = 0; order < 3; order += 1) expect((await connection.listTools()).tools).toHaveLength(1);

    expect(lists(server)).toBe(requests);
  });

  test('6.1: legacy asks every time, whatever the server says', async () => {
    const server = await openScripted(carrier, pages('legacy', [toolPage([tool('work')], { ttlMs: 60_000 })]));
    const connection = await connect(server.record);

    for (let order = 0; order < 3; order += 1) await connection.listTools();

    expect(lists(server)).toBe(3);
  });

  test('6.1, MP12: a new connection has no list, and another one of the same server none of its own', async () => {
    const server = await openScripted(carrier, pages('modern', [toolPage([tool('work')], { ttlMs: 60_000 })]));
    const first = await connect(server.record);
    await first.listTools();
    const second = await connect(server.record);
    await second.listTools();
    await first.stop();
    await (await connect(server.record)).listTools();

    expect(lists(server)).toBe(3);
  });

  test.each<[Era, string, JsonObject, number]>([
    ['modern', 'absent', {}, 1],
    ['modern', 'null', { nextCursor: null }, 1],
    ['modern', '""', { nextCursor: '' }, 2],
    ['modern', '"b"', { nextCursor: 'b' }, 2],
    ['legacy', 'absent', {}, 1],
    ['legacy', 'null', { nextCursor: null }, 1],
    ['legacy', '""', { nextCursor: '' }, 1],
    ['legacy', '"b"', { nextCursor: 'b' }, 2],
  ])('6.2, MP1: %s, nextCursor %s: %d pages', async (era, _, more, count) => {
    const server = await openScripted(carrier, pages(era, [toolPage([tool('a')], more), toolPage([tool('b')])]));

    const list = await (await connect(server.record)).listTools();

    expect(list.tools.map((entry) => entry.definition.name)).toEqual(['a', 'b'].slice(0, count));
    expect(cursorsAsked(server)).toEqual([undefined, more['nextCursor']].slice(0, count));
  });

  test.each<[Era, Json]>([
    ['modern', 5],
    ['modern', {}],
    ['modern', true],
    ['legacy', 5],
    ['legacy', ['b']],
  ])('6.2, MP1: %s, nextCursor %j: list_invalid', async (era, nextCursor) => {
    const server = await openScripted(carrier, pages(era, [toolPage([tool('a')], { nextCursor })]));

    expect(await failureOf((await connect(server.record)).listTools())).toMatchObject({ code: 'list_invalid' });
    expect(lists(server)).toBe(1);
  });

  test('6.2, MP1: a cursor seen before ends the walk with a warning, each tool is there once', async () => {
    const logger = createRecordingLogger();
    const server = await openScripted(
      carrier,
      pages('modern', [
        toolPage([tool('a')], { nextCursor: 'x' }),
        toolPage([tool('b')], { nextCursor: 'y' }),
        toolPage([tool('a')], { nextCursor: 'x' }),
      ]),
    );

    const list = await (await connect(server.record, { logger })).listTools();

    expect(list.tools.map((entry) => entry.definition.name)).toEqual(['a', 'b']);
    expect(lists(server)).toBe(3);
    expect(logger.find('mcp.list.cursor_repeated')).toEqual([{ server_name: 'scripted', pages: 3 }]);
    expect(logger.find('mcp.tool.rejected')).toEqual([
      { server_name: 'scripted', tool_name: 'a', reason: 'duplicate' },
    ]);
  });

  test.each([
    [100, undefined],
    [101, 'list_invalid'],
  ])('6.2, MP1: %d pages', async (count, code) => {
    const steps = Array.from({ length: count }, (_, index) =>
      toolPage([tool(`t${index}`)], index + 1 < count ? { nextCursor: `c${index}` } : {}),
    );
    const server = await openScripted(carrier, pages('modern', steps));
    const listing = (await connect(server.record)).listTools();

    if (code === undefined) expect((await listing).tools).toHaveLength(100);
    else expect((await failureOf(listing)).code).toBe(code);
    expect(lists(server)).toBe(100);
  });

  test.each([
    [5_000, undefined],
    [5_001, 'list_invalid'],
  ])('6.2: two pages of %d tools', async (count, code) => {
    const page = (name: string) => Array.from({ length: count }, (_, index) => tool(`${name}${index}`));
    const server = await openScripted(
      carrier,
      pages('modern', [toolPage(page('a'), { nextCursor: 'b' }), toolPage(page('b'))]),
    );
    const listing = (await connect(server.record)).listTools();

    if (code === undefined) expect((await listing).tools).toHaveLength(10_000);
    else expect((await failureOf(listing)).code).toBe(code);
  });

  test('6.2: one deadline for all pages', async () => {
    const steps = Array.from({ length: 50 }, (_, index) => ({
      ...toolPage([tool(`t${index}`)], { nextCursor: `c${index}` }),
      delay: 60,
    }));
    const server = await openScripted(carrier, pages('modern', steps), { timeouts: { list_ms: 400 } });

    expect((await failureOf((await connect(server.record)).listTools())).message).toContain(
      'no complete list within 0.4 s',
    );
    expect(lists(server)).toBeGreaterThan(1);
    expect(lists(server)).toBeLessThan(50);
  });

  test('6.3, MP4: a tool that cannot be used costs only itself, one line in the log each', async () => {
    const logger = createRecordingLogger();
    const deep: Json = JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`) as Json;
    const bad: readonly (readonly [Json, string])[] = [
      [{ inputSchema: { type: 'object' } }, 'name_missing'],
      [{ name: 'without' }, 'schema_not_object'],
      [{ name: 'text', inputSchema: { type: 'string' } }, 'schema_not_object'],
      [tool('large', { description: 'x'.repeat(256 * 1024) }), 'too_large'],
      [tool('deep', { inputSchema: { type: 'object', a: deep } }), 'too_deep'],
      [tool('remote', { inputSchema: { type: 'object', $ref: 'https://example.org/x.json' } }), 'remote_reference'],
      [tool('lost', { inputSchema: { type: 'object', $ref: '#/$defs/none' } }), 'unresolved_reference'],
    ];
    const good = { type: 'object', properties: { p: { $ref: '#/$defs/p' } }, $defs: { p: { type: 'string' } } };
    const server = await openScripted(
      carrier,
      pages('modern', [toolPage([tool('work', { inputSchema: good }), ...bad.map(([entry]) => entry), tool('last')])]),
    );
    const connection = await connect(server.record, { logger });

    const list = await connection.listTools();
    await connection.listTools();

    expect(list.tools.map((entry) => entry.definition.name)).toEqual(['work', 'last']);
    expect(list.tools[0]?.definition.inputSchema).toEqual(good);
    expect(logger.find('mcp.tool.rejected').map((fields) => fields['reason'])).toEqual(bad.map(([, reason]) => reason));
  });

  test('6.3: pages are joined, bad tools left out one by one, each named once in the log', async () => {
    const logger = createRecordingLogger();
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/list': [
          { result: { tools: [tool('a'), { name: 'bad' }], nextCursor: 'two' } },
          toolPage([tool('b'), tool('a'), tool('a.b'), tool('a_b')], {
            nextCursor: null,
            ttlMs: 'soon',
            cacheScope: 5,
          }),
          { result: { tools: [tool('a'), { name: 'bad' }] } },
        ],
      }),
    );
    const connection = await connect(server.record, { logger });

    const list = await connection.listTools();
    await connection.listTools();

    expect(list.tools.map((entry) => entry.definition.name)).toEqual(['a', 'b', 'a.b']);
    expect(list.rejected.map((entry) => [entry.name, entry.reason])).toEqual([
      ['bad', 'schema_not_object'],
      ['a', 'duplicate'],
      ['a_b', 'name_collision'],
    ]);
    expect(logger.find('mcp.tool.rejected')).toEqual([
      { server_name: 'scripted', tool_name: 'bad', reason: 'schema_not_object' },
      { server_name: 'scripted', tool_name: 'a', reason: 'duplicate' },
      { server_name: 'scripted', tool_name: 'a_b', reason: 'name_collision', other: 'a.b' },
    ]);
  });

  test('a list that is none is said so', async () => {
    const server = await openScripted(carrier, legacyScript({ 'tools/list': [{ result: { tools: 'many' } }] }));

    const failure = await failureOf((await connect(server.record)).listTools());

    expect(failure.code).toBe('list_invalid');
    expect(failure.message).toMatch(/^list_tools failed: the tools are no list\. Probably an old or different program/);
  });

  test('6.2: a list that never comes ends at its limit', async () => {
    const server = await openScripted(carrier, modernScript({ 'tools/list': [{ silent: true }] }), {
      timeouts: { list_ms: 200 },
    });

    expect((await failureOf((await connect(server.record)).listTools())).message).toContain(
      'no complete list within 0.2 s',
    );
  });

  test('a server without tools has none and is not asked', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'server/discover': [discoverOf({})],
      }),
    );
    const connection = await connect(server.record);

    expect((await connection.listTools()).tools).toEqual([]);
    expect(await connection.list('prompts/list')).toEqual([]);
    expect((await failureOf(connection.read('resources/read', { uri: 'x' }))).message).toContain('offers no resources');
    expect(server.methods()).toEqual(['server/discover']);
  });

  test('6.5: prompts and resources follow the same rules', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'server/discover': [discoverOf({ prompts: {}, resources: {} })],
        'prompts/list': [
          { result: { prompts: [{ name: 'p1' }], nextCursor: '' } },
          { result: { prompts: [{ name: 'p2' }] } },
        ],
        'resources/list': [{ result: { resources: [{ name: 'r', uri: 'file:///r' }], ttlMs: 60_000 } }],
        'resources/templates/list': [{ result: { resourceTemplates: [] } }],
        'prompts/get': [{ result: { messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }] } }],
        'resources/read': [{ result: { contents: [{ uri: 'file:///r', text: 'content' }] } }],
      }),
    );
    const connection = await connect(server.record);

    expect(await connection.list('prompts/list')).toMatchObject([{ name: 'p1' }, { name: 'p2' }]);
    expect(await connection.list('resources/list')).toMatchObject([{ uri: 'file:///r' }]);
    expect(await connection.list('resources/list')).toHaveLength(1);
    expect(await connection.list('resources/templates/list')).toEqual([]);
    expect(await connection.read('prompts/get', { name: 'p1' })).toMatchObject({ messages: [{ role: 'user' }] });
    expect(await connection.read('resources/read', { uri: 'file:///r' })).toMatchObject({
      contents: [{ text: 'content' }],
    });
    expect(server.methods().filter((method) => method === 'resources/list')).toHaveLength(1);
  });
});
