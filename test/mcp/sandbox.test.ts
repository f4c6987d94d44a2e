import { describe, expect, test } from 'vitest';
import type { Sandbox, SandboxPlan, UnconfinedReason } from '../../src/mcp/sandbox.ts';
import { connect, createRecordingLogger, failureOf, isAlive, modernScript, scriptedServer } from './support.ts';

/** Confines by `env`: a real program in front of the real command, so that the path through it is the real one. */
function sandboxOf(plan: Sandbox['plan'], failedToStart = false): Sandbox {
  return { plan, failedToStart: () => failedToStart, forget: async () => {} };
}

const throughEnv: Sandbox['plan'] = async (command) => ({
  kind: 'confined',
  backend: 'bwrap',
  command: { ...command, program: '/usr/bin/env', args: ['CONFINED=yes', command.program, ...command.args] },
});

const unconfined =
  (reason: UnconfinedReason): Sandbox['plan'] =>
  async (): Promise<SandboxPlan> => ({ kind: 'unconfined', reason });

describe('confinement (mcp-host 13.5)', () => {
  test('a server runs behind the confining program and is said to', async () => {
    const asked: unknown[] = [];
    const server = scriptedServer(modernScript(), { sandbox: { read: ['/r'], write: ['/w'] } });

    const connection = await connect(server.record, {
      sandbox: sandboxOf(async (command, extra) => {
        asked.push(extra);
        return await throughEnv(command, extra);
      }),
    });

    expect(connection.sandbox).toBe('bwrap');
    expect(server.received()[0]?.['env']).toContain('CONFINED');
    expect(asked).toEqual([{ server: 'scripted', read: ['/r'], write: ['/w'] }]);
  });

  test.each(['backend_missing', 'namespaces_forbidden', 'bind_target_missing', 'unsupported_platform'] as const)(
    '%s: runs unconfined with a warning',
    async (reason) => {
      const logger = createRecordingLogger();
      const server = scriptedServer(modernScript());

      const connection = await connect(server.record, { logger, sandbox: sandboxOf(unconfined(reason)) });

      expect(connection.sandbox).toBe('unavailable');
      expect(logger.lines.filter(({ message }) => message.startsWith('mcp.sandbox'))).toEqual([
        { level: 'warn', message: 'mcp.sandbox.fallback', fields: { server_name: 'scripted', reason } },
      ]);
    },
  );

  test.each([undefined, sandboxOf(unconfined('switched_off'))])(
    'switched off: runs unconfined, said at info',
    async (sandbox) => {
      const logger = createRecordingLogger();
      const server = scriptedServer(modernScript());

      const connection = await connect(server.record, { logger, ...(sandbox === undefined ? {} : { sandbox }) });

      expect(connection.sandbox).toBe('off');
      expect(logger.lines.filter(({ message }) => message.startsWith('mcp.sandbox'))).toEqual([
        { level: 'info', message: 'mcp.sandbox.off', fields: { server_name: 'scripted', reason: 'switched_off' } },
      ]);
    },
  );

  test.each([
    ['backend_missing', 'backend missing'],
    ['namespaces_forbidden', 'namespaces forbidden'],
    ['bind_target_missing', 'bind target missing'],
    ['unsupported_platform', 'unsupported platform'],
    ['switched_off', 'switched off'],
  ] as const)('a server that requires confinement does not start without it: %s', async (reason, shown) => {
    const logger = createRecordingLogger();
    const server = scriptedServer(modernScript(), { requires_sandbox: true });

    const failure = await failureOf(connect(server.record, { logger, sandbox: sandboxOf(unconfined(reason)) }));

    expect(failure).toMatchObject({
      code: 'sandbox_required',
      message: `Refused: this server must run sandboxed and the sandbox is ${shown}.`,
    });
    expect(logger.lines.filter(({ message }) => message.startsWith('mcp.sandbox'))).toEqual([
      { level: 'error', message: 'mcp.sandbox.refused', fields: { server_name: 'scripted', reason } },
    ]);
    expect(server.starts()).toEqual([]);
  });

  test('confinement that breaks before the server runs falls back once', async () => {
    const logger = createRecordingLogger();
    const server = scriptedServer(modernScript());
    const broken: Sandbox['plan'] = async (command) => ({
      kind: 'confined',
      backend: 'bwrap',
      command: { ...command, program: '/bin/false', args: [] },
    });

    const connection = await connect(server.record, { logger, sandbox: sandboxOf(broken, true) });

    expect(connection.sandbox).toBe('unavailable');
    expect(logger.find('mcp.sandbox.fallback')).toEqual([{ server_name: 'scripted', reason: 'start_failed' }]);
    expect(server.starts()).toHaveLength(1);
  });

  test('confinement that breaks before the server runs refuses one that requires it', async () => {
    const server = scriptedServer(modernScript(), { requires_sandbox: true });
    const broken: Sandbox['plan'] = async (command) => ({
      kind: 'confined',
      backend: 'bwrap',
      command: { ...command, program: '/bin/false', args: [] },
    });

    expect(await failureOf(connect(server.record, { sandbox: sandboxOf(broken, true) }))).toMatchObject({
      code: 'sandbox_required',
      message: 'Refused: this server must run sandboxed and the sandbox is start failed.',
    });
    expect(server.starts()).toEqual([]);
  });

  test('a server that fails by itself inside is a failure, not a reason to run it outside', async () => {
    const server = scriptedServer({ 'server/discover': [{ exit: 1 }], initialize: [{ exit: 1 }] });

    expect((await failureOf(connect(server.record, { sandbox: sandboxOf(throughEnv) }))).code).toBe('connect_failed');
    expect(server.starts()).toHaveLength(2);
    expect(server.starts().filter(isAlive)).toEqual([]);
  });
});
