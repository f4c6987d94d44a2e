import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openMcpConnection } from '../../src/mcp/connect.ts';
import { requireServerRecord } from '../../src/mcp/record.ts';
import type { McpServerInput } from '../../src/protocol/mcp.ts';
import {
  callResult,
  connect,
  connectDeps,
  createRecordingLogger,
  failureOf,
  fixtures,
  isAlive,
  legacyInitialize,
  legacyScript,
  modernDiscover,
  modernScript,
  type Script,
  scriptedServer,
  type Step,
  tempFolder,
  tool,
  toolPage,
} from './support.ts';

const quickProbe = { timeouts: { probe_ms: 250 } };

function discover(supportedVersions: readonly string[]): Step {
  return {
    result: { resultType: 'complete', supportedVersions, capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' },
  };
}

function refusal(supported: readonly string[] | undefined): Step {
  return { error: { code: -32_022, message: 'no', ...(supported === undefined ? {} : { data: { supported } }) } };
}

async function refuse(record: McpServerInput) {
  return await failureOf(openMcpConnection(requireServerRecord(record), connectDeps()));
}

describe('verdicts on a real process (mcp-host 4.2, MP2)', () => {
  test('a discover result with our version: modern, one process, no initialize, metadata in every request', async () => {
    const server = scriptedServer(modernScript());

    const connection = await connect(server.record);
    const list = await connection.listTools();
    const result = await connection.callTool('work', { a: 1 });

    expect(connection).toMatchObject({
      era: 'modern',
      protocol_version: '2026-07-28',
      transport: 'stdio',
      server: { name: 'scripted', version: '1.0.0' },
    });
    expect(list.tools.map((entry) => entry.qualified_name)).toEqual(['mcp__scripted__work']);
    expect(result.content).toEqual([{ type: 'text', text: 'done' }]);
    expect(server.methods()).toEqual(['server/discover', 'tools/list', 'tools/call']);
    expect(server.starts()).toHaveLength(1);
    for (const message of server.received().filter((entry) => 'method' in entry)) {
      expect(message['params']).toMatchObject({
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'vibe-bus', version: '0.1.0' },
          'io.modelcontextprotocol/clientCapabilities': {
            elicitation: { form: {}, url: {} },
            roots: {},
            extensions: { 'io.modelcontextprotocol/tasks': {} },
          },
        },
      });
    }
  });

  test.each([[['2027-01-01']], [['2025-11-25']]])(
    'a discover result with only %j: refused naming it, initialize is never sent',
    async (versions) => {
      const server = scriptedServer(legacyScript({ 'server/discover': [discover(versions)] }));

      const failure = await refuse(server.record);

      expect(failure).toMatchObject({
        code: 'version_mismatch',
        message: `Connect failed: the server speaks only ${versions[0]}; this client speaks 2026-07-28.`,
      });
      expect(server.methods()).not.toContain('initialize');
    },
  );

  test('protocol = legacy is the way out: no probe', async () => {
    const server = scriptedServer(legacyScript({ 'server/discover': [discover(['2027-01-01'])] }), {
      protocol: 'legacy',
    });

    expect((await connect(server.record)).era).toBe('legacy');
    expect(server.methods()).not.toContain('server/discover');
  });

  test('-32022 offering our version is asked once more', async () => {
    const server = scriptedServer(modernScript({ 'server/discover': [refusal(['2026-07-28']), modernDiscover] }));

    expect((await connect(server.record)).era).toBe('modern');
    expect(server.methods().filter((method) => method === 'server/discover')).toHaveLength(2);
  });

  test('a second -32022 is a mismatch', async () => {
    const server = scriptedServer(legacyScript({ 'server/discover': [refusal(['2026-07-28'])] }));

    expect(await refuse(server.record)).toMatchObject({ code: 'version_mismatch' });
    expect(server.methods()).toEqual(['server/discover', 'server/discover']);
  });

  test('-32022 with another list is a mismatch', async () => {
    const server = scriptedServer(legacyScript({ 'server/discover': [refusal(['2027-01-01', '2028-01-01'])] }));

    expect((await refuse(server.record)).message).toContain('speaks only 2027-01-01, 2028-01-01;');
    expect(server.methods()).not.toContain('initialize');
  });

  test.each<[string, Step]>([
    ['-32022 without a list', refusal(undefined)],
    ['-32601', { error: { code: -32_601, message: 'Method not found' } }],
    ['-32602', { error: { code: -32_602, message: 'Bad' } }],
    ['an odd result', { result: { hello: 'world' } }],
    ['a result that is null', { result: null }],
    ['an error that is none', { error: 'what?' as never }],
  ])('%s: legacy, in the same process', async (_, step) => {
    const server = scriptedServer(legacyScript({ 'server/discover': [step] }));

    const connection = await connect(server.record);

    expect(connection).toMatchObject({ era: 'legacy', protocol_version: '2025-11-25' });
    expect((await connection.callTool('work', {})).content).toEqual([{ type: 'text', text: 'done' }]);
    expect(server.methods().slice(0, 3)).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
    expect(server.starts()).toHaveLength(1);
  });

  test('silence: legacy in the same process, and a later answer is ignored', async () => {
    const server = scriptedServer(
      legacyScript({
        'server/discover': [{ silent: true }],
        'tools/list': [
          { before: [{ jsonrpc: '2.0', id: 'vibe:1', result: { late: true } }], result: { tools: [tool('work')] } },
        ],
      }),
      quickProbe,
    );

    const connection = await connect(server.record);

    expect(connection.era).toBe('legacy');
    expect((await connection.listTools()).tools).toHaveLength(1);
    expect(server.starts()).toHaveLength(1);
  });

  test('exit during the probe: one restart, then legacy without a probe', async () => {
    const server = scriptedServer(legacyScript({ 'server/discover': [{ exit: 1 }] }));

    const connection = await connect(server.record);
    await connection.listTools();

    expect(connection.era).toBe('legacy');
    expect(server.starts()).toHaveLength(2);
    expect(server.methods().slice(0, 3)).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
  });

  test('exit again: failed with exit code and stderr as fields, nothing left', async () => {
    const server = scriptedServer({
      'server/discover': [{ exit: 1 }],
      initialize: [{ stderr: ['one', '', 'the end'], exit: 7 }],
    });

    const failure = await refuse(server.record);

    expect(failure).toMatchObject({ code: 'connect_failed', data: { exit_code: 7, stderr_tail: ['one', 'the end'] } });
    expect(failure.message).toBe(
      'Connect failed: the program ended (exit code 7). The program ended or refused before speaking MCP.',
    );
    expect(server.starts().filter(isAlive)).toEqual([]);
  });

  test.each<[string, Script, string]>([
    ['silence', { 'server/discover': [{ silent: true }] }, 'connect_timeout'],
    ['an exit', { 'server/discover': [{ exit: 1 }] }, 'connect_failed'],
    ['-32601', {}, 'version_mismatch'],
  ])('protocol = modern never sends initialize: %s fails', async (_, more, code) => {
    const quick = code === 'connect_timeout' ? quickProbe : {};
    const server = scriptedServer(legacyScript(more), { protocol: 'modern', ...quick });

    expect((await refuse(server.record)).code).toBe(code);
    expect(server.methods()).not.toContain('initialize');
  });

  test('a handshake nobody answers ends at the start limit', async () => {
    const server = scriptedServer({ initialize: [{ silent: true }] }, { timeouts: { start_ms: 200 } });

    expect(await refuse(server.record)).toMatchObject({
      code: 'connect_timeout',
      message: 'Connect failed: no answer within 0.2 s.',
    });
    expect(server.starts().filter(isAlive)).toEqual([]);
  });

  test('another version in the handshake is refused naming it', async () => {
    const server = scriptedServer({ initialize: [{ result: { protocolVersion: '1.0', capabilities: {} } }] });

    expect(await refuse(server.record)).toMatchObject({ code: 'handshake_invalid' });
    expect((await refuse(server.record)).message).toContain('the server chose version 1.0');
  });

  test('notifications before the reply are legal', async () => {
    const notice = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    const server = scriptedServer(
      legacyScript({ start: [{ before: [notice] }], initialize: [{ before: [notice, notice], ...legacyInitialize }] }),
    );

    expect((await (await connect(server.record)).listTools()).tools).toHaveLength(1);
  });

  test('a cancelled connect ends the process', async () => {
    const server = scriptedServer({ 'server/discover': [{ silent: true }] });
    const caller = new AbortController();
    const attempt = openMcpConnection(requireServerRecord(server.record), connectDeps({ signal: caller.signal }));
    await server.arrived();

    caller.abort(new Error('not now'));

    await expect(attempt).rejects.toThrow('not now');
    expect(server.starts().filter(isAlive)).toEqual([]);
  });
});

describe('the memory of eras (mcp-host 4.3)', () => {
  test.each<[string, Script, number]>([
    ['silence', { 'server/discover': [{ silent: true }] }, 1],
    ['exit', { 'server/discover': [{ exit: 1 }] }, 1],
    ['an answer', {}, 0],
  ])('a legacy verdict from %s is remembered or not', async (_, more, remembered) => {
    const server = scriptedServer(legacyScript(more), remembered === 1 ? quickProbe : {});
    let count = 0;
    const eraMemory = {
      isLegacy: async () => false,
      rememberLegacy: async () => {
        count += 1;
      },
    };

    await connect(server.record, { eraMemory });

    expect(count).toBe(remembered);
  });

  test('a remembered server is not probed', async () => {
    const server = scriptedServer(legacyScript());

    await connect(server.record, { eraMemory: { isLegacy: async () => true, rememberLegacy: async () => {} } });

    expect(server.methods()).not.toContain('server/discover');
  });
});

describe('the command (mcp-host 3.1, 13.1)', () => {
  test('a missing program is named', async () => {
    expect(await refuse({ name: 'x', command: 'no-such-program-here' })).toMatchObject({
      code: 'command_not_found',
      message: "Connect failed: `no-such-program-here` was not found on the daemon's PATH. Use an absolute path.",
    });
  });

  test.each([['a directory'], ['a file that is not executable']])('%s is no program', async (kind) => {
    const folder = tempFolder();
    const file = path.join(folder, 'thing');
    if (kind === 'a directory') mkdirSync(file);
    else writeFileSync(file, '#!/bin/sh\n', { mode: 0o600 });

    expect(await refuse({ name: 'x', command: file })).toMatchObject({ code: 'command_not_found' });
  });

  test('a program that cannot be loaded is a failed start', async () => {
    const file = path.join(tempFolder(), 'thing');
    writeFileSync(file, 'not a program', { mode: 0o700 });

    expect((await refuse({ name: 'x', command: file })).code).toMatch(/^(spawn_failed|connect_failed)$/);
  });

  test('a missing working folder is said before anything starts', async () => {
    expect(await refuse({ name: 'x', command: 'node', cwd: '/no/such/folder' })).toMatchObject({
      code: 'config_invalid',
      message: 'x: cwd is no folder.',
    });
  });

  test('a command with blanks is split, never given to a shell', async () => {
    const server = scriptedServer(modernScript());
    const [script = '', ...files] = server.record['args'] as readonly string[];

    const connection = await connect({ ...server.record, command: `${process.execPath}   ${script}`, args: files });

    expect(connection.era).toBe('modern');
  });

  test('a program whose path holds a blank runs whole', async () => {
    const server = scriptedServer(modernScript());
    const link = path.join(tempFolder(), 'my node');
    symlinkSync(process.execPath, link);

    expect((await connect({ ...server.record, command: link })).era).toBe('modern');
  });

  test('a path with a separator is relative to the working folder', async () => {
    const server = scriptedServer(modernScript());
    const folder = tempFolder();
    symlinkSync(process.execPath, path.join(folder, 'tool'));

    expect((await connect({ ...server.record, command: './tool', cwd: folder })).era).toBe('modern');
    expect(server.received()[0]).toMatchObject({ cwd: folder });
  });

  test('the environment is the safe list, the record and the marker (PL10)', async () => {
    const server = scriptedServer(modernScript(), { env: { MINE: '${WANTED}' } });

    await connect(server.record, {
      env: { PATH: process.env['PATH'], HOME: '/h', SECRET_KEY: 'x', HTTPS_PROXY: 'y', WANTED: 'z' },
    });

    expect(server.received()[0]).toMatchObject({ env: ['HOME', 'MINE', 'PATH', 'VIBE_MCP_RUN'] });
  });
});

describe('the end of a server (mcp-host 13.2, PL1)', () => {
  test('a server that obeys the end of its input ends with code 0', async () => {
    const server = scriptedServer(modernScript());
    const connection = await connect(server.record);

    const exit = await connection.stop();

    expect(exit).toMatchObject({ exit_code: 0, signal: null, strays_killed: 0, expected: true });
    expect(server.starts().filter(isAlive)).toEqual([]);
    expect(await connection.stop()).toEqual(exit);
  });

  test('one that ignores everything is killed, and so are its descendants, also those outside the group', async () => {
    const server = scriptedServer(
      modernScript({
        ignoreEnd: true,
        start: [{ ignoreTerm: true, stayAlive: true, child: 'plain' }, { child: 'detached' }],
      }),
    );
    const connection = await connect(server.record);
    const before = performance.now();

    const exit = await connection.stop();

    expect(exit).toMatchObject({ signal: 'SIGKILL', strays_killed: 1 });
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(server.children()).toHaveLength(2);
    expect([...server.starts(), ...server.children()].filter(isAlive)).toEqual([]);
  });

  test('a server that ends by itself leaves no descendants either', async () => {
    const server = scriptedServer(modernScript({ start: [{ child: 'detached' }], 'tools/call': [{ exit: 3 }] }));
    const connection = await connect(server.record);

    await failureOf(connection.callTool('work', {}));

    expect(await connection.exited).toMatchObject({ exit_code: 3, strays_killed: 1, expected: false });
    expect(server.children().filter(isAlive)).toEqual([]);
  });

  test('a failed connect leaves no descendants', async () => {
    const server = scriptedServer(
      legacyScript({ start: [{ child: 'detached' }], 'server/discover': [discover(['2027-01-01'])] }),
    );

    await refuse(server.record);

    expect([...server.starts(), ...server.children()].filter(isAlive)).toEqual([]);
  });

  test('the ledger knows the process while it runs', async () => {
    const known = new Set<number>();
    const server = scriptedServer(modernScript());
    const ledger = { add: (pid: number) => known.add(pid), remove: (pid: number) => known.delete(pid) };
    const connection = await connect(server.record, { ledger });

    expect([...known]).toEqual([connection.pid]);
    await connection.stop();
    expect([...known]).toEqual([]);
  });
});

describe('noise and broken lines (FR1–FR9, mcp-host 13.1)', () => {
  test('banners, warnings, blank lines, CRLF, a batch and a header are skipped and counted', async () => {
    const logger = createRecordingLogger();
    const server = scriptedServer(
      modernScript({
        start: [
          { before: ['\ufeffWelcome!', '', '   ', 'Content-Length: 3', '[{"jsonrpc":"2.0"}]', '{"hello":1}', 'null'] },
        ],
        'tools/call': [{ raw: '{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","content":[]}}\r' }],
      }),
    );

    const connection = await connect(server.record, { logger });
    expect((await connection.callTool('work', {})).content).toEqual([]);
    await connection.stop();

    const noise = logger.find('mcp.server.noise');
    expect(noise).toHaveLength(1);
    expect(noise[0]).toMatchObject({ server_name: 'scripted', lines: 1 });
    expect(logger.find('mcp.server.noise.line')).toHaveLength(5);
  });

  test('answers to ids of another type, unknown ids and second answers reach nobody', async () => {
    const server = scriptedServer(
      modernScript({
        'tools/call': [
          {
            before: [
              '{"jsonrpc":"2.0","id":"$idtext","result":{"resultType":"complete","content":[{"type":"text","text":"wrong"}]}}',
              '{"jsonrpc":"2.0","id":99999,"result":{}}',
              '{"jsonrpc":"2.0","id":null,"result":{}}',
              '{"jsonrpc":"2.0","id":1.5,"result":{}}',
            ],
            ...callResult('right'),
            after: [
              '{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","content":[{"type":"text","text":"again"}]}}',
            ],
          },
        ],
      }),
    );
    const connection = await connect(server.record);

    const results = await Promise.all([connection.callTool('work', {}), connection.callTool('work', {})]);

    expect(results.map((result) => result.content)).toEqual([
      [{ type: 'text', text: 'right' }],
      [{ type: 'text', text: 'right' }],
    ]);
  });

  test.each([
    ['an error that is no object', '{"jsonrpc":"2.0","id":$id,"error":"x"}', 'result_invalid'],
    ['an error without a message', '{"jsonrpc":"2.0","id":$id,"error":{"code":1}}', 'result_invalid'],
    ['neither result nor error', '{"jsonrpc":"2.0","id":$id}', 'result_invalid'],
    ['an error beside a result', '{"jsonrpc":"2.0","id":$id,"result":{},"error":{"code":5,"message":"e"}}', 'remote'],
    [
      'a `_meta` of the wrong type',
      '{"jsonrpc":"2.0","id":$id,"result":{"resultType":"banana","_meta":3}}',
      'result_invalid',
    ],
    [
      'a result nested too deep',
      `{"jsonrpc":"2.0","id":$id,"result":${'['.repeat(300)}${']'.repeat(300)}}`,
      'result_invalid',
    ],
  ])('%s fails that call at once', async (_, raw, code) => {
    const server = scriptedServer(modernScript({ 'tools/call': [{ raw }, callResult('fine')] }));
    const connection = await connect(server.record);

    expect((await failureOf(connection.callTool('work', {}))).code).toBe(code);
    expect((await connection.callTool('work', {})).content).toEqual([{ type: 'text', text: 'fine' }]);
  });

  test('an answer over 16 MiB is dropped, its call fails, the connection lives', async () => {
    const server = scriptedServer(modernScript({ 'tools/call': [{ big: 17 * 1024 * 1024 }, callResult('fine')] }));
    const connection = await connect(server.record);

    expect(await failureOf(connection.callTool('work', {}))).toMatchObject({
      code: 'result_invalid',
      message: 'the answer is longer than this client reads',
    });
    expect((await connection.callTool('work', {})).content).toEqual([{ type: 'text', text: 'fine' }]);
  });

  test('a program that only prints is stopped', async () => {
    const server = scriptedServer({
      'server/discover': [{ flood: { count: 100_100, line: 'la' } }],
      ignoreEnd: true,
      start: [{ stayAlive: true }],
    });

    expect(await refuse(server.record)).toMatchObject({
      code: 'not_mcp',
      message: expect.stringContaining('output is not MCP'),
    });
    expect(server.starts().filter(isAlive)).toEqual([]);
  });

  test('stderr without end or newline is drained and the answer arrives (PL5)', async () => {
    const server = scriptedServer(
      modernScript({ 'tools/call': [{ stderr: ['e'.repeat(5_000_000)], ...callResult('done') }] }),
    );
    const connection = await connect(server.record);

    expect((await connection.callTool('work', {})).content).toHaveLength(1);
    expect(connection.stderrTail().join('').length).toBeLessThan(65_536);
  });
});

test('the fixture of these tests is there', () => {
  expect(existsSync(path.join(fixtures, 'scripted-server.mjs'))).toBe(true);
  expect(toolPage([]).result).toMatchObject({ tools: [] });
});
