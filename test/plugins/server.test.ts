import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createPlugin, type PluginCall } from '../../src/plugins/server.ts';
import { processStartTime } from '../../src/store/process-identity.ts';
import { reapSurvivors } from '../../src/transport/process-ledger.ts';
import { fixture, isRunning, type LogLine, openStage, recordLogs, untilGone } from './support.ts';

const project = path.join(import.meta.dirname, '../..');
const kit = [process.execPath, '--import', 'tsx', fixture('kit.ts')];

describe('a handler', () => {
  test.each([
    ['a string', 'text', { content: [{ type: 'text', text: 'text' }], is_error: false }],
    ['nothing', undefined, { content: [{ type: 'text', text: '' }], is_error: false }],
    ['JSON', { a: [1] }, { content: [{ type: 'text', text: '{"a":[1]}' }], is_error: false }],
    ['an output', { content: 'no', is_error: true }, { content: [{ type: 'text', text: 'no' }], is_error: true }],
    ['blocks', { content: [{ type: 'image' }] }, { content: [{ type: 'image' }], is_error: false }],
    ['an error', new Error('bad'), { content: [{ type: 'text', text: 'bad' }], is_error: true }],
    ['a promise', Promise.resolve('later'), { content: [{ type: 'text', text: 'later' }], is_error: false }],
  ])('may return %s', async (_name, value, result) => {
    const plugin = createPlugin({ name: 'p' }).tool({ name: 't', execute: () => value });

    expect(await plugin.handle('tools/call', { name: 't' })).toEqual(result);
  });

  test('gets what its validator made of the arguments, and is not called for those it refuses', async () => {
    const plugin = createPlugin({ name: 'p' }).tool({
      name: 'add',
      input: z.object({ a: z.number(), b: z.number().default(1) }),
      execute: ({ a, b }) => String(a + b),
    });

    expect(await plugin.handle('tools/call', { name: 'add', arguments: { a: 2 } })).toMatchObject({
      content: [{ text: '3' }],
    });
    expect(await plugin.handle('tools/call', { name: 'add' })).toEqual({
      content: [{ type: 'text', text: expect.stringMatching(/^invalid arguments: a: /) as string }],
      is_error: true,
    });
    expect(await plugin.handle('tools/list')).toMatchObject({
      tools: [{ name: 'add', input_schema: { type: 'object', required: ['a'] } }],
    });
  });

  test.each([
    ['tools/call', { name: 'nope' }, -32602],
    ['hooks/before_tool', {}, -32602],
    ['resources/list', {}, -32601],
  ])('%s %j is answered with an error', async (method, params, code) => {
    await expect(createPlugin({ name: 'p' }).handle(method, params)).rejects.toMatchObject({ code });
  });
});

describe('hooks', () => {
  const ask = { tool: 't', input: {} };

  test('are asked in order and the first refusal counts', async () => {
    const asked: string[] = [];
    const plugin = createPlugin({ name: 'p' })
      .beforeTool(() => void asked.push('first'))
      .beforeTool(() => ({ abort: 'second' }))
      .beforeTool(() => void asked.push('third'));

    expect(await plugin.handle('hooks/before_tool', ask)).toEqual({ decision: 'abort', reason: 'second' });
    expect(asked).toEqual(['first']);
  });

  test('an answer that is none is an error, so that the host refuses', async () => {
    const plugin = createPlugin({ name: 'p' }).beforeTool(() => 'allow' as never);

    await expect(plugin.handle('hooks/before_tool', ask)).rejects.toMatchObject({ code: -32603 });
  });
});

describe('resolvePath', () => {
  let root: string;

  beforeAll(async () => {
    root = await realpath(await mkdtemp(path.join(tmpdir(), 'kit-')));
    await mkdir(path.join(root, 'ws/inner'), { recursive: true });
    await writeFile(path.join(root, 'outside.txt'), '');
    await symlink('../outside.txt', path.join(root, 'ws/link'));
    await symlink('inner', path.join(root, 'ws/good'));
    await symlink('..', path.join(root, 'ws/up'));
  });

  afterAll(() => rm(root, { recursive: true }));

  async function resolve(file: string, hasWorkspace = true): Promise<unknown> {
    const plugin = createPlugin({ name: 'p' }).tool({
      name: 't',
      execute: (_input, call: PluginCall) => call.resolvePath(file),
    });
    const vibe = { workspace_root: path.join(root, 'ws'), permissions: {} };
    const result = await plugin.handle('tools/call', { name: 't', _meta: hasWorkspace ? { vibe } : {} });
    return (result as { content: [{ text: string }] }).content[0].text.replace(root, '');
  }

  test.each([
    ['inner/new.txt', '/ws/inner/new.txt'],
    ['good/new/deep.txt', '/ws/inner/new/deep.txt'],
    ['.', '/ws'],
    ['..hidden', '/ws/..hidden'],
  ])('%s is inside', async (file, expected) => {
    expect(await resolve(file)).toBe(expected);
  });

  test.each(['..', '../outside.txt', '/etc/passwd', 'link', 'up/outside.txt', 'up/new.txt'])(
    '%s is refused',
    async (file) => {
      expect(await resolve(file)).toBe(`\`${file}\` is outside the workspace`);
    },
  );

  test('without a workspace nothing is inside', async () => {
    expect(await resolve('a', false)).toBe('this call came without a workspace');
  });
});

test('nothing but the protocol reaches stdout while serving', async () => {
  await using stage = await openStage();
  await stage.host.load([{ name: 'kit', command: kit, cwd: project, required: true }]);

  expect(await stage.call('chatter')).toEqual({ content: 'quiet', is_error: false });
  await stage.host.stop();

  expect(stage.messages('debug')).toContain('[kit] a line of console.log');
  expect(stage.messages('debug')).toContain('[kit] {"jsonrpc":"2.0","id":1,"result":"forged"}');
  expect(stage.messages('warn')).toEqual([expect.stringMatching(/^ignoring invalid line from plugin: /)]);
});

test('logs and progress of a call reach the host', async () => {
  await using stage = await openStage();
  await stage.host.load([{ name: 'kit', command: kit, cwd: project, required: true }]);

  expect(await stage.call('steps')).toEqual({ content: 'true', is_error: false });

  expect(stage.messages('info')).toEqual(['working']);
  expect(await stage.event('plugin_progress')).toEqual({
    type: 'plugin_progress',
    plugin: 'kit',
    run: null,
    call: '000000000000',
    tool: 'steps',
    progress: 1,
    total: 2,
    message: 'half',
  });
});

test('a plugin that holds timers and sockets ends with its input, with success', async () => {
  const [program = '', ...args] = kit;
  const child = spawn(program, args, { cwd: project, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdout.resume();

  child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');

  expect(await once(child, 'exit')).toEqual([0, null]);
});

test.skipIf(process.platform === 'win32')(
  'of a host that is killed, plugins on the kit end by themselves and the rest at the next start (PL2)',
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'doomed-'));
    const stranger = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
    const host = spawn(process.execPath, ['--import', 'tsx', fixture('doomed-host.ts'), folder], {
      cwd: project,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(host.stdout, 'data')) as [Buffer];
    const pids = JSON.parse(line.toString('utf8')) as { kit: number[]; stay: number[] };
    expect([...pids.kit, ...pids.stay].filter(isRunning)).toHaveLength(10);

    host.kill('SIGKILL');
    await once(host, 'exit');
    await Promise.all(pids.kit.map(untilGone));
    expect(pids.stay.filter(isRunning)).toEqual(pids.stay);
    const logs: LogLine[] = [];
    const ended = await reapSurvivors({
      folder,
      logger: recordLogs(logs),
      startTimeOf: (pid) => processStartTime(pid, process.platform),
    });
    await Promise.all(pids.stay.map(untilGone));

    expect(new Set(ended)).toEqual(new Set(pids.stay));
    expect(isRunning(stranger.pid ?? 0)).toBe(true);
    stranger.kill('SIGKILL');
    await rm(folder, { recursive: true });
  },
);
