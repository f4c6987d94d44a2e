import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
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
  isAlive,
  legacyScript,
  modernScript,
  scriptedServer,
  tempFolder,
} from './support.ts';

async function refuse(record: McpServerInput) {
  return await failureOf(openMcpConnection(requireServerRecord(record), connectDeps()));
}

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
      legacyScript({
        start: [{ child: 'detached' }],
        'server/discover': [{ result: { supportedVersions: ['2027-01-01'], capabilities: {} } }],
      }),
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

  test.each([
    ['100 000 lines', { count: 100_001, line: 'la' }],
    ['64 MiB', { count: 65, line: 'x'.repeat(1024 * 1024) }],
  ])('a program that only prints is stopped after %s', async (_, flood) => {
    const server = scriptedServer({
      'server/discover': [{ flood }],
      ignoreEnd: true,
      start: [{ stayAlive: true }],
    });

    expect(await refuse(server.record)).toMatchObject({
      code: 'not_mcp',
      message:
        'list_tools failed: output is not MCP. Probably an old or different program of that name; servers should speak 2024-11-05 or later.',
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
