import { createRequire } from 'node:module';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createNativeSandbox } from '../../src/mcp/native-sandbox.ts';
import { toToolOutput } from '../../src/mcp/results.ts';
import type { Sandbox } from '../../src/mcp/sandbox.ts';
import { createSandboxProbe } from '../../src/transport/sandbox-probe.ts';
import { toServerProfile } from '../../src/transport/sandbox-profile.ts';
import {
  connect,
  createRecordingLogger,
  failureOf,
  fixtures,
  isAlive,
  modernScript,
  scriptedServer,
  tempFolder,
} from './support.ts';

const require = createRequire(import.meta.url);
const filesystem = path.dirname(require.resolve('@modelcontextprotocol/server-filesystem/package.json'));
const modules = path.join(import.meta.dirname, '..', '..', 'node_modules');
const home = os.homedir();

const searchPath = process.env['PATH'] ?? '';
const probe = createSandboxProbe({ platform: process.platform, env: { PATH: searchPath } });
const trial = toServerProfile({ scratch: os.tmpdir(), home, programs: [] });
const { isAvailable } = await probe.check('server', { ...trial, hidden: [], cwd: '/' });

function sandbox(env: Record<string, string> = {}): Sandbox {
  return createNativeSandbox({
    probe: createSandboxProbe({ platform: process.platform, env: { PATH: searchPath } }),
    scratchRoot: tempFolder(),
    home,
    env,
  });
}

describe.runIf(isAvailable)('a server behind the real confinement (mcp-host 13.3)', () => {
  test('server-filesystem works in its one writable folder and nowhere else', async () => {
    const writable = tempFolder();
    const outside = tempFolder();
    writeFileSync(path.join(outside, 'secret.txt'), 'hidden');
    const server = path.join(filesystem, 'dist', 'index.js');

    const connection = await connect(
      {
        name: 'fs',
        command: process.execPath,
        args: [server, writable],
        sandbox: { read: [modules], write: [writable] },
      },
      { sandbox: sandbox() },
    );
    const written = toToolOutput(
      await connection.callTool('write_file', { path: path.join(writable, 'a.txt'), content: 'inside' }),
    );
    const refused = toToolOutput(
      await connection.callTool('read_text_file', { path: path.join(outside, 'secret.txt') }),
    );

    expect(connection.sandbox).toBe(process.platform === 'linux' ? 'bwrap' : 'sandbox-exec');
    expect((await connection.listTools()).tools).toHaveLength(14);
    expect(written.is_error).toBe(false);
    expect(readFileSync(path.join(writable, 'a.txt'), 'utf8')).toBe('inside');
    expect(refused.is_error).toBe(true);
    expect(refused.content).not.toContain('hidden');
  });

  test('a stopped server takes even detached descendants along', async () => {
    const folder = tempFolder();
    const server = scriptedServer(modernScript({ start: [{ child: 'detached' }] }));
    const args = server.record['args'] as readonly string[];
    const data = path.dirname(args[1] ?? folder);

    const connection = await connect(
      { ...server.record, sandbox: { read: [fixtures], write: [data] } },
      { sandbox: sandbox() },
    );
    const { pid } = connection;
    await connection.stop();

    expect(server.children()).toHaveLength(1);
    expect(pid !== undefined && isAlive(pid)).toBe(false);
  });

  test('a server that does not find its file fails with a hint, and is not run outside', async () => {
    const logger = createRecordingLogger();
    const folder = tempFolder();
    const program = path.join(folder, 'server.js');
    writeFileSync(program, 'process.exit(0)');

    const failure = await failureOf(
      connect({ name: 'x', command: process.execPath, args: [program] }, { logger, sandbox: sandbox() }),
    );

    expect(failure.code).toBe('connect_failed');
    expect(failure.message).toContain('belong into sandbox.read or sandbox.write');
    expect(logger.find('mcp.sandbox.fallback')).toEqual([]);
  });
});

describe('what the platform decides', () => {
  const command = { program: process.execPath, args: ['x.js'], cwd: '/', env: { PATH: searchPath } };
  const extra = { server: 's', read: [], write: [] };

  test('VIBE_MCP_SANDBOX=0 switches it off', async () => {
    expect(await sandbox({ VIBE_MCP_SANDBOX: '0' }).plan(command, extra)).toEqual({
      kind: 'unconfined',
      reason: 'switched_off',
    });
  });

  test('a writable folder that is not there is said so', async () => {
    expect(await sandbox().plan(command, { ...extra, write: ['/no/such/folder'] })).toEqual({
      kind: 'unconfined',
      reason: 'bind_target_missing',
    });
  });

  test('an unknown platform has no confinement', async () => {
    const elsewhere = createNativeSandbox({
      probe: createSandboxProbe({ platform: 'win32', env: {} }),
      scratchRoot: tempFolder(),
      home,
      env: {},
    });

    expect(await elsewhere.plan(command, extra)).toEqual({ kind: 'unconfined', reason: 'unsupported_platform' });
  });

  test.runIf(isAvailable)('each server has its own folder as home and start folder', async () => {
    const scratchRoot = tempFolder();
    const native = createNativeSandbox({ probe, scratchRoot, home, env: {} });
    mkdirSync(path.join(scratchRoot, 'other'));

    const plan = await native.plan(command, extra);

    const args = plan.kind === 'confined' ? plan.command.args.join(' ') : '';
    expect(args).toContain(`--setenv HOME ${path.join(scratchRoot, 's')}`);
    expect(args).toContain(`--chdir ${path.join(scratchRoot, 's')}`);
    expect(args).not.toContain(path.join(scratchRoot, 'other'));
  });

  test('tenants of one server have a folder each, whatever they are called, and all go with the server', async () => {
    const scratchRoot = tempFolder();
    const native = createNativeSandbox({ probe, scratchRoot, home, env: {} });
    for (const tenant of [undefined, 'a', 'b', '../../escape']) {
      await native.plan(command, { ...extra, ...(tenant === undefined ? {} : { tenant }) });
    }
    await native.plan(command, { ...extra, server: 's-other' });

    expect(readdirSync(scratchRoot)).toHaveLength(5);
    expect(readdirSync(scratchRoot).toSorted()[0]).toBe('s');

    await native.forget('s');

    expect(readdirSync(scratchRoot)).toEqual(['s-other']);
  });
});
