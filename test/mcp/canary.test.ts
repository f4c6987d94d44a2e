import { expect, test } from 'vitest';
import { createMcpHost } from '../../src/mcp/host.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { json, modernHttp, page, result, startHttp } from './http-server.ts';
import {
  callResult,
  createEventLog,
  createRecordingLogger,
  createRecordingRegistry,
  failureOf,
  modernScript,
  onCleanup,
  scriptedServer,
  tempFolder,
  tool,
  toolPage,
} from './support.ts';

/** A text that must never come out; the number tells which. */
const canary = (place: string): string => `CANARY-${place}`;

test('no log line and no event holds what must never be logged (mcp-host 12.2, PD8)', async () => {
  const server = scriptedServer(
    modernScript({
      start: [
        {
          before: [`noise ${canary('env-value')} and ${canary('noise')}`],
          stderr: [`boom ${canary('env-value')}`],
        },
      ],
      'tools/list': [
        toolPage(
          [
            tool('work', {
              description: canary('description'),
              inputSchema: { type: 'object', description: canary('schema') },
            }),
          ],
          {
            nextCursor: canary('cursor'),
          },
        ),
        toolPage([tool('other')], { nextCursor: canary('cursor') }),
      ],
      'tools/call': [
        {
          result: {
            resultType: 'input_required',
            requestState: canary('state'),
            inputRequests: {
              q: {
                method: 'elicitation/create',
                params: { message: canary('question'), requestedSchema: { type: 'object', properties: {} } },
              },
            },
          },
        },
        callResult(canary('result'), { structuredContent: { secret: canary('structured') } }),
        { error: { code: 1, message: canary('error-text'), data: { d: canary('error-data') } } },
        { stderr: [canary('stderr')], exit: 3 },
      ],
    }),
    { env: { CANARY_ENV_NAME: canary('env-value') }, tools: { eager: ['*'] } },
  );
  const args = [...(server.record['args'] as readonly string[]), canary('argument')];
  const web = await startHttp(
    modernHttp((request, response) => {
      if (request.rpc === 'tools/call') page(response, 500);
      else if (request.rpc === 'tools/list') {
        json(
          response,
          result(request, {
            resultType: 'complete',
            tools: [{ name: 'bad', description: canary('description') }],
            ttlMs: 0,
            cacheScope: 'private',
          }),
        );
      } else return false;
      return true;
    }),
  );
  const logger = createRecordingLogger();
  const events = createEventLog();
  const host = createMcpHost({
    registry: createRecordingRegistry(),
    logger,
    publish: events.publish,
    clock: systemClock,
    version: '0.1.0',
    projectRoot: tempFolder(),
    configDir: tempFolder(),
    trusted: true,
    env: { ...process.env, TOKEN: canary('header') },
    records: [
      { ...server.record, args },
      { name: 'web', url: `${web.url}/${canary('path')}?q=${canary('query')}`, headers: { 'X-Key': '${TOKEN}' } },
      { name: 'gone', command: `no-such-${canary('command')}` },
      { name: 'down', url: `http://127.0.0.1:9/${canary('path')}`, headers: { 'X-Key': canary('header') } },
    ],
    onElicitation: async () => ({ action: 'accept', content: { answer: canary('answer') } }),
  });
  onCleanup(() => host.stop());

  await host.start();
  await host.ready();
  await host.call('scripted', 'work', { a: canary('tool-argument') });
  await failureOf(host.call('scripted', 'work', {}));
  const closed = await failureOf(host.call('scripted', 'work', {}));
  await failureOf(host.call('gone', 'work', {}));
  await failureOf(host.call('down', 'work', {}));
  await host.tools('web');
  await failureOf(host.call('web', 'work', { a: canary('tool-argument') }));
  await host.test({ ...server.record, args });
  await host.test({ name: 'gone', command: canary('command') });
  await host.stop();

  const shown = [...logger.lines.filter((line) => line.level !== 'debug' && line.level !== 'trace'), ...events.events];
  expect(shown.length).toBeGreaterThan(10);
  expect(JSON.stringify(shown)).not.toContain('CANARY');
  const debug = JSON.stringify(logger.lines.filter((line) => line.level === 'debug'));
  // Text of the server itself may be shown at debug; everything configured, sent or received as a message may not.
  expect(debug).toContain(canary('noise'));
  expect(debug).toContain(canary('stderr'));
  expect([...new Set(debug.match(/CANARY-[a-z-]+/g))].toSorted()).toEqual([canary('noise'), canary('stderr')]);
  expect(JSON.stringify(closed.data)).not.toContain(canary('env-value'));
});

test('log lines carry exactly the documented fields (mcp-host 12.2)', async () => {
  const server = scriptedServer(modernScript(), { tools: { eager: ['*'] } });
  const logger = createRecordingLogger();
  const host = createMcpHost({
    registry: createRecordingRegistry(),
    logger,
    publish: () => {},
    clock: systemClock,
    version: '0.1.0',
    projectRoot: tempFolder(),
    configDir: tempFolder(),
    trusted: true,
    records: [server.record],
  });
  await host.start();
  await host.ready();
  await host.stop();

  const fieldsOf = (message: string): readonly string[] => Object.keys(logger.find(message)[0] ?? {}).toSorted();
  const documented: JsonObject = {
    'mcp.server.connect.ok': ['elapsed_ms', 'era', 'protocol_version', 'sandbox', 'server_name', 'target', 'transport'],
    'mcp.server.exit': ['exit_code', 'server_name', 'signal', 'strays_killed', 'target'],
    'mcp.sandbox.off': ['reason', 'server_name', 'target'],
    'mcp.tool.load': ['elapsed_ms', 'server_name', 'size_kb', 'target', 'tool_name'],
  };
  for (const [message, fields] of Object.entries(documented)) expect(fieldsOf(message), message).toEqual(fields);
  expect(new Set(logger.lines.map((line) => line.fields['target']))).toEqual(new Set(['vibe::mcp']));
});
