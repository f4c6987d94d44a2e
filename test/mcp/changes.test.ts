import { describe, expect, test } from 'vitest';
import type { ToolList } from '../../src/mcp/tool-list.ts';
import type { Clock } from '../../src/protocol/deps.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { type CarrierName, carriers, openScripted } from './scripted-web.ts';
import {
  callResult,
  connect,
  createRecordingLogger,
  createSignalBox,
  failureOf,
  legacyScript,
  modernScript,
  type Script,
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

/** A legacy script whose server sends notices by itself; on the web they come over the GET stream. */
function noticing(carrier: CarrierName, notices: Step, more: Script = {}): Script {
  return legacyScript({
    ...more,
    ...(carrier === 'stdio' ? { 'tools/call': [{ ...notices, ...callResult('ok') }] } : { GET: [notices] }),
  });
}

describe.each(carriers)('6.4, MP6: change notices, %s', (carrier) => {
  test('modern: one stream is opened after the first list, and a burst of notices is one new list', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'server/discover': [changingDiscover],
        'tools/list': [toolPage([tool('a')], { ttlMs: 60_000 }), toolPage([tool('a'), tool('b')])],
        'subscriptions/listen': [{ ...listening(), flood: { count: 200, line: notice } }],
      }),
    );
    const connection = await connect(server.record);
    expect(server.methods()).not.toContain('subscriptions/listen');
    const changed = nextList(connection);
    await connection.listTools();

    expect((await changed).tools.map((entry) => entry.definition.name)).toEqual(['a', 'b']);
    expect(server.methods().filter((method) => method === 'tools/list')).toHaveLength(2);
    expect(server.methods().filter((method) => method === 'subscriptions/listen')).toHaveLength(1);
    expect(server.received().find((message) => message['method'] === 'subscriptions/listen')).toMatchObject({
      params: { notifications: { toolsListChanged: true } },
    });
  });

  test('legacy: unsolicited notices do the same', async () => {
    const flood = { flood: { count: 200, line: notice }, ...(carrier === 'http' ? { delay: 200, silent: true } : {}) };
    const server = await openScripted(
      carrier,
      noticing(carrier, flood, {
        'tools/list': [{ result: { tools: [tool('a')] } }, { result: { tools: [tool('b')] } }],
      }),
    );
    const connection = await connect(server.record);
    const changed = nextList(connection);
    await connection.listTools();
    if (carrier === 'stdio') await connection.callTool('a', {});

    expect((await changed).tools.map((entry) => entry.definition.name)).toEqual(['b']);
    expect(server.methods().filter((method) => method === 'tools/list')).toHaveLength(2);
    expect(server.methods()).not.toContain('subscriptions/listen');
  });

  test('a server that announces no changes is not listened to', async () => {
    const server = await openScripted(carrier, modernScript());
    const connection = await connect(server.record);
    await connection.listTools();
    await connection.stop();

    expect(server.methods()).not.toContain('subscriptions/listen');
  });

  test.each<[string, Step]>([
    ['with a result', listening('{"jsonrpc":"2.0","id":"$idtext","result":{"resultType":"complete"}}')],
    ...(carrier === 'http' ? [['without one', { before: listening()['before'] ?? [] }] as [string, Step]] : []),
  ])('a stream that ends %s is opened again after 1, 2, 4 … 60 s, and the list with it', async (_, ended) => {
    const pauses: number[] = [];
    const changes = createSignalBox();
    // time passes at once, until enough was seen
    const clock: Clock = {
      ...systemClock,
      sleep(ms, signal) {
        if (ms >= 1_000) pauses.push(ms / 1_000);
        changes.notify();
        return pauses.length < 9 ? Promise.resolve() : systemClock.sleep(ms, signal);
      },
    };
    const server = await openScripted(
      carrier,
      modernScript({ 'server/discover': [changingDiscover], 'subscriptions/listen': [ended] }),
    );
    const connection = await connect(server.record, { clock });

    await connection.listTools();
    await changes.until(() => pauses.length === 9);

    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(server.methods().filter((method) => method === 'subscriptions/listen')).toHaveLength(9);
    expect(server.methods().filter((method) => method === 'tools/list').length).toBeGreaterThan(1);
  });

  test('a refused stream is a warning and nothing else', async () => {
    const logger = createRecordingLogger();
    const server = await openScripted(carrier, modernScript({ 'server/discover': [changingDiscover] }));
    const connection = await connect(server.record, { logger });
    await connection.listTools();

    await logger.written('mcp.server.listen.failed');

    expect(logger.find('mcp.server.listen.failed')).toEqual([{ server_name: 'scripted', error_code: 'remote' }]);
    expect((await connection.callTool('work', {})).isError).toBe(false);
  });
});

test('6.1: a refresh that fails keeps nothing old', async () => {
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
