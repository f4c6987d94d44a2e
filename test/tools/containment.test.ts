import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { checkCommand } from '../../src/tools/shell-policy.ts';
import { createWorkspace } from './workspace.ts';

const denied = expect.stringMatching(/^Access denied: /);

describe('reading', () => {
  test('PC1: a folder whose name only begins like the workspace is outside', async () => {
    using workspace = createWorkspace();

    const output = await workspace.call('read_file', { path: join(workspace.outside, 'secret.txt') });

    expect(output).toEqual({
      content: `Access denied: path \`${workspace.outside}/secret.txt\` escapes the workspace \`${workspace.root}\`.`,
      is_error: true,
    });
  });

  test.each(['../repo-evil/secret.txt', 'a/../../repo-evil/secret.txt', './/..//repo-evil//secret.txt'])(
    'PC1: %s is judged by where it leads',
    async (path) => {
      using workspace = createWorkspace();

      expect(await workspace.call('read_file', { path })).toMatchObject({ is_error: true, content: denied });
    },
  );

  test('an encoded path is a name like any other', async () => {
    using workspace = createWorkspace();

    const output = await workspace.call('read_file', { path: '%2e%2e/repo-evil/secret.txt' });

    expect(output.content).toBe('File `%2e%2e/repo-evil/secret.txt` does not exist.');
  });

  test('PC2: a link is followed when it stays inside and refused when it leaves, at any step', async () => {
    using workspace = createWorkspace();
    workspace.write('real/a.txt', 'inside');
    workspace.link('alias', 'real');
    workspace.link('evil', '../repo-evil');
    workspace.link('loop', 'loop');

    expect((await workspace.call('read_file', { path: 'alias/a.txt' })).content).toBe('     1\tinside');
    expect((await workspace.call('read_file', { path: 'evil/secret.txt' })).content).toEqual(denied);
    expect((await workspace.call('list_dir', { path: 'evil' })).content).toEqual(denied);
    expect((await workspace.call('grep', { pattern: 'secret', path: 'evil' })).content).toEqual(denied);
    expect((await workspace.call('read_file', { path: 'loop' })).content).toEqual(denied);
  });

  test('an extra read path may be read and listed, but not written and not worked in', async () => {
    using workspace = createWorkspace();
    const permissions = { extra_read_paths: [workspace.outside] };
    const path = join(workspace.outside, 'secret.txt');

    expect((await workspace.call('read_file', { path }, { permissions })).content).toBe('     1\tsecret');
    expect((await workspace.call('glob', { pattern: '*', path: workspace.outside }, { permissions })).content).toBe(
      path,
    );
    expect((await workspace.call('write_file', { path, content: 'x' }, { permissions })).content).toEqual(denied);
    expect((await workspace.call('bash', { command: 'ls', cwd: workspace.outside }, { permissions })).content).toEqual(
      denied,
    );
  });

  test.each([
    ['', 'the path is empty'],
    ['a\0b', 'the path holds a NUL character'],
    ['x'.repeat(4_097), 'the path is longer than 4096 bytes'],
    ['é'.repeat(2_049), 'the path is longer than 4096 bytes'],
    ['~/x', 'starts with `~`'],
    ['~root/x', 'starts with `~`'],
    ['C:\\Windows\\win.ini', 'names a drive'],
    ['\\\\.\\pipe\\x', 'names a device'],
  ])('PC6: the path %j is refused with a reason', async (path, reason) => {
    using workspace = createWorkspace();

    for (const [tool, rest] of [
      ['read_file', {}],
      ['write_file', { content: 'x' }],
    ] as const) {
      const output = await workspace.call(tool, { path, ...rest });

      expect(output).toMatchObject({ is_error: true, content: denied });
      expect(output.content).toContain(reason);
    }
  });
});

test('PC6: a path of exactly 4 096 bytes is looked up', async () => {
  using workspace = createWorkspace();
  workspace.write('a.txt', 'x');

  const output = await workspace.call('read_file', { path: `${'./'.repeat(2_045)}.//a.txt`.slice(-4_096) });

  expect(output.content).toBe('     1\tx');
});

describe('writing', () => {
  test('PC2: a symbolic link at any step is refused, the leaf and a dangling one too', async () => {
    using workspace = createWorkspace();
    workspace.write('real/a.txt', 'old');
    workspace.link('alias', 'real');
    workspace.link('leaf', 'real/a.txt');
    workspace.link('dangling', '../repo-evil/new.txt');

    for (const path of ['alias/a.txt', 'leaf', 'dangling', 'alias/new/deep.txt']) {
      expect((await workspace.call('write_file', { path, content: 'new' })).content).toEqual(denied);
    }
    expect((await workspace.call('edit_file', { path: 'leaf', old_string: 'old', new_string: 'x' })).content).toEqual(
      denied,
    );
    expect(readFileSync(join(workspace.root, 'real/a.txt'), 'utf8')).toBe('old');
    expect(readdirSync(workspace.outside)).toEqual(['secret.txt']);
  });

  test.each([
    '.git/config',
    '.GIT/config',
    'sub/.Git/hooks/post-commit',
    '.git',
    'module/.git',
    '.git./config',
    '.git /config',
    '.git::$INDEX_ALLOCATION/config',
    'GIT~1/config',
    'sub/NUL',
    '.g\u200cit/config',
    '.vibe/config.toml',
    '.VIBE/agents/coder.toml',
    '.vibe',
  ])('PC4, PC5: %j is not writable, whether or not it exists', async (path) => {
    using workspace = createWorkspace();

    expect((await workspace.call('write_file', { path, content: 'x' })).content).toEqual(denied);
    expect(readdirSync(workspace.root)).toEqual([]);
  });

  test('PC5: folders the engine names are not writable', async () => {
    using workspace = createWorkspace();
    const protectedFolders = [join(workspace.root, 'settings')];
    const input = { path: 'settings/mcp.json', content: '{}' };

    expect((await workspace.call('write_file', input, { builtin: { protectedFolders } })).content).toEqual(denied);
    expect(existsSync(join(workspace.root, 'settings'))).toBe(false);
  });

  test('PC5: also by another spelling of them, and before they exist', async () => {
    using workspace = createWorkspace();
    workspace.link('../door', workspace.root);
    const protectedFolders = [join(workspace.root, '../door/Settings/f\u00fcr')];

    for (const path of ['Settings/f\u00fcr/mcp.json', 'settings/FU\u0308R/mcp.json', 'Settings/f\u00fcr']) {
      const output = await workspace.call('write_file', { path, content: '{}' }, { builtin: { protectedFolders } });
      expect(output.content).toEqual(denied);
    }
    const beside = { path: 'Settings/f\u00fcrs.json', content: '{}' };
    expect((await workspace.call('write_file', beside, { builtin: { protectedFolders } })).is_error).toBe(false);
  });

  test('PC7: a file is replaced: a hard link elsewhere keeps its content, the mode stays', async () => {
    using workspace = createWorkspace();
    const file = workspace.write('run.sh', 'old');
    chmodSync(file, 0o750);
    linkSync(file, join(workspace.outside, 'hard'));
    const { mode } = statSync(file);

    await workspace.call('write_file', { path: 'run.sh', content: 'new' });
    await workspace.call('edit_file', { path: 'run.sh', old_string: 'new', new_string: 'newer' });

    expect(readFileSync(file, 'utf8')).toBe('newer');
    expect(readFileSync(join(workspace.outside, 'hard'), 'utf8')).toBe('old');
    expect(statSync(file).mode).toBe(mode);
    expect(readdirSync(workspace.root)).toEqual(['run.sh']);
  });

  test('PC3: a directory swapped for a link while files are written and read lets nothing out or in', async () => {
    using workspace = createWorkspace();
    mkdirSync(join(workspace.root, 'dir'));
    // Moves the directory away, puts a link in its place, and back, as fast as it can; the calls may get in its way.
    const swapper = new Worker(
      `const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
       const { workerData: { root, outside } } = require('node:worker_threads');
       const attempt = (step) => { try { step(); } catch {} };
       for (let round = 0; ; round += 1) {
         attempt(() => renameSync(root + '/dir', root + '/away' + round));
         attempt(() => symlinkSync(outside, root + '/dir'));
         attempt(() => unlinkSync(root + '/dir'));
         attempt(() => renameSync(root + '/away' + round, root + '/dir'));
       }`,
      { eval: true, workerData: { root: workspace.root, outside: workspace.outside } },
    );
    const contents = new Set<string>();
    try {
      for (let round = 0; round < 150; round += 1) {
        await workspace.call('write_file', { path: `dir/planted-${round}.txt`, content: 'x' });
        contents.add((await workspace.call('read_file', { path: 'dir/secret.txt' })).content);
        contents.add((await workspace.call('grep', { pattern: 'secret', path: 'dir' })).content);
      }
    } finally {
      await swapper.terminate();
    }

    expect(readdirSync(workspace.outside)).toEqual(['secret.txt']);
    expect([...contents].filter((content) => content.includes('\tsecret') || content.includes('secret.txt:'))).toEqual(
      [],
    );
  });
});

describe('a workspace that a link above it leads to', () => {
  test('PC1: is meant by that spelling too, for reading, writing, working and in commands; links below it are none', async () => {
    using workspace = createWorkspace();
    const door = join(workspace.outside, 'door');
    symlinkSync(workspace.root, door);
    workspace.write('real/a.txt', 'old');
    workspace.link('alias', 'real');
    workspace.link('again', '.');
    const path = join(door, 'real/a.txt');

    expect((await workspace.call('read_file', { path })).content).toBe('     1\told');
    expect((await workspace.call('glob', { pattern: '*.txt', path: join(door, 'real') })).content).toBe('real/a.txt');
    expect((await workspace.call('write_file', { path, content: 'new' })).content).toBe(
      'Overwrote `real/a.txt` (3 bytes).',
    );
    expect((await workspace.call('bash', { command: 'pwd', cwd: door })).content).toBe(
      `${workspace.root}\n\nExit code: 0`,
    );
    for (const below of ['alias/a.txt', 'again/real/a.txt', '.git/config', '../secret.txt']) {
      expect((await workspace.call('write_file', { path: join(door, below), content: 'x' })).content).toEqual(denied);
    }
    expect(
      (await workspace.call('write_file', { path: join(workspace.outside, 'new.txt'), content: 'x' })).content,
    ).toEqual(denied);
    expect(readFileSync(join(workspace.root, 'real/a.txt'), 'utf8')).toBe('new');
  });

  test.each([
    ['rm DOOR/a.txt', true],
    ['cd DOOR/sub && rm ../a.txt', true],
    ['echo x > DOOR/sub/out', true],
    ['cp a.txt DOOR/b.sh && sh b.sh', false],
    ['rm -r DOOR', false],
    ['rm DOOR/../a.txt', false],
    ['rm DOOR-evil/a.txt', false],
    ['cd DOOR && rm ../a.txt', false],
    ['touch DOOR/.git/config', false],
  ])('PC1: the command `%s` is judged by where it leads: %s', (command, allow) => {
    const place = { root: '/srv/project', spelling: '/home/me/door', network: false };

    expect(checkCommand(command.replaceAll('DOOR', '/home/me/door'), place).allow).toBe(allow);
  });
});

test('a path replaced by a rename between two calls is judged anew', async () => {
  using workspace = createWorkspace();
  workspace.write('a/x.txt', 'one');
  expect((await workspace.call('read_file', { path: 'a/x.txt' })).is_error).toBe(false);

  renameSync(join(workspace.root, 'a'), join(workspace.root, 'b'));
  workspace.link('a', '../repo-evil');

  expect((await workspace.call('read_file', { path: 'a/secret.txt' })).content).toEqual(denied);
});
