import { describe, expect, test } from 'vitest';
import type { ToolList } from '../../src/mcp/tool-list.ts';
import {
  callResult,
  connect,
  createRecordingLogger,
  failureOf,
  legacyScript,
  modernScript,
  scriptedServer,
  type Step,
  tool,
  toolPage,
} from './support.ts';

const notice = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
const changingDiscover: Step = {
  result: {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: { listChanged: true } },
    ttlMs: 0,
    cacheScope: 'private',
  },
};
/** The acknowledgement of `subscriptions/listen`, followed by what the stream carries. */
function listening(...after: readonly string[]): Step {
  const acknowledged =
    '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"$idtext"}}}';
  return { before: [acknowledged], silent: true, after: [...after] };
}

function nextList(connection: Awaited<ReturnType<typeof connect>>): Promise<ToolList> {
  return new Promise((resolve) => {
    const off = connection.onToolsChanged((list) => {
      off();
      resolve(list);
    });
  });
}

describe('change notices (mcp-host 6.4, MP6)', () => {
  test('modern: one stream is opened after the first list, and a burst of notices is one new list', async () => {
    const server = scriptedServer(
      modernScript({
        'server/discover': [changingDiscover],
        'tools/list': [toolPage([tool('a')], { ttlMs: 60_000 }), toolPage([tool('a'), tool('b')])],
        'subscriptions/listen': [listening()],
        'tools/call': [{ flood: { count: 200, line: notice }, ...callResult('ok') }],
      }),
    );
    const connection = await connect(server.record);
    expect(server.methods()).not.toContain('subscriptions/listen');
    await connection.listTools();
    await connection.listTools();
    const changed = nextList(connection);

    await connection.callTool('a', {});

    expect((await changed).tools.map((entry) => entry.definition.name)).toEqual(['a', 'b']);
    expect(server.methods().filter((method) => method === 'tools/list')).toHaveLength(2);
    expect(server.methods().filter((method) => method === 'subscriptions/listen')).toHaveLength(1);
    expect(server.received().find((message) => message['method'] === 'subscriptions/listen')).toMatchObject({
      params: { notifications: { toolsListChanged: true } },
    });
  });

  test('a server that announces no changes is not listened to', async () => {
    const server = scriptedServer(modernScript());
    const connection = await connect(server.record);
    await connection.listTools();
    await connection.stop();

    expect(server.methods()).not.toContain('subscriptions/listen');
  });

  test('a stream the server ends is opened again, and the list with it', async () => {
    const server = scriptedServer(
      modernScript({
        'server/discover': [changingDiscover],
        'subscriptions/listen': [
          listening('{"jsonrpc":"2.0","id":"$idtext","result":{"resultType":"complete"}}'),
          listening(),
        ],
      }),
    );
    const connection = await connect(server.record);
    const changed = nextList(connection);
    await connection.listTools();

    await changed;

    await server.arrived('subscriptions/listen', 2);
  });

  test('a refused stream is a warning and nothing else', async () => {
    const logger = createRecordingLogger();
    const server = scriptedServer(modernScript({ 'server/discover': [changingDiscover] }));
    const connection = await connect(server.record, { logger });
    await connection.listTools();

    await logger.written('mcp.server.listen.failed');

    expect(logger.find('mcp.server.listen.failed')).toEqual([{ server_name: 'scripted', error_code: 'remote' }]);
    expect((await connection.callTool('work', {})).isError).toBe(false);
  });

  test('legacy: unsolicited notices do the same', async () => {
    const server = scriptedServer(
      legacyScript({
        'tools/list': [{ result: { tools: [tool('a')] } }, { result: { tools: [tool('b')] } }],
        'tools/call': [{ flood: { count: 200, line: notice }, ...callResult('ok') }],
      }),
    );
    const connection = await connect(server.record);
    await connection.listTools();
    const changed = nextList(connection);

    await connection.callTool('a', {});

    expect((await changed).tools.map((entry) => entry.definition.name)).toEqual(['b']);
    expect(server.methods().filter((method) => method === 'tools/list')).toHaveLength(2);
  });

  test('a refresh that fails keeps nothing old', async () => {
    const logger = createRecordingLogger();
    const server = scriptedServer(
      legacyScript({
        'tools/list': [{ result: { tools: [tool('a')] } }, { error: { code: 1, message: 'no' } }],
        'tools/call': [{ before: [notice], ...callResult('ok') }],
      }),
    );
    const connection = await connect(server.record, { logger });
    await connection.listTools();
    await connection.callTool('a', {});

    await logger.written('mcp.list.refresh.failed');

    expect((await failureOf(connection.listTools())).code).toBe('remote');
  });
});

describe('lists of a real process (mcp-host 6.2, 6.3)', () => {
  test('pages are joined, bad tools left out one by one, each named once in the log', async () => {
    const logger = createRecordingLogger();
    const server = scriptedServer(
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
    const server = scriptedServer(legacyScript({ 'tools/list': [{ result: { tools: 'many' } }] }));

    const failure = await failureOf((await connect(server.record)).listTools());

    expect(failure.code).toBe('list_invalid');
    expect(failure.message).toMatch(/^list_tools failed: the tools are no list\. Probably an old or different program/);
  });

  test('a list that never comes ends at its limit', async () => {
    const server = scriptedServer(modernScript({ 'tools/list': [{ silent: true }] }), { timeouts: { list_ms: 200 } });

    expect((await failureOf((await connect(server.record)).listTools())).message).toContain(
      'no complete list within 0.2 s',
    );
  });

  test('a server without tools has none and is not asked', async () => {
    const server = scriptedServer(
      modernScript({
        'server/discover': [
          {
            result: {
              resultType: 'complete',
              supportedVersions: ['2026-07-28'],
              capabilities: {},
              ttlMs: 0,
              cacheScope: 'private',
            },
          },
        ],
      }),
    );
    const connection = await connect(server.record);

    expect((await connection.listTools()).tools).toEqual([]);
    expect(await connection.list('prompts/list')).toEqual([]);
    expect((await failureOf(connection.read('resources/read', { uri: 'x' }))).message).toContain('offers no resources');
    expect(server.methods()).toEqual(['server/discover']);
  });

  test('prompts and resources follow the same rules (mcp-host 6.5)', async () => {
    const server = scriptedServer(
      modernScript({
        'server/discover': [
          {
            result: {
              resultType: 'complete',
              supportedVersions: ['2026-07-28'],
              capabilities: { prompts: {}, resources: {} },
              ttlMs: 0,
              cacheScope: 'private',
            },
          },
        ],
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
