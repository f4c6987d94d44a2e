import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/protocol/json.ts';
import {
  callResult,
  fixtures,
  legacyScript,
  modernScript,
  type Script,
  scriptedServer,
  tool,
  toolPage,
} from '../mcp/support.ts';
import { callCommandLine } from './in-process.ts';
import { useStage } from './stage.ts';

const stage = useStage();

/** The words of `mcp add` for a scripted server. */
function scripted(script: Script = modernScript()): readonly string[] {
  const { args } = scriptedServer(script).record;
  const [program = '', file = '', log = ''] = args as readonly string[];
  return ['--read', fixtures, '--write', path.dirname(file), '--', process.execPath, program, file, log];
}

async function saved(): Promise<unknown> {
  return JSON.parse(await readFile(path.join(stage.configDir, 'mcp.json'), 'utf8'));
}

async function put(servers: unknown): Promise<void> {
  await stage.write('../user/mcp.json', JSON.stringify(servers));
}

describe('vibe-bus mcp add', () => {
  test('tries the server, writes it down for the user only, and the others use it', async () => {
    const script = modernScript({ 'tools/call': [callResult('worked')] });

    const added = await stage.run(['mcp', 'add', 'one', '--env', 'A=b=c', '--eager', 'wo*', ...scripted(script)]);
    const listed = await stage.run(['mcp', 'list']);
    const tested = await stage.run(['mcp', 'test', 'one']);
    const tools = await stage.run(['mcp', 'tools', 'one']);
    const called = await stage.run(['mcp', 'call', 'one', 'work', '{"a":1}']);

    expect(added).toMatchObject({ code: 0, err: '' });
    expect(added.out).toMatch(/^server {4}one: scripted 1\.0\.0\nprotocol {2}2026-07-28 \(modern\)\n/);
    expect(added.out).toMatch(/^one was added to .*mcp\.json$/m);
    expect(await saved()).toMatchObject([
      {
        name: 'one',
        command: process.execPath,
        env: { A: 'b=c' },
        tools: { eager: ['wo*'] },
        sandbox: { read: [fixtures] },
      },
    ]);
    expect((await stat(path.join(stage.configDir, 'mcp.json'))).mode & 0o777).toBe(0o600);
    expect(listed).toMatchObject({ code: 0, out: `one  user  ready  stdio ${process.execPath}\n` });
    expect(tested).toMatchObject({ code: 0, err: '' });
    expect(tested.out).toMatch(/^tools {5}work$/m);
    expect(tools).toMatchObject({ code: 0, err: '' });
    expect(tools.out).toMatch(/^work {2}changes things {2}[\d.]+ KiB/);
    expect(called).toEqual({ code: 0, signal: null, out: 'worked\n', err: '' });
  });

  test('a server that does not work is not saved, with what it said; --no-test saves it all the same', async () => {
    const words = scripted({ start: [{ stderr: ['no key given'], exit: 3 }] });

    const failed = await stage.run(['mcp', 'add', 'one', ...words]);

    expect(failed).toMatchObject({ code: 1, out: '' });
    expect(failed.err).toMatch(/^error: Connect failed: the program ended \(exit code 3\)\./);
    expect(failed.err).toContain('\n  no key given\n');
    expect(failed.err).toContain('Nothing was saved; --no-test saves it without trying.');
    await expect(saved()).rejects.toThrow('ENOENT');
    expect((await callCommandLine(['mcp', 'add', 'one', '--no-test', ...words], stage)).code).toBe(0);
    expect(await saved()).toMatchObject([{ name: 'one' }]);
  });

  test.each<[readonly string[], string]>([
    [['one'], 'a server needs a command after `--`, or --url'],
    [['one', '--url', 'https://a.example', '--', 'x'], 'a server has a command or --url, not both'],
    [['one', '--url', 'http://a.example'], 'one: url may use http only for this machine'],
    [['a__b', '--', 'x'], 'a__b: name must be'],
    [['one', '--env', 'A', '--', 'x'], '--env needs NAME=value'],
    [['taken', '--', 'x'], '`taken` is there already; change it with `vibe-bus mcp edit taken`'],
    [['TAKEN', '--', 'x'], '`taken` is there already'],
  ])('%j is no server', async (words, problem) => {
    await put([{ name: 'taken', command: 'x' }]);

    const { code, err } = await callCommandLine(['mcp', 'add', ...words], stage);

    expect(code).toBe(2);
    expect(err).toContain(problem);
    expect(await saved()).toEqual([{ name: 'taken', command: 'x' }]);
  });

  test('--project writes the file of the project, which has to be trusted before it is used', async () => {
    const { code, err } = await callCommandLine(['mcp', 'add', 'one', '--project', '--no-test', '--', 'x'], stage);
    const listed = await callCommandLine(['mcp', 'list', '--json'], stage);
    const used = await callCommandLine(['mcp', 'tools', 'one'], stage);

    expect({ code, err }).toEqual({ code: 0, err: 'It belongs to the project now: `vibe-bus trust` allows it.\n' });
    expect(JSON.parse(listed.out)).toMatchObject([{ name: 'one', source: 'project', state: 'needs_trust' }]);
    expect(used).toMatchObject({ code: 1 });
    expect(used.err).toContain('MCP server `one` belongs to a project that is not trusted yet');
  });
});

describe('vibe-bus mcp edit and remove', () => {
  test('only what is named changes; unknown fields and the shape of the file stay', async () => {
    await put({
      theme: 'dark',
      mcpServers: { one: { command: 'x', args: ['a'], icon: 1, timeouts: { probe_ms: 5, list_ms: 6 } } },
    });

    const words = ['--no-test', '--disable', '--env', 'A=1', '--unset', 'timeouts.probe_ms', '--unset', 'args'];
    const { code } = await callCommandLine(['mcp', 'edit', 'one', ...words], stage);

    expect(code).toBe(0);
    expect(await saved()).toEqual({
      theme: 'dark',
      mcpServers: { one: { command: 'x', icon: 1, timeouts: { list_ms: 6 }, env: { A: '1' }, enabled: false } },
    });
    expect((await callCommandLine(['mcp', 'list'], stage)).out).toBe('one  user  disabled  stdio x\n');
    expect((await callCommandLine(['mcp', 'edit', 'one', '--enable', '--no-test'], stage)).code).toBe(0);
    expect(await saved()).not.toHaveProperty('mcpServers.one.enabled');
  });

  test('a server moves from a command to the web', async () => {
    await put([{ name: 'one', command: 'x', args: ['a'], env: { A: '1' }, tools: { deny: ['x'] } }]);

    await callCommandLine(
      ['mcp', 'edit', 'one', '--no-test', '--url', 'https://a.example/mcp', '--header', 'X-Key: ${K}'],
      stage,
    );

    expect(await saved()).toEqual([
      { name: 'one', tools: { deny: ['x'] }, url: 'https://a.example/mcp', headers: { 'X-Key': '${K}' } },
    ]);
    expect((await callCommandLine(['mcp', 'list'], stage)).out).toBe('one  user  ready  http a.example\n');
  });

  test.each<[readonly string[], string]>([
    [['edit', 'none', '--disable'], 'there is no MCP server `none` in'],
    [['edit', 'one'], 'no change is named'],
    [['edit', 'one', '--unset', 'timeouts'], 'there is no field `timeouts` to unset'],
    [['edit', 'one', '--enable', '--disable'], 'use only one of --enable and --disable'],
    [['remove', 'none'], 'there is no MCP server `none` in'],
  ])('%j changes nothing', async (words, problem) => {
    await put([{ name: 'one', command: 'x' }]);

    const { code, err } = await callCommandLine(['mcp', ...words], stage);

    expect(code).toBe(2);
    expect(err).toContain(problem);
    expect(await saved()).toEqual([{ name: 'one', command: 'x' }]);
  });

  test('a removed server is gone with the folder it kept', async () => {
    await put([
      { name: 'one', command: 'x' },
      { name: 'two', command: 'y' },
    ]);
    await stage.write('../user/scratch/one/login', 'token');

    const { code, out } = await callCommandLine(['mcp', 'remove', 'one'], stage);

    expect(code).toBe(0);
    expect(out).toMatch(/^one was removed from .*mcp\.json\n$/);
    expect(await saved()).toEqual([{ name: 'two', command: 'y' }]);
    await expect(stat(path.join(stage.configDir, 'scratch', 'one'))).rejects.toThrow('ENOENT');
  });
});

describe('vibe-bus mcp test, tools and call', () => {
  async function declare(script: Script): Promise<void> {
    const { code } = await callCommandLine(['mcp', 'add', 'one', '--no-test', ...scripted(script)], stage);
    expect(code).toBe(0);
  }

  test('a failed test says why, what the program said, and is exit code 1; --json has it as data', async () => {
    await declare({ start: [{ stderr: ['first', 'last'], exit: 1 }] });

    const { code, out, err } = await stage.run(['mcp', 'test', 'one']);
    const json = await stage.run(['mcp', 'test', 'one', '--json']);

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^error: Connect failed: .*\n {2}first\n {2}last\n(?: {2}.*--read and --write\.\n)?$/);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, stage: 'connect', code: 'connect_failed' });
  });

  test('foreign text cannot drive the terminal; a failed tool is exit code 1', async () => {
    const nasty: JsonObject = { ...tool('work'), description: 'does\u001b[2Jwork' };
    await declare(
      legacyScript({
        'tools/list': [toolPage([nasty])],
        'tools/call': [{ result: { content: [{ type: 'text', text: 'no\u001b[2J' }], isError: true } }],
      }),
    );

    const tools = await stage.run(['mcp', 'tools', 'one']);
    const called = await stage.run(['mcp', 'call', 'one', 'work']);

    expect(tools.out).toContain('does\\x1b[2Jwork');
    expect(called).toMatchObject({ code: 1, out: '', err: 'no\\x1b[2J\n' });
  });

  test('a server that fails or is switched off is told with the command that helps', async () => {
    await put([
      { name: 'gone', command: 'no-such-program' },
      { name: 'off', command: 'x', disabled: true },
      { name: 'unset', url: 'http://localhost/${NO_SUCH_VARIABLE}' },
    ]);

    const failed = await stage.run(['mcp', 'tools', 'gone']);
    const called = await stage.run(['mcp', 'call', 'gone', 'work']);
    const unset = await callCommandLine(['mcp', 'tools', 'unset'], stage);
    const off = await callCommandLine(['mcp', 'call', 'off', 'work'], stage);

    expect([failed.code, called.code, off.code]).toEqual([1, 1, 2]);
    expect(failed.err).toBe(
      "error: Connect failed: `no-such-program` was not found on the daemon's PATH. Use an absolute path.\n" +
        '  `vibe-bus mcp test gone` tries it alone and shows what it says.\n',
    );
    expect(called.err).toBe(failed.err);
    expect(unset.err).toBe(
      'error: unset: `${NO_SUCH_VARIABLE}` is not set.\n  Correct it with `vibe-bus mcp edit unset`.\n',
    );
    expect(off.err).toContain(
      'error: MCP server `off` is switched off; `vibe-bus mcp edit off --enable` turns it on\n',
    );
  });

  test('a tool that is not there, and an input that is no object, are usage errors', async () => {
    await declare(modernScript());

    const absent = await stage.run(['mcp', 'call', 'one', 'play']);
    const text = await callCommandLine(['mcp', 'call', 'one', 'work', 'x'], stage);
    const server = await callCommandLine(['mcp', 'tools', 'two'], stage);

    expect(absent).toMatchObject({ code: 2, out: '' });
    expect(absent.err).toContain('MCP server `one` has no tool `play`; its tools: work');
    expect(text.code).toBe(2);
    expect(server).toMatchObject({ code: 2 });
    expect(server.err).toContain('there is no MCP server `two`; configured: one');
  });

  test('a server that never answers is left by Ctrl-C', async () => {
    await declare({ 'server/discover': [{ silent: true }], start: [{ stderr: ['up'] }] });
    const started = stage.start(['mcp', 'tools', 'one'], { VIBE_LOG: 'debug' });
    await started.said('mcp.server.stderr');

    started.child.kill('SIGINT');

    expect(await started.finished).toMatchObject({ code: 130 });
  });
});

describe('vibe-bus mcp import', () => {
  const claude = {
    mcpServers: { files: { command: 'npx', args: ['-y', 'x', '/secret'] }, 'my server': { command: 'y' }, bad: {} },
  };
  const vscode = `{
    // what the editor uses
    "servers": {
      "web": { "type": "http", "url": "https://a.example/mcp", "headers": { "X-Key": "\${input:key}" }, },
      "files": { "command": "z" }, /* the same name */
    },
    "inputs": [{ "id": "key", "type": "promptString" }]
  }`;

  test('shows what it would add and adds it only after --yes, each in its place', async () => {
    await stage.write('claude.json', JSON.stringify(claude));

    const shown = await stage.run(['mcp', 'import', 'claude.json']);
    const added = await stage.run(['mcp', 'import', 'claude.json', '--yes']);

    expect(shown.code).toBe(2);
    expect(shown.out).toMatch(/^add {4}files {19}stdio npx {2}/m);
    expect(shown.out).toMatch(/^add {4}my server as my-server {2}stdio y {3}/m);
    expect(shown.out).toMatch(/^leave {2}bad .*command or url is required/m);
    expect(shown.out).not.toContain('/secret');
    expect(shown.err).toContain('add --yes to add these without a question');
    expect(added).toMatchObject({ code: 0, err: '' });
    expect(added.out).toMatch(/^2 added to .*mcp\.json$/m);
    expect(await saved()).toEqual([
      { name: 'files', command: 'npx', args: ['-y', 'x', '/secret'] },
      { name: 'my-server', command: 'y' },
    ]);
  });

  test('finds the files of the other programs, reads comments, leaves what is there, and says what to do', async () => {
    await put([{ name: 'Files', command: 'mine' }]);
    await stage.write('.vscode/mcp.json', vscode);
    await stage.write('home/.cursor/mcp.json', JSON.stringify({ mcpServers: { cursor: { command: 'c' } } }));
    const home = { HOME: path.join(stage.root, 'home'), XDG_CONFIG_HOME: path.join(stage.root, 'none') };

    const { code, out } = await stage.run(['mcp', 'import', '--yes'], home);

    expect(code).toBe(0);
    expect(out).toMatch(/^leave {2}files .*a server of that name is there already/m);
    expect(out).toContain('web: replace `${input:key}` by `${NAME}` and set that variable');
    expect(await saved()).toMatchObject([{ name: 'Files', command: 'mine' }, { name: 'web' }, { name: 'cursor' }]);
  });

  test.each([
    ['nothing.json', undefined, 1, 'it cannot be read'],
    ['odd.json', '{"a":1}', 1, 'it holds no `mcpServers` and no `servers`'],
    ['broken.json', '{"mcpServers": {]', 1, 'broken.json:1:17: this is not valid JSON'],
    ['claude', undefined, 2, 'no file of another program was found'],
  ])('%s: %s', async (source, text, code, problem) => {
    if (text !== undefined) await stage.write(source, text);

    const result = await stage.run(['mcp', 'import', source], { HOME: stage.root, XDG_CONFIG_HOME: stage.root });

    expect(result.code).toBe(code);
    expect(result.err).toContain(problem);
  });

  test('--json shows without asking and writes only with --yes', async () => {
    await stage.write('servers.json', JSON.stringify([{ name: 'one', command: 'x' }]));

    const shown = await callCommandLine(['mcp', 'import', path.join(stage.root, 'servers.json'), '--json'], stage);

    expect(JSON.parse(shown.out)).toMatchObject({ added: [], servers: [{ given: 'one', name: 'one' }], left: [] });
    await expect(saved()).rejects.toThrow('ENOENT');
  });
});
