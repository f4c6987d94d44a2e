import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/protocol/json.ts';
import type { McpServerInput } from '../../src/protocol/mcp.ts';
import type { ToolProgress } from '../../src/protocol/tool.ts';
import { toToolOutput } from '../../src/mcp/results.ts';
import { connect, failureOf, fixtures, isAlive, onCleanup, tempFolder, textOf } from './support.ts';

const require = createRequire(import.meta.url);

function serverFile(name: string): string {
  return path.join(path.dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist', 'index.js');
}

const everything = serverFile('server-everything');
const filesystem = serverFile('server-filesystem');

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

/** server-everything as a web server; ended after the test. */
async function startEverything(transport: 'streamableHttp' | 'sse'): Promise<string> {
  const port = await freePort();
  const child: ChildProcess = spawn(process.execPath, [everything, transport], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onCleanup(async () => {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  });
  await new Promise<void>((resolve, reject) => {
    const look = (chunk: Buffer): void => {
      if (/listening|running on port/i.test(chunk.toString())) resolve();
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    child.once('exit', () => reject(new Error('the server ended')));
  });
  return `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`;
}

const everyTool: Readonly<Record<string, JsonObject>> = {
  echo: { message: 'hello' },
  'get-annotated-message': { messageType: 'error', includeImage: true },
  'get-env': {},
  'get-resource-links': { count: 2 },
  'get-resource-reference': { resourceType: 'Text', resourceId: 1 },
  'get-structured-content': { location: 'Chicago' },
  'get-sum': { a: 2, b: 3 },
  'get-tiny-image': {},
  'get-roots-list': {},
  'gzip-file-as-resource': { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' },
  'toggle-simulated-logging': {},
  'toggle-subscriber-updates': {},
  'trigger-elicitation-request': {},
  'trigger-url-elicitation': {},
  'trigger-long-running-operation': { duration: 0.2, steps: 2 },
  'simulate-research-query': { topic: 'x' },
};

describe.each(['stdio', 'streamableHttp', 'sse'] as const)('server-everything over %s', (transport) => {
  async function open() {
    const record: McpServerInput =
      transport === 'stdio'
        ? { name: 'everything', command: process.execPath, args: [everything] }
        : { name: 'everything', url: await startEverything(transport) };
    return await connect(record);
  }

  test('is legacy, lists 16 tools, and every one of them answers', { timeout: 60_000 }, async () => {
    const connection = await open();

    const list = await connection.listTools();

    expect(connection).toMatchObject({
      era: 'legacy',
      protocol_version: '2025-11-25',
      server: { name: 'mcp-servers/everything' },
    });
    expect(connection.transport).toBe(transport === 'streamableHttp' ? 'http' : transport);
    expect(list.rejected).toEqual([]);
    expect(list.tools.map((entry) => entry.definition.name).toSorted()).toEqual(Object.keys(everyTool).toSorted());
    const outputs = new Map<string, string>();
    for (const [name, args] of Object.entries(everyTool)) {
      const output = toToolOutput(await connection.callTool(name, args));
      outputs.set(name, output.content);
      expect(output.content, name).not.toBe('');
    }
    expect(outputs.get('echo')).toBe('Echo: hello');
    expect(outputs.get('get-sum')).toContain('5');
    expect(outputs.get('get-tiny-image')).toMatch(/\[image image\/png \d+ (B|KiB)\]/);
    expect(outputs.get('get-resource-reference')).toContain('[resource demo://');
    expect(outputs.get('get-resource-links')).toContain('[link ');
    expect(outputs.get('get-structured-content')).toContain('"temperature"');
    expect(outputs.get('trigger-elicitation-request')).toContain('"action": "decline"');
  });

  test('progress arrives, a cancelled call ends, the connection lives on', async () => {
    const connection = await open();
    const progress: ToolProgress[] = [];
    const caller = new AbortController();

    await connection.callTool(
      'trigger-long-running-operation',
      { duration: 0.3, steps: 3 },
      { onProgress: (entry) => progress.push(entry) },
    );
    const long = failureOf(
      connection.callTool('trigger-long-running-operation', { duration: 60, steps: 60 }, { signal: caller.signal }),
    );
    caller.abort(new Error('enough'));

    expect(progress.map((entry) => entry.progress)).toEqual([1, 2, 3]);
    expect((await long).code).toBe('call_cancelled');
    expect(textOf((await connection.callTool('echo', { message: 'still here' })).content)).toBe('Echo: still here');
  });

  test('prompts and resources can be listed and read', async () => {
    const connection = await open();

    expect((await connection.list('prompts/list')).length).toBeGreaterThan(0);
    const resources = (await connection.list('resources/list')) as readonly { uri: string }[];
    expect(resources.length).toBeGreaterThan(0);
    expect(await connection.read('resources/read', { uri: resources[0]?.uri ?? '' })).toHaveProperty('contents');
    expect((await connection.list('resources/templates/list')).length).toBeGreaterThan(0);
  });
});

test('server-filesystem lists 14 tools and works in its folder only', async () => {
  const folder = tempFolder();
  writeFileSync(path.join(folder, 'note.txt'), 'remember the milk');
  const connection = await connect({ name: 'fs', command: process.execPath, args: [filesystem, folder] });

  const list = await connection.listTools();
  const read = toToolOutput(await connection.callTool('read_text_file', { path: path.join(folder, 'note.txt') }));
  const written = toToolOutput(
    await connection.callTool('write_file', { path: path.join(folder, 'new.txt'), content: 'x' }),
  );
  const outside = toToolOutput(await connection.callTool('read_text_file', { path: '/etc/hostname' }));

  expect(list.tools).toHaveLength(14);
  expect(read).toEqual({ content: 'remember the milk', is_error: false });
  expect(written.is_error).toBe(false);
  expect(readFileSync(path.join(folder, 'new.txt'), 'utf8')).toBe('x');
  expect(outside.is_error).toBe(true);
  const { pid } = connection;
  await connection.stop();
  expect(pid !== undefined && isAlive(pid)).toBe(false);
});

/** The modern server of the fixtures on the web; ended after the test. */
async function startModern(): Promise<string> {
  const child = spawn(process.execPath, [path.join(fixtures, 'sdk-server.mjs'), 'http'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onCleanup(async () => {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  });
  return await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
    child.once('exit', () => reject(new Error('the server ended')));
  });
}

describe.each(['stdio', 'http'] as const)('a modern server of the official server package over %s', (transport) => {
  async function open(more: Parameters<typeof connect>[1] = {}) {
    const record: McpServerInput =
      transport === 'stdio'
        ? { name: 'sdk', command: process.execPath, args: [path.join(fixtures, 'sdk-server.mjs')] }
        : { name: 'sdk', url: await startModern() };
    return await connect(record, more);
  }

  test('is modern; its tools, resources and prompts work', async () => {
    const connection = await open();

    const list = await connection.listTools();
    const sum = await connection.callTool('add', { a: 2, b: 3 });

    expect(connection).toMatchObject({
      era: 'modern',
      protocol_version: '2026-07-28',
      transport,
      server: { name: 'sdk-server', version: '2.4.0' },
    });
    expect(list.rejected).toEqual([]);
    expect(list.tools.map(({ definition }) => definition.name)).toEqual(['add', 'ask', 'fail']);
    expect(sum.structuredContent).toEqual({ sum: 5 });
    expect(toToolOutput(sum)).toEqual({ content: '5', is_error: false });
    expect(toToolOutput(await connection.callTool('fail', {}))).toMatchObject({ is_error: true });
    expect((await failureOf(connection.callTool('nothing', {}))).code).toBe('remote');
    expect(await connection.read('resources/read', { uri: 'note://one' })).toMatchObject({
      contents: [{ text: 'remember the milk' }],
    });
    expect(await connection.read('prompts/get', { name: 'greet' })).toHaveProperty('messages');
  });

  test.each([
    ['declined without anyone to ask', {}, 'answer: decline'],
    [
      'answered by the embedder',
      { onElicitation: async () => ({ action: 'accept', content: { name: 'Ada' } }) as const },
      'answer: accept',
    ],
  ])('a question inside a result is %s', async (_how, more, text) => {
    const connection = await open(more);

    expect(textOf((await connection.callTool('ask', {})).content)).toBe(text);
  });
});
