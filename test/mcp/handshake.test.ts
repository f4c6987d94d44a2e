import { describe, expect, test } from 'vitest';
import { toTimeouts } from '../../src/mcp/connect-deps.ts';
import { openMcpConnection } from '../../src/mcp/connect.ts';
import { requireServerRecord } from '../../src/mcp/record.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { defaultMcpTimeouts, type McpServerInput } from '../../src/protocol/mcp.ts';
import { json, legacyHttp, modernHttp, startHttp } from './http-server.ts';
import {
  connect,
  connectDeps,
  failureOf,
  isAlive,
  legacyInitialize,
  legacyScript,
  modernScript,
  type Script,
  scriptedServer,
  type Step,
} from './support.ts';

const capabilities = {
  elicitation: { form: {}, url: {} },
  roots: {},
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};
const clientInfo = { name: 'vibe-bus', version: '0.1.0' };

async function refuse(record: McpServerInput) {
  return await failureOf(openMcpConnection(requireServerRecord(record), connectDeps()));
}

/** A legacy server as a process and on the web, that answers `initialize` with the step. */
async function legacyServers(initialize: Step) {
  const stdio = scriptedServer(legacyScript({ initialize: [initialize] }));
  const web = await startHttp(
    legacyHttp((request, response) => {
      if (request.rpc !== 'initialize') return false;
      json(response, { jsonrpc: '2.0', id: request.message['id'] ?? null, ...initialize });
      return true;
    }),
  );
  return {
    stdio: { record: stdio.record, messages: () => stdio.received().filter((entry) => 'method' in entry) },
    http: {
      record: { name: 'web', url: web.url },
      messages: () => web.requests.map((request) => request.message).filter((entry) => 'method' in entry),
    },
  };
}

describe('4.5: every request of the modern era says who asks and what it offers', () => {
  test('stdio', async () => {
    const server = scriptedServer(modernScript());

    const connection = await connect(server.record);
    await connection.listTools();
    await connection.callTool('work', { a: 1 });

    expect(connection).toMatchObject({
      era: 'modern',
      protocol_version: '2026-07-28',
      transport: 'stdio',
      server: { name: 'scripted', version: '1.0.0' },
    });
    expect(server.methods()).toEqual(['server/discover', 'tools/list', 'tools/call']);
    expect(server.starts()).toHaveLength(1);
    expectMeta(server.received().filter((entry) => 'method' in entry));
  });

  test('HTTP', async () => {
    const server = await startHttp(modernHttp());

    const connection = await connect({ name: 'web', url: server.url });
    await connection.callTool('work', { a: 1 });

    expectMeta(server.requests.map((request) => request.message));
  });

  function expectMeta(messages: readonly JsonObject[]): void {
    for (const message of messages) {
      const { _meta } = message['params'] as { readonly _meta: JsonObject };
      expect(_meta['io.modelcontextprotocol/protocolVersion']).toBe('2026-07-28');
      expect(_meta['io.modelcontextprotocol/clientInfo']).toEqual(clientInfo);
      expect(_meta['io.modelcontextprotocol/clientCapabilities']).toEqual(capabilities);
    }
  }
});

describe.each(['stdio', 'http'] as const)('4.4: the handshake of the legacy era, %s', (transport) => {
  test('asks for 2025-11-25 and offers the same', async () => {
    const server = (await legacyServers(legacyInitialize))[transport];

    await connect(server.record);

    expect(server.messages().find((message) => message['method'] === 'initialize')?.['params']).toEqual({
      protocolVersion: '2025-11-25',
      capabilities,
      clientInfo,
    });
  });

  test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'])(
    '%s is accepted',
    async (version) => {
      const server = (await legacyServers({ result: { protocolVersion: version, capabilities: {} } }))[transport];

      expect(await connect(server.record)).toMatchObject({ era: 'legacy', protocol_version: version });
    },
  );

  test.each<[string, Step, string]>([
    ['1.0', { result: { protocolVersion: '1.0', capabilities: {} } }, 'the server chose version 1.0'],
    [
      '2026-07-28',
      { result: { protocolVersion: '2026-07-28', capabilities: {} } },
      'the server chose version 2026-07-28',
    ],
    ['no version', { result: { capabilities: {} } }, 'no protocol version'],
    ['no capabilities', { result: { protocolVersion: '2025-06-18' } }, 'no capabilities'],
    ['no object', { result: 'hello' }, transport === 'stdio' ? 'no object' : 'the answer is malformed'],
    ['an error that is none', { error: 'what?' }, 'the answer is malformed'],
  ])('the answer %s is an invalid handshake', async (_, step, reason) => {
    const server = (await legacyServers(step))[transport];

    expect(await refuse(server.record)).toMatchObject({
      code: 'handshake_invalid',
      message:
        `list_tools failed: invalid handshake: ${reason}. ` +
        'Probably an old or different program of that name; servers should speak 2024-11-05 or later.',
    });
  });

  test('a refusal is a failed connect', async () => {
    const server = (await legacyServers({ error: { code: -32_602, message: 'go away' } }))[transport];

    expect(await refuse(server.record)).toMatchObject({
      code: 'connect_failed',
      message: 'Connect failed: the server refused the handshake. The program ended or refused before speaking MCP.',
    });
  });
});

describe('4.4: notifications and limits', () => {
  test('notifications before the reply are legal', async () => {
    const notice = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    const server = scriptedServer(
      legacyScript({ start: [{ before: [notice] }], initialize: [{ before: [notice, notice], ...legacyInitialize }] }),
    );

    expect((await (await connect(server.record)).listTools()).tools).toHaveLength(1);
  });

  test('a handshake nobody answers ends at the start limit', async () => {
    const server = scriptedServer({ initialize: [{ silent: true }] }, { timeouts: { start_ms: 200 } });

    expect(await refuse(server.record)).toMatchObject({
      code: 'connect_timeout',
      message: 'Connect failed: no answer within 0.2 s.',
    });
    expect(server.starts().filter(isAlive)).toEqual([]);
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

describe('4.3: the memory of eras', () => {
  const older = { result: { supportedVersions: ['2025-11-25'], capabilities: {} } };

  test.each<[string, Script, boolean]>([
    ['legacy by silence', { 'server/discover': [{ silent: true }] }, true],
    ['legacy by an exit', { 'server/discover': [{ exit: 1 }] }, true],
    ['legacy by an answer', {}, false],
    ['modern', modernScript(), false],
    ['an error', { 'server/discover': [older] }, false],
    [
      'legacy by silence, but the handshake fails too',
      { 'server/discover': [{ silent: true }], initialize: [{ exit: 1 }] },
      false,
    ],
  ])('the verdict %s is remembered or not', async (name, more, isRemembered) => {
    const quick = name.includes('silence') ? { timeouts: { probe_ms: 250 } } : {};
    const server = scriptedServer(legacyScript(more), quick);
    let remembered = false;
    const eraMemory = {
      isLegacy: async () => false,
      rememberLegacy: async () => {
        remembered = true;
      },
    };

    await openMcpConnection(requireServerRecord(server.record), connectDeps({ eraMemory })).then(
      async (connection) => void (await connection.stop()),
      () => {},
    );

    expect(remembered).toBe(isRemembered);
  });

  test('a remembered server is not probed', async () => {
    const server = scriptedServer(legacyScript());

    await connect(server.record, { eraMemory: { isLegacy: async () => true, rememberLegacy: async () => {} } });

    expect(server.methods()).not.toContain('server/discover');
  });
});

describe('4.6: default times', () => {
  test('are those of the contract', () => {
    expect(defaultMcpTimeouts).toEqual({
      probe_ms: 20_000,
      start_ms: 30_000,
      list_ms: 60_000,
      call_ms: 60_000,
      call_max_ms: 600_000,
      task_max_ms: 1_800_000,
    });
  });

  test.each([
    ['300', '0.3'],
    ['0', '20'],
    ['120001', '20'],
    ['soon', '20'],
  ])('VIBE_MCP_PROBE_TIMEOUT_MS=%s: %s s', async (text, seconds) => {
    const timeouts = toTimeouts(requireServerRecord({ name: 's', command: 'x' }), { VIBE_MCP_PROBE_TIMEOUT_MS: text });

    expect(timeouts.probe_ms).toBe(Number(seconds) * 1_000);
  });

  test('the record has the last word, also beyond what the variable may say', () => {
    const record = requireServerRecord({ name: 's', command: 'x', timeouts: { probe_ms: 2_147_483_000 } });

    expect(toTimeouts(record, { VIBE_MCP_PROBE_TIMEOUT_MS: '300' }).probe_ms).toBe(2_147_483_000);
  });
});
