import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EngineOptions } from '../../src/engine/options.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { createSandboxProbe } from '../../src/transport/sandbox-probe.ts';
import { toServerProfile } from '../../src/transport/sandbox-profile.ts';
import {
  createRecordingLogger,
  failureOf,
  fixtures,
  modernScript,
  scriptedServer,
  tempFolder,
  tool,
  toolPage,
} from '../mcp/support.ts';
import { describePlacements } from './placements.ts';
import { calling, openTestEngine, resultsOf, toolNamed, worker } from './support.ts';

const eager = { tools: { eager: ['*'] } };
const searchPath = process.env['PATH'] ?? '';
const trial = toServerProfile({ scratch: os.tmpdir(), home: os.homedir(), programs: [] });
const probe = createSandboxProbe({ platform: process.platform, env: { PATH: searchPath } });
const { isAvailable } = await probe.check('server', { ...trial, hidden: [], cwd: '/' });

/** An engine with a user's folder, and what its servers log. */
async function openEngine(options: EngineOptions) {
  const logger = createRecordingLogger();
  const configDir = tempFolder();
  const opened = await openTestEngine([calling(['mcp__scripted__work']), { text: 'done' }], {
    logger,
    configDir,
    ...options,
  });
  return { ...opened, logger, configDir };
}

describe('the confinement of servers in an engine (mcp-host 13.5)', () => {
  test.runIf(isAvailable)('a server is confined and starts in its own folder of the user', async () => {
    const server = scriptedServer(modernScript());
    await using opened = await openEngine({ mcpServers: [server.record] });
    const { engine, configDir } = opened;

    await engine.mcp.tools('scripted');

    expect(engine.mcp.servers()).toMatchObject([{ name: 'scripted', state: 'connected', sandbox: 'bwrap' }]);
    expect(server.received()[0]?.['cwd']).toBe(path.join(configDir, 'scratch', 'scripted'));
  });

  test.runIf(isAvailable)('without a folder of the user, that of the server ends with the engine', async () => {
    const server = scriptedServer(modernScript());
    const opened = await openTestEngine([], { mcpServers: [server.record] });

    await opened.engine.mcp.tools('scripted');
    const folder = String(server.received()[0]?.['cwd']);
    expect(existsSync(folder)).toBe(true);
    await opened.engine.close();

    expect(existsSync(path.dirname(folder))).toBe(false);
  });

  test('where nothing can confine it runs all the same, with a warning', async () => {
    const server = scriptedServer(modernScript());
    await using opened = await openEngine({ mcpServers: [server.record], env: { PATH: tempFolder() } });

    await opened.engine.mcp.tools('scripted');

    expect(opened.engine.mcp.servers()).toMatchObject([{ state: 'connected', sandbox: 'unavailable' }]);
    expect(opened.logger.find('mcp.sandbox.fallback')).toMatchObject([
      { server_name: 'scripted', reason: 'backend_missing' },
    ]);
  });

  test('VIBE_MCP_SANDBOX=0 switches it off', async () => {
    const server = scriptedServer(modernScript());
    await using opened = await openEngine({
      mcpServers: [server.record],
      env: { ...process.env, VIBE_MCP_SANDBOX: '0' },
    });

    await opened.engine.mcp.tools('scripted');

    expect(opened.engine.mcp.servers()).toMatchObject([{ state: 'connected', sandbox: 'off' }]);
    expect(opened.logger.find('mcp.sandbox.off')).toHaveLength(1);
  });

  test.each([
    ['backend missing', { PATH: '/nowhere' }],
    ['switched off', { PATH: searchPath, VIBE_MCP_SANDBOX: '0' }],
  ])('a server that requires confinement is refused: %s', async (reason, env) => {
    const server = scriptedServer(modernScript(), { requires_sandbox: true });
    await using opened = await openEngine({ mcpServers: [server.record], env });

    expect(await failureOf(opened.engine.mcp.tools('scripted'))).toMatchObject({
      code: 'sandbox_required',
      message: `Refused: this server must run sandboxed and the sandbox is ${reason}.`,
    });
    expect(server.starts()).toEqual([]);
  });

  test.runIf(isAvailable)('a removed server leaves nothing to one of its name', async () => {
    const server = scriptedServer(modernScript());
    await using opened = await openEngine({ bare: false, root: tempFolder() });
    const { engine, configDir } = opened;
    await engine.mcp.save('user', [server.record]);
    await engine.mcp.tools('scripted');
    const folder = path.join(configDir, 'scratch');
    mkdirSync(path.join(folder, 'scripted', 'login'));

    await engine.mcp.remove('user', 'scripted');

    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('servers and the first step of a run', () => {
  test('a server that never answers holds up neither the engine nor a run', async () => {
    const silent = scriptedServer({ 'server/discover': [{ silent: true }] }, eager);
    await using opened = await openEngine({ mcpServers: [silent.record] });

    const outcome = await opened.engine.run(worker, 'go').outcome;

    expect(outcome.final_text).toBe('done');
    expect(opened.engine.mcp.servers()).toMatchObject([{ state: 'starting' }]);
  });

  test('tools of a server join the runs once it is there', async () => {
    const server = scriptedServer(modernScript(), eager);
    await using opened = await openEngine({ mcpServers: [server.record] });

    await opened.engine.mcp.ready();
    await opened.engine.run(worker, 'go').outcome;

    expect(opened.requests[0]?.tools.map(({ name }) => name)).toEqual(['mcp__scripted__work']);
    expect(resultsOf(opened.requests[1])).toEqual(['done']);
  });
});

describePlacements('tools that come and go during a run', (open) => {
  test('each step is offered what the registry holds then', async () => {
    const late = toolNamed('late', () => 'came late');
    const swap = toolNamed('swap', () => {
      stage.engine.tools.register({ ...late, is_mutating: true });
      stage.engine.tools.remove('swap');
      return 'swapped';
    });
    await using stage = await open([calling(['swap']), calling(['late'], ['swap']), { text: 'done' }], {
      tools: [swap],
    });

    await stage.engine.run(worker, 'go').outcome;

    const [first, second, third] = stage.requests;
    expect(first?.tools.map(({ name }) => name)).toEqual(['swap']);
    expect(second?.tools.map(({ name }) => name)).toEqual(['late']);
    expect(resultsOf(third)).toEqual(['came late', 'Unknown tool `swap`. Available tools: late.']);
  });

  test('a server that becomes ready while a run waits is offered to its next step', async () => {
    const server = scriptedServer(modernScript(), eager);
    const wait = toolNamed('wait', async () => {
      await stage.engine.mcp.ready();
      return 'ready';
    });
    await using stage = await open([calling(['wait']), calling(['mcp__scripted__work']), { text: 'done' }], {
      tools: [wait],
      mcpServers: [server.record],
    });

    const outcome = await stage.engine.run(worker, 'go').outcome;

    expect(outcome.final_text).toBe('done');
    expect(stage.requests[0]?.tools.map(({ name }) => name)).toEqual(['wait']);
    expect(stage.requests[1]?.tools.map(({ name }) => name)).toEqual(['wait', 'mcp__scripted__work']);
    expect(resultsOf(stage.requests[2])).toEqual(['done']);
  });
});

test('fifty runs that share a server get their own answers (MP11)', async () => {
  const runs = Array.from({ length: 50 }, (_, index) => index);
  const script = (index: number) => [calling(['mcp__sdk__add', { a: index, b: 1_000 }]), { text: 'done' }];
  await using stage = await openTestEngine([], {
    env: { ...process.env, VIBE_MCP_SANDBOX: '0' },
    providers: Object.fromEntries(
      runs.map((index) => [`p${index}`, createScriptedProvider({ script: script(index) })]),
    ),
    mcpServers: [{ name: 'sdk', command: process.execPath, args: [path.join(fixtures, 'sdk-server.mjs')], ...eager }],
  });
  await stage.engine.mcp.ready();

  const outcomes = await Promise.all(
    runs.map((index) => stage.engine.run(worker, 'go', { model: `p${index}/any` }).outcome),
  );

  const answers = outcomes.map(({ messages }) => {
    const block = messages[2]?.content[0];
    return block?.type === 'tool_result' ? block.content : undefined;
  });
  expect(answers).toEqual(runs.map((index) => String(index + 1_000)));
  expect(stage.of('mcp_server_connected')).toHaveLength(1);
});

describe('what a server says of its own tools (MP9)', () => {
  const hinted = modernScript({
    'tools/list': [toolPage([tool('look', { annotations: { readOnlyHint: true } }), tool('work')])],
  });

  test.each([
    ['deny', 'was blocked by a policy hook: rules'],
    ['ask', 'was not approved: no approver is configured'],
  ] as const)('a read-only hint changes no permission: %s holds for both', async (verb, refusal) => {
    const server = scriptedServer(hinted, eager);
    await using stage = await openTestEngine(
      [calling(['mcp__scripted__look'], ['mcp__scripted__work']), { text: 'done' }],
      { mcpServers: [server.record], rules: { [verb]: ['mcp__scripted__*'] } },
    );
    await stage.engine.mcp.tools('scripted');

    await stage.engine.run(worker, 'go').outcome;

    const results = resultsOf(stage.requests[1]);
    expect(results).toHaveLength(2);
    expect(results.every((result) => result.includes(refusal))).toBe(true);
    expect(server.methods()).not.toContain('tools/call');
  });
});
