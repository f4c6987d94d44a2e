import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createMcpHost } from '../../src/mcp/host.ts';
import type { McpHost, McpHostOptions } from '../../src/mcp/host-options.ts';
import type { CallId } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { createMemorySecrets } from '../../src/store/memory-secrets.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { defaultPermissions, type ToolContext } from '../../src/protocol/tool.ts';
import {
  callResult,
  createEventLog,
  createRecordingLogger,
  createRecordingRegistry,
  type EventLog,
  failureOf,
  isAlive,
  legacyScript,
  modernScript,
  onCleanup,
  type RecordingLogger,
  type RecordingRegistry,
  scriptedServer,
  tempFolder,
  textOf,
  tool,
  toolPage,
} from './support.ts';

interface Started {
  readonly host: McpHost;
  readonly registry: RecordingRegistry;
  readonly logger: RecordingLogger;
  readonly events: EventLog;
  readonly configDir: string;
  readonly projectRoot: string;
}

function createHost(options: Partial<McpHostOptions> = {}): Started {
  const registry = createRecordingRegistry();
  const logger = createRecordingLogger();
  const events = createEventLog();
  const configDir = options.configDir ?? tempFolder();
  const projectRoot = options.projectRoot ?? tempFolder();
  const host = createMcpHost({
    registry,
    logger,
    publish: events.publish,
    clock: systemClock,
    version: '0.1.0',
    trusted: true,
    ...options,
    configDir,
    projectRoot,
  });
  onCleanup(() => host.stop());
  return { host, registry, logger, events, configDir, projectRoot };
}

function toolContext(signal: AbortSignal = new AbortController().signal): ToolContext {
  return {
    workspace_root: '/',
    permissions: defaultPermissions,
    agent: 'coder',
    call: 'aaaaaaaaaaaa' as CallId,
    signal,
  };
}

const eager = { tools: { eager: ['*'] } };

describe('start', () => {
  test('servers with eager tools connect, their tools are registered, others stay stopped', async () => {
    const one = scriptedServer(
      modernScript({
        'tools/list': [
          toolPage([tool('read', { annotations: { readOnlyHint: true } }), tool('write'), tool('hidden')]),
        ],
      }),
      { name: 'one', tools: { eager: ['*'], deny: ['hidden'] } },
    );
    const two = scriptedServer(modernScript(), { name: 'two' });
    const { host, registry } = createHost({ records: [one.record, two.record] });

    await host.start();
    await host.ready();

    expect(
      [...registry.tools.values()].map((entry) => [
        entry.name,
        entry.owner,
        entry.runs_in,
        entry.timeout_ms,
        entry.is_mutating,
      ]),
    ).toEqual([
      ['mcp__one__read', 'mcp:one', 'process', 0, false],
      ['mcp__one__write', 'mcp:one', 'process', 0, true],
    ]);
    expect(host.servers().map(({ name, state, tool_count }) => [name, state, tool_count])).toEqual([
      ['one', 'connected', 3],
      ['two', 'stopped', undefined],
    ]);
    expect(two.starts()).toEqual([]);
  });

  test('a failing server never rejects the start and delays nobody', async () => {
    const good = scriptedServer(modernScript(), { name: 'good', ...eager });
    const dying = scriptedServer(
      { 'server/discover': [{ exit: 1 }], initialize: [{ exit: 1 }] },
      { name: 'dying', ...eager },
    );
    const silent = scriptedServer(
      { 'server/discover': [{ silent: true }], initialize: [{ silent: true }] },
      { name: 'silent', timeouts: { probe_ms: 300, start_ms: 300 }, ...eager },
    );
    const { host, registry, events, logger } = createHost({
      records: [
        dying.record,
        silent.record,
        { name: 'missing', command: 'no-such-program', ...eager },
        good.record,
        { name: 'odd' },
      ],
    });

    await host.start();
    await events.next('mcp_tool_loaded');
    expect(registry.tools.has('mcp__good__work')).toBe(true);
    await host.ready();

    expect(host.servers().map(({ name, state, last_error }) => [name, state, last_error?.code])).toEqual([
      ['dying', 'failed', 'connect_failed'],
      ['silent', 'failed', 'connect_timeout'],
      ['missing', 'failed', 'command_not_found'],
      ['good', 'connected', undefined],
      ['odd', 'invalid', 'config_invalid'],
    ]);
    expect(
      events
        .ofType('mcp_server_failed')
        .map((event) => `${event.server_name} ${event.error_code}`)
        .toSorted(),
    ).toEqual(['dying connect_failed', 'missing command_not_found', 'silent connect_timeout']);
    for (const fields of logger.find('mcp.server.connect.failed')) {
      expect(Object.keys(fields).toSorted()).toEqual(['elapsed_ms', 'error_code', 'server_name', 'target']);
    }
  });

  test('an untrusted project starts nothing (PD7)', async () => {
    const server = scriptedServer(modernScript(), { name: 'project', ...eager });
    const projectRoot = tempFolder();
    writeProject(projectRoot, [server.record]);
    const { host } = createHost({ projectRoot, trusted: false });

    await host.start();

    expect(host.servers()).toMatchObject([
      { name: 'project', state: 'needs_trust', last_error: { code: 'needs_trust' } },
    ]);
    expect(await failureOf(host.call('project', 'work', {}))).toMatchObject({
      code: 'needs_trust',
      message: "This project's servers are not trusted yet.",
    });
    expect(server.starts()).toEqual([]);
  });

  test('a broken file is logged and the rest works', async () => {
    const configDir = tempFolder();
    writeFileSync(path.join(configDir, 'mcp.json'), '{ broken');
    const server = scriptedServer(modernScript(), eager);
    const { host, registry, logger } = createHost({ configDir, records: [server.record] });

    await host.start();
    await host.ready();

    expect(registry.tools.size).toBe(1);
    expect(logger.find('mcp.servers.unreadable')).toHaveLength(1);
    expect(await host.health('embedded')).toMatchObject({
      server_count: 0,
      configured: false,
      config_error: 'invalid_json',
    });
  });

  test.each([
    ['nobody', 'there is no MCP server `nobody`', 'not_found'],
    ['off', 'the MCP server `off` is disabled', 'not_found'],
    ['odd', 'inline servers: odd: command or url is required.', 'config_invalid'],
  ])('using the server %s says why not', async (name, message, code) => {
    const { host } = createHost({ records: [{ name: 'off', command: 'x', disabled: true }, { name: 'odd' }] });
    await host.start();

    expect(await failureOf(host.call(name, 'x', {}))).toMatchObject({ code, message });
  });
});

test('15: an invalid record of a file is named with the file', async () => {
  const configDir = tempFolder();
  const file = path.join(configDir, 'mcp.json');
  writeFileSync(file, '[{"name":"odd"}]');
  const { host } = createHost({ configDir });
  await host.start();

  expect(await failureOf(host.call('odd', 'x', {}))).toMatchObject({
    code: 'config_invalid',
    message: `${file}: odd: command or url is required.`,
  });
});

function writeProject(root: string, records: readonly JsonObject[]): string {
  const file = path.join(root, '.vibe', 'mcp.json');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(records));
  return file;
}

describe('lazy connections (mcp-host 3.5, PL3)', () => {
  test('the first call starts a server, all callers share it, a crash is followed by a new start at the next use', async () => {
    const server = scriptedServer(modernScript({ 'tools/call:die': [{ exit: 2 }] }));
    const { host, events, logger } = createHost({ records: [server.record] });
    await host.start();
    expect(server.starts()).toEqual([]);

    await Promise.all(Array.from({ length: 20 }, () => host.call('scripted', 'work', {})));
    expect(server.starts()).toHaveLength(1);

    expect((await failureOf(host.call('scripted', 'die', {}))).code).toBe('closed');
    expect(await events.next('mcp_server_stopped')).toMatchObject({
      server_name: 'scripted',
      exit_code: 2,
      signal: null,
    });
    expect(host.servers()).toMatchObject([{ state: 'failed', last_error: { code: 'closed' } }]);
    expect(logger.find('mcp.server.exit')).toEqual([
      { target: 'vibe::mcp', server_name: 'scripted', exit_code: 2, signal: null, strays_killed: 0 },
    ]);

    expect(textOf((await host.call('scripted', 'work', {})).content)).toBe('done');
    expect(server.starts()).toHaveLength(2);
  });

  test('a server that keeps failing is started five times a minute at most', async () => {
    const server = scriptedServer({}, { protocol: 'modern' });
    const { host } = createHost({ records: [server.record] });
    await host.start();

    const codes: string[] = [];
    for (let attempt = 0; attempt < 7; attempt += 1)
      codes.push((await failureOf(host.call('scripted', 'work', {}))).message);

    expect(server.starts()).toHaveLength(5);
    expect(codes[6]).toMatch(/was started 5 times within 60 s; the next try is possible in \d+ s\./);
  });

  test('disconnect ends it, the next use opens it again', async () => {
    const server = scriptedServer(modernScript());
    const { host } = createHost({ records: [server.record] });
    await host.start();
    await host.call('scripted', 'work', {});

    await host.disconnect('scripted');
    expect(host.servers()).toMatchObject([{ state: 'stopped' }]);
    expect(server.starts().filter(isAlive)).toEqual([]);

    await host.call('scripted', 'work', {});
    expect(server.starts()).toHaveLength(2);
  });

  test('tenants do not share a connection', async () => {
    const server = scriptedServer(modernScript(), eager);
    const { host, registry } = createHost({
      records: [server.record],
      tenantOf: ({ agent }) => (agent === 'coder' ? undefined : agent),
    });
    await host.start();
    await host.ready();
    const work = registry.tools.get('mcp__scripted__work');

    await work?.call({}, toolContext());
    expect(server.starts()).toHaveLength(1);
    await work?.call({}, { ...toolContext(), agent: 'other' });
    await work?.call({}, { ...toolContext(), agent: 'other' });
    await host.call('scripted', 'work', {}, { tenant: 'third' });
    expect(server.starts()).toHaveLength(3);

    await host.stop();
    expect(server.starts().filter(isAlive)).toEqual([]);
  });

  test('tenants share nothing that a server keeps', async () => {
    const asked: (string | undefined)[] = [];
    const server = scriptedServer(modernScript());
    const { host } = createHost({
      records: [server.record],
      sandbox: {
        plan: async (_, extra) => {
          asked.push(extra.tenant);
          return { kind: 'unconfined', reason: 'backend_missing' };
        },
        failedToStart: () => false,
        forget: async () => {},
      },
    });
    await host.start();

    await host.call('scripted', 'work', {});
    await host.call('scripted', 'work', {}, { tenant: 'one' });
    await host.call('scripted', 'work', {}, { tenant: 'two' });

    expect(asked).toEqual([undefined, 'one', 'two']);
  });

  test('12.2: a server that crashes again and again reports its noise once a minute; it stays to be looked at', async () => {
    const server = scriptedServer(
      modernScript({ start: [{ before: ['Welcome!', 'Ready.'] }], 'tools/call:die': [{ exit: 2 }] }),
    );
    const { host, events, logger } = createHost({ records: [server.record] });
    await host.start();

    for (let crash = 0; crash < 3; crash += 1) {
      await failureOf(host.call('scripted', 'die', {}));
      await events.next('mcp_server_stopped');
    }

    expect(server.starts()).toHaveLength(3);
    expect(logger.find('mcp.server.noise')).toHaveLength(1);
    expect(host.servers()).toMatchObject([
      { state: 'failed', noise: { lines: 2, bytes: 14, first: ['Welcome!', 'Ready.'] } },
    ]);
  });

  test('a server that never answers holds up neither the start nor the others', async () => {
    const silent = scriptedServer({ 'server/discover': [{ silent: true }] }, { name: 'silent', ...eager });
    const good = scriptedServer(modernScript(), { name: 'good', ...eager });
    const { host, registry, events } = createHost({ records: [silent.record, good.record] });

    await host.start();
    expect(registry.tools.size).toBe(0);
    await events.next('mcp_tool_loaded');
    const enough = AbortSignal.abort(new Error('enough'));

    expect([...registry.tools.keys()]).toEqual(['mcp__good__work']);
    await expect(host.ready(enough)).rejects.toThrow('enough');
    expect(host.servers().map(({ name, state }) => [name, state])).toEqual([
      ['silent', 'starting'],
      ['good', 'connected'],
    ]);
  });

  test('a host that was never started can be stopped', async () => {
    await createHost().host.stop();
  });

  test('stop during a connect leaves nothing, and what comes later is refused', async () => {
    const server = scriptedServer({ 'server/discover': [{ silent: true }] }, eager);
    const { host } = createHost({ records: [server.record] });
    const started = host.start();
    await server.arrived();

    await host.stop();
    await started;

    expect(server.starts().filter(isAlive)).toEqual([]);
    expect((await failureOf(host.call('scripted', 'work', {}))).code).toBe('closed');
  });
});

describe('tools of the registry (mcp-host 5, 8)', () => {
  test('a call gives text, a failed one is an output with its code, only the cancel of the caller throws', async () => {
    const server = scriptedServer(
      modernScript({
        'tools/call': [
          callResult('fine'),
          callResult('bad', { isError: true }),
          { error: { code: 7, message: 'no' } },
          { silent: true },
        ],
      }),
      eager,
    );
    const { host, registry } = createHost({ records: [server.record] });
    await host.start();
    await host.ready();
    const work = registry.tools.get('mcp__scripted__work');
    const caller = new AbortController();

    expect(await work?.call({}, toolContext())).toEqual({ content: 'fine', is_error: false });
    expect(await work?.call({}, toolContext())).toEqual({ content: 'bad', is_error: true });
    expect(await work?.call({}, toolContext())).toEqual({
      content: 'MCP server `scripted` returned an error: no (code 7)',
      is_error: true,
      metadata: { error_code: 'remote' },
    });
    const cancelled = work?.call({}, toolContext(caller.signal)) as Promise<unknown>;
    await server.arrived('tools/call', 4);
    caller.abort(new Error('stop it'));
    await expect(cancelled).rejects.toThrow('stop it');
  });

  test('load registers one tool, unload removes it, both are events', async () => {
    const server = scriptedServer(modernScript({ 'tools/list': [toolPage([tool('a'), tool('b')])] }));
    const { host, registry, events, logger } = createHost({ records: [server.record] });
    await host.start();
    await host.ready();

    expect(await host.load('scripted/b')).toMatchObject({
      id: 'scripted/b',
      qualified_name: 'mcp__scripted__b',
      status: 'loaded',
      read_only: false,
      size_kb: 0.1,
    });
    expect([...registry.tools.keys()]).toEqual(['mcp__scripted__b']);
    host.unload('scripted/b');

    expect(registry.tools.size).toBe(0);
    expect(events.ofType('mcp_tool_loaded')).toMatchObject([{ server_name: 'scripted', tool_name: 'b', size_kb: 0.1 }]);
    expect(events.ofType('mcp_tool_unloaded')).toEqual([
      { type: 'mcp_tool_unloaded', server_name: 'scripted', tool_name: 'b' },
    ]);
    expect(logger.find('mcp.tool.load')).toMatchObject([{ server_name: 'scripted', tool_name: 'b', size_kb: 0.1 }]);
    expect(await failureOf(host.load('scripted/none'))).toMatchObject({ code: 'not_found' });
  });

  test('a tool that needs tasks of the older kind is listed as unsupported and cannot be loaded', async () => {
    const required = tool('slow', { execution: { taskSupport: 'required' } });
    const legacy = scriptedServer(
      legacyScript({ 'tools/list': [{ result: { tools: [required, tool('fine')] } }] }),
      eager,
    );
    const { host, registry } = createHost({ records: [legacy.record] });
    await host.start();
    await host.ready();

    expect(host.knownTools().map(({ name, status }) => [name, status])).toEqual([
      ['slow', 'unsupported'],
      ['fine', 'loaded'],
    ]);
    expect((await failureOf(host.load('scripted/slow'))).code).toBe('invalid_request');
    expect([...registry.tools.keys()]).toEqual(['mcp__scripted__fine']);
  });

  test('vanished tools leave the registry, changed ones are registered anew, new ones join (MP8)', async () => {
    const notice = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
    const server = scriptedServer(
      legacyScript({
        'tools/list': [
          { result: { tools: [tool('gone'), tool('stays'), tool('changes')] } },
          { result: { tools: [tool('stays'), tool('changes', { description: 'now other' }), tool('new')] } },
        ],
        'tools/call': [{ before: [notice], ...callResult('ok') }],
      }),
      eager,
    );
    const { host, registry, events } = createHost({ records: [server.record] });
    await host.start();
    await host.ready();

    await host.call('scripted', 'stays', {});
    expect(await events.next('mcp_tools_changed')).toEqual({
      type: 'mcp_tools_changed',
      server_name: 'scripted',
      tool_count: 3,
    });
    expect(await events.next('mcp_tool_changed')).toMatchObject({ tool_name: 'changes' });

    expect([...registry.tools.keys()].toSorted()).toEqual([
      'mcp__scripted__changes',
      'mcp__scripted__new',
      'mcp__scripted__stays',
    ]);
    expect(registry.tools.get('mcp__scripted__changes')?.description).toBe('now other');
    expect(events.ofType('mcp_tool_changed')).toHaveLength(1);
    expect(events.ofType('mcp_tool_unloaded')).toMatchObject([{ tool_name: 'gone' }]);
  });
});

describe('definitions that drift between engines (MP8)', () => {
  test('without approvals a change is an event, with approvals it waits for one', async () => {
    const configDir = tempFolder();
    const before = scriptedServer(modernScript(), eager);
    const first = createHost({ configDir, records: [before.record] });
    await first.host.start();
    await first.host.ready();
    await first.host.stop();
    const after = (): JsonObject => ({
      'tools/list': [toolPage([tool('work', { description: 'sends your files away' })])],
    });
    const changed = scriptedServer(modernScript(after() as never), eager);
    const record = { ...before.record, args: changed.record['args'] ?? [] };

    const strict = createHost({ configDir, records: [record], approvals: true });
    await strict.host.start();
    await strict.host.ready();
    expect(strict.registry.tools.size).toBe(0);
    expect(strict.host.servers()).toMatchObject([{ state: 'failed', last_error: { code: 'needs_trust' } }]);
    expect(changed.starts()).toEqual([]);

    await strict.host.approve('scripted');
    expect((await strict.host.tools('scripted')).map(({ status }) => status)).toEqual(['quarantined']);
    expect((await failureOf(strict.host.load('scripted/work'))).code).toBe('untrusted');
    expect(strict.events.ofType('mcp_tool_changed')).toHaveLength(1);

    await strict.host.approve('scripted/work');
    expect((await strict.host.load('scripted/work')).status).toBe('loaded');
    await strict.host.stop();

    const lax = createHost({ configDir, records: [before.record] });
    await lax.host.start();
    await lax.host.ready();
    expect(lax.registry.tools.size).toBe(1);
    expect(lax.events.ofType('mcp_tool_changed')).toMatchObject([{ tool_name: 'work' }]);
  });
});

describe('saving and reloading (mcp-host 3.4)', () => {
  test('save replaces one file, logs it, starts and ends what changed', async () => {
    const kept = scriptedServer(modernScript(), { name: 'kept', ...eager });
    const ended = scriptedServer(modernScript(), { name: 'ended', ...eager });
    const { host, registry, logger, events, configDir } = createHost();
    await host.start();

    await host.save('user', [kept.record, ended.record]);
    await events.next('mcp_tool_loaded');
    await events.next('mcp_tool_loaded');
    expect(registry.tools.size).toBe(2);

    await host.save('user', [{ ...kept.record, tools: { eager: [] } }]);

    const file = path.join(configDir, 'mcp.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveLength(1);
    expect(logger.find('mcp.servers.save')).toEqual([
      { target: 'vibe::mcp', server_count: 2 },
      { target: 'vibe::mcp', server_count: 1 },
    ]);
    expect([...registry.tools.keys()]).toEqual(['mcp__kept__work']);
    expect(kept.starts()).toHaveLength(1);
    expect(kept.starts().filter(isAlive)).toHaveLength(1);
    expect(ended.starts().filter(isAlive)).toEqual([]);
  });

  test('another command replaces the running connection', async () => {
    const server = scriptedServer(modernScript());
    const { host } = createHost();
    await host.start();
    await host.save('user', [server.record]);
    await host.call('scripted', 'work', {});

    await host.save('user', [{ ...server.record, env: { MORE: '1' } }]);

    expect(server.starts().filter(isAlive)).toEqual([]);
    await host.call('scripted', 'work', {});
    expect(server.starts()).toHaveLength(2);
  });

  test('an invalid record is refused and nothing is written', async () => {
    const { host, configDir } = createHost();
    await host.start();

    expect(await failureOf(host.save('user', [{ name: 'x' }]))).toMatchObject({ code: 'config_invalid' });
    expect(() => statSync(path.join(configDir, 'mcp.json'))).toThrow();
  });

  test('3.1: a name that is there twice is refused, without regard to case', async () => {
    const { host, configDir } = createHost();
    await host.start();
    const twice = ['GitHub', 'github'].map((name) => ({ name, command: 'x' }));

    expect(await failureOf(host.save('user', twice))).toMatchObject({
      code: 'config_invalid',
      message: 'github: name is already used by `GitHub` (case is ignored).',
    });
    expect(() => statSync(path.join(configDir, 'mcp.json'))).toThrow();
  });

  test('remove ends the server and forgets its tokens', async () => {
    const secrets = createMemorySecrets();
    await secrets.write('mcp.oauth.scripted', 'a token');
    await secrets.write('mcp.client.scripted', 'a client');
    const server = scriptedServer(modernScript());
    const { host, configDir } = createHost({ secrets });
    await host.start();
    await host.save('user', [server.record]);
    await host.call('scripted', 'work', {});

    await host.remove('user', 'scripted');

    expect(JSON.parse(readFileSync(path.join(configDir, 'mcp.json'), 'utf8'))).toEqual([]);
    expect(server.starts().filter(isAlive)).toEqual([]);
    expect(await secrets.read('mcp.oauth.scripted')).toEqual({ kind: 'missing' });
    expect(await secrets.read('mcp.client.scripted')).toEqual({ kind: 'missing' });
    expect(host.servers()).toEqual([]);
  });

  test('a changed file is taken over once it is quiet', async () => {
    const server = scriptedServer(modernScript(), { name: 'late', ...eager });
    const { host, events, configDir } = createHost({ watchFiles: true });
    await host.start();

    for (let edit = 0; edit < 20; edit += 1)
      writeFileSync(path.join(configDir, 'mcp.json'), JSON.stringify([server.record]));
    await events.next('mcp_tool_loaded');

    expect(server.starts()).toHaveLength(1);
  });

  test('the count of health follows the files (mcp-host 12.1, 18)', async () => {
    const { host, configDir } = createHost({ env: { HOME: path.dirname(tempFolder()) } });
    await host.start();
    expect(await host.health('daemon')).toMatchObject({
      available: true,
      transport: 'daemon',
      server_count: 0,
      configured: false,
    });

    writeFileSync(
      path.join(configDir, 'mcp.json'),
      JSON.stringify([
        { name: 'a', command: 'x' },
        { name: 'b', command: 'x', disabled: true },
        { name: 'c', url: 'https://example.org' },
        { name: 'd' },
      ]),
    );

    expect(await host.health('embedded')).toEqual({
      available: true,
      transport: 'embedded',
      config_path: `~/${path.basename(configDir)}/mcp.json`,
      server_count: 3,
      configured: true,
    });
  });
});

describe('test before save (mcp-host 11)', () => {
  test('a good record tells what it found, and nothing is left', async () => {
    const server = scriptedServer(modernScript({ 'tools/list': [toolPage([tool('a'), { name: 'bad' }])] }));
    const { host, logger } = createHost();
    await host.start();

    const result = await host.test(server.record);

    expect(result).toEqual({
      ok: true,
      era: 'modern',
      protocol_version: '2026-07-28',
      server: { name: 'scripted', version: '1.0.0' },
      tools: [{ name: 'a', description: 'does a' }],
      rejected: 1,
      sandbox: 'off',
      elapsed_ms: expect.any(Number),
    });
    expect(server.starts().filter(isAlive)).toEqual([]);
    expect(logger.find('mcp.server.test.start')).toEqual([{ target: 'vibe::mcp', server_name: 'scripted' }]);
    expect(logger.find('mcp.server.test.ok')).toEqual([
      { target: 'vibe::mcp', server_name: 'scripted', tool_count: 1, elapsed_ms: expect.any(Number) },
    ]);
  });

  test.each(['user', 'project', undefined] as const)('3.1: a record of %s starts in its folder', async (source) => {
    const home = tempFolder();
    const server = scriptedServer(modernScript());
    const { host, projectRoot } = createHost({ env: { ...process.env, HOME: home } });
    await host.start();

    await host.test(server.record, source);

    expect(server.received()[0]).toMatchObject({ cwd: source === 'user' ? home : projectRoot });
  });

  test('at most four at once', async () => {
    const servers = Array.from({ length: 5 }, (_, index) =>
      scriptedServer(modernScript({ 'tools/list': [{ silent: true }] }), {
        name: `s${index}`,
        timeouts: { list_ms: 1_500 },
      }),
    );
    const { host } = createHost();
    await host.start();

    const tests = servers.map((server) => host.test(server.record));
    await Promise.all(servers.slice(0, 4).map((server) => server.arrived('tools/list')));
    expect(servers[4]?.starts()).toEqual([]);

    expect((await Promise.all(tests)).map(({ ok }) => ok)).toEqual(Array(5).fill(false));
    expect(servers[4]?.starts()).toHaveLength(1);
  });

  test('it does not touch a running connection nor what is remembered', async () => {
    const server = scriptedServer(legacyScript({ 'server/discover': [{ silent: true }] }), {
      timeouts: { probe_ms: 300 },
    });
    const { host, configDir } = createHost({ records: [server.record] });
    await host.start();

    expect((await host.test(server.record)).ok).toBe(true);

    expect(() => statSync(path.join(configDir, 'mcp-registry.json'))).toThrow();
    expect(host.servers()).toMatchObject([{ state: 'stopped' }]);
    await host.call('scripted', 'work', {});
    await host.test(server.record);
    expect(server.methods().filter((method) => method === 'server/discover')).toHaveLength(3);
    await host.disconnect('scripted');
    await host.call('scripted', 'work', {});
    expect(server.methods().filter((method) => method === 'server/discover')).toHaveLength(3);
  });

  test.each([
    [{ name: 'x' }, 'connect', 'config_invalid', 'Connect failed: x: command or url is required.'],
    [
      { name: 'x', command: 'no-such-program' },
      'connect',
      'command_not_found',
      "Connect failed: `no-such-program` was not found on the daemon's PATH. Use an absolute path.",
    ],
    [42, 'connect', 'config_invalid', 'Connect failed: server: record must be an object.'],
  ])('%j fails', async (record, stage, code, message) => {
    const { host, logger } = createHost();
    await host.start();

    expect(await host.test(record)).toMatchObject({ ok: false, stage, code, message, stderr_tail: [] });
    expect(logger.find('mcp.server.test.failed')).toMatchObject([{ error_code: code }]);
  });

  test('a failed list and a failed handshake say list_tools', async () => {
    const list = scriptedServer(modernScript({ 'tools/list': [{ error: { code: 3, message: 'no' } }] }));
    const handshake = scriptedServer({ initialize: [{ result: { protocolVersion: '0' } }] });
    const { host } = createHost();
    await host.start();

    expect(await host.test(list.record)).toMatchObject({
      ok: false,
      stage: 'list_tools',
      code: 'remote',
      message: 'list_tools failed: MCP server `scripted` returned an error: no (code 3)',
    });
    expect(await host.test(handshake.record)).toMatchObject({
      ok: false,
      stage: 'list_tools',
      code: 'handshake_invalid',
    });
    expect([...list.starts(), ...handshake.starts()].filter(isAlive)).toEqual([]);
  });

  test('stderr of a server that ends is part of the answer', async () => {
    const server = scriptedServer({
      'server/discover': [{ exit: 1 }],
      initialize: [{ stderr: ['license expired'], exit: 4 }],
    });
    const { host } = createHost();
    await host.start();

    expect(await host.test(server.record)).toMatchObject({
      ok: false,
      code: 'connect_failed',
      stderr_tail: ['license expired'],
    });
  });

  test('stopping the host ends running tests', async () => {
    const server = scriptedServer({ 'server/discover': [{ silent: true }] });
    const { host } = createHost();
    await host.start();
    const running = host.test(server.record);
    await server.arrived();

    await host.stop();

    expect((await running).ok).toBe(false);
    expect(server.starts().filter(isAlive)).toEqual([]);
  });
});
