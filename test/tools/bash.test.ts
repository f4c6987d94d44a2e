import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EngineError } from '../../src/protocol/error.ts';
import { toBashEnvironment } from '../../src/tools/bash-environment.ts';
import { checkCommand } from '../../src/tools/shell-policy.ts';
import { findPosixShell } from '../../src/tools/posix-shell.ts';
import { createOutputCollector } from '../../src/tools/output-collector.ts';
import { createWorkspace } from './workspace.ts';

const allow = { checkCommand: () => ({ allow: true }) as const };

/** A process that ended but was not collected by its parent yet does not run. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return !/^\s*(?:Z|$)/.test(stdout);
}

describe.skipIf(process.platform === 'win32')('a command', () => {
  test('PL7: a background job does not hold the call and is ended with it', async () => {
    using workspace = createWorkspace();

    const output = await workspace.call('bash', { command: 'sleep 60 & echo $!' });

    expect(output).toMatchObject({ is_error: false, metadata: { exit_code: 0, timed_out: false } });
    expect(isRunning(Number.parseInt(output.content, 10))).toBe(false);
  });

  test.skipIf(process.platform !== 'linux')('PL7: what leaves its process group is ended too', async () => {
    using workspace = createWorkspace();
    const command =
      'setsid sh -c "echo \\$\\$ > pid; exec sleep 60" >/dev/null 2>&1 & while ! test -s pid; do :; done; cat pid';

    const output = await workspace.call('bash', { command });

    expect(isRunning(Number.parseInt(output.content, 10))).toBe(false);
    expect(output.content).toMatch(/^\d+\n\nExit code: 0$/);
  });

  test('PL8: past its timeout the whole group is ended, also when it traps the signal; the output so far is kept', async () => {
    using workspace = createWorkspace();
    const command =
      'trap "" TERM; echo so far; sh -c "trap \\"\\" TERM; echo \\$\\$; sleep 30; touch late" & sleep 30; touch late';

    const output = await workspace.call('bash', { command, timeout_secs: 1 });

    expect(output.content).toMatch(/^so far\n\d+\n\nCommand timed out after 1 seconds and was killed\.$/);
    expect(output.metadata).toMatchObject({ exit_code: null, timed_out: true });
    expect(isRunning(Number.parseInt(output.content.split('\n')[1] ?? '', 10))).toBe(false);
    expect(existsSync(join(workspace.root, 'late'))).toBe(false);
  });

  test.skipIf(process.platform !== 'linux')(
    'PL8: a command that ended in time did not time out, whoever still holds its output',
    async () => {
      using workspace = createWorkspace();
      const command = 'setsid sleep 60 & sleep 0.2; echo done';

      const output = await workspace.call('bash', { command, timeout_secs: 1 });

      expect(output).toMatchObject({ is_error: false, metadata: { exit_code: 0, timed_out: false } });
      expect(output.content).toBe('done\n\nExit code: 0');
    },
  );

  test('PL8: what hears the signal has two seconds to end well', async () => {
    using workspace = createWorkspace();
    const command = 'trap "sleep 0.5; echo cleaned; exit 0" TERM; echo begun; while :; do sleep 0.1; done';

    const output = await workspace.call('bash', { command, timeout_secs: 1 });

    // Some shells tell what the signal did to the sleep.
    expect(output.content).toMatch(
      /^begun\n(?:Terminated\n)?cleaned\n\nCommand timed out after 1 seconds and was killed\.$/,
    );
    expect(output.metadata).toMatchObject({ exit_code: null, timed_out: true });
  });

  test.skipIf(process.platform !== 'linux')('the output is read for two seconds after the end', async () => {
    using workspace = createWorkspace();
    const late = 'setsid sh -c "echo \\$\\$ > pid; sleep 0.5; echo late" &';

    const output = await workspace.call('bash', { command: `${late} while ! test -s pid; do :; done; echo done` });

    expect(output.content).toBe('done\nlate\n\nExit code: 0');
  });

  test('a cancelled call ends its group and rejects with the reason', async () => {
    using workspace = createWorkspace();
    const cancel = new AbortController();
    const calling = workspace.call('bash', { command: 'echo $$ > pid; sleep 60' }, { signal: cancel.signal });
    while (!existsSync(join(workspace.root, 'pid'))) await new Promise((resolve) => setTimeout(resolve, 5));

    cancel.abort(new EngineError('cancelled', 'enough'));

    await expect(calling).rejects.toThrow('enough');
  });

  test('both outputs come in the order they were written', async () => {
    using workspace = createWorkspace();

    const { content } = await workspace.call('bash', {
      command: 'for i in 1 2 3; do echo out$i; echo err$i >&2; done',
    });

    expect(content).toBe('out1\nerr1\nout2\nerr2\nout3\nerr3\n\nExit code: 0');
  });

  test('CP8: a command ended by a signal, one that begins with a dash, one without output', async () => {
    using workspace = createWorkspace();

    expect((await workspace.call('bash', { command: 'kill -9 $$' })).content).toBe(
      '(no output)\n\nExit code: none (terminated by a signal)',
    );
    expect((await workspace.call('bash', { command: '-x' })).content).toContain('Exit code: 127');
    expect((await workspace.call('bash', { command: 'true' })).content).toBe('(no output)\n\nExit code: 0');
  });

  test('links, git data and missing directories are no place to work in', async () => {
    using workspace = createWorkspace();
    mkdirSync(join(workspace.root, '.git'));
    mkdirSync(join(workspace.root, 'real'));
    workspace.link('alias', 'real');
    workspace.write('file', '');

    expect((await workspace.call('bash', { command: 'pwd', cwd: '.git' })).content).toMatch(/^Access denied: /);
    expect((await workspace.call('bash', { command: 'pwd', cwd: 'alias' })).content).toMatch(/^Access denied: /);
    expect((await workspace.call('bash', { command: 'pwd', cwd: 'file' })).content).toBe(
      'Working directory `file` is not an existing directory.',
    );
    expect((await workspace.call('bash', { command: 'pwd', cwd: 'real' })).content).toBe(
      `${workspace.root}/real\n\nExit code: 0`,
    );
  });

  test('the policy hears the command with its place and can refuse it; a confinement replaces the command line', async () => {
    using workspace = createWorkspace();
    const heard: unknown[] = [];
    const checkCommand = (command: string, place: object) => {
      heard.push([command, place]);
      return command === 'no'
        ? ({ allow: false, sentence: '`no` is refused; say yes.' } as const)
        : ({ allow: true } as const);
    };
    const confine = () => ({ program: '/bin/echo', args: ['confined'] });

    const refused = await workspace.call('bash', { command: 'no' }, { builtin: { bash: { checkCommand } } });
    const confined = await workspace.call('bash', { command: 'yes' }, { builtin: { bash: { checkCommand, confine } } });

    expect(refused).toEqual({
      content: 'Command denied by the security policy: `no` is refused; say yes.',
      is_error: true,
      metadata: { denied: true },
    });
    expect(confined.content).toBe('confined\n\nExit code: 0');
    expect(heard[0]).toEqual([
      'no',
      { root: workspace.root, spelling: workspace.root, cwd: workspace.root, network: false },
    ]);
  });

  test('PL10: secrets of the host stay with the host', async () => {
    using workspace = createWorkspace();
    const env = {
      PATH: process.env['PATH'],
      MY_API_KEY: '1',
      GH_TOKEN: '2',
      db_password: '3',
      PROVIDER: '4',
      KEPT: '5',
    };
    const bash = { ...allow, env, secretNames: ['PROVIDER'] };

    const { content } = await workspace.call('bash', { command: 'env' }, { builtin: { bash } });

    expect(content).toContain('KEPT=5');
    expect(content).not.toMatch(/MY_API_KEY|GH_TOKEN|db_password|PROVIDER/);
    expect(toBashEnvironment({ env, cwd: '/' })).toMatchObject({
      GIT_TERMINAL_PROMPT: '0',
      GIT_PAGER: 'cat',
      PAGER: 'cat',
    });
  });
});

describe.skipIf(process.platform === 'win32')('CP6: what a shell inherits', () => {
  /** Runs a command that the policy allows, as a host with these variables would. */
  async function runWith(command: string, env: Record<string, string>, cwd = '.') {
    using workspace = createWorkspace();
    workspace.write('x', 'kept');
    workspace.write('sub/x', '');
    workspace.write('elsewhere/sub/deep/x', '');
    workspace.write('rc', 'echo ran the start file');
    workspace.write('.bashrc', 'echo ran the start file of a login');
    const host = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, value.replaceAll('ROOT', workspace.root)]),
    );
    const bash = { checkCommand, env: { PATH: process.env['PATH'], HOME: workspace.root, ...host } };
    symlinkSync(join(workspace.root, 'sub'), join(workspace.outside, 'door'));
    writeFileSync(join(workspace.outside, 'x'), 'kept');
    const { content } = await workspace.call('bash', { command, cwd }, { builtin: { bash } });
    const files = execFileSync('find', ['.', '-name', 'x'], { cwd: join(workspace.root, '..'), encoding: 'utf8' });
    return { content, files: files.trim().split('\n').sort() };
  }
  const all = ['./repo-evil/x', './repo/elsewhere/sub/deep/x', './repo/sub/x', './repo/x'];

  test.each(['sh', 'bash'])('a search path for `cd` leads %s nowhere else', async (shell) => {
    const command = `${shell} -c 'cd sub && rm x'`;

    const { files } = await runWith(command, { CDPATH: 'ROOT/elsewhere:ROOT/../repo-evil' });

    expect(files).toEqual(all.filter((file) => file !== './repo/sub/x'));
  });

  test('a spelling of the directory that leads there by another way is not believed', async () => {
    const { files } = await runWith('cd .. && rm x', { PWD: 'ROOT/../repo-evil/door' }, 'sub');

    expect(files).toEqual(all.filter((file) => file !== './repo/x'));
  });

  test.each([
    ['functions', 'bash -c "id -u"', { 'BASH_FUNC_id%%': '() { echo taken; }' }, /^\d+\n/],
    ['functions of old shells', 'bash -c "id -u"', { id: '() { echo taken; }' }, /^\d+\n/],
    ['options', 'bash -c "echo fine"', { SHELLOPTS: 'xtrace', PS4: '$(echo taken >&2)' }, /^fine\n\nExit code: 0$/],
    ['a start file', 'bash -c "echo fine"', { BASH_ENV: 'ROOT/rc', ENV: 'ROOT/rc' }, /^fine\n\nExit code: 0$/],
    ['a remote login', 'bash -c "echo fine"', { SSH_CLIENT: '::1 1 22', SHLVL: '0' }, /^fine\n\nExit code: 0$/],
    ['an input that is a socket', 'sh -c "cat; readlink /proc/self/fd/0"', {}, /^\/dev\/null\n/],
    ['separators', 'set -- "a b"; printf "%s." $1', { IFS: 'ab' }, /^a\.b\.\n/],
    ['unmatched names', 'bash -c "echo x*"', { GLOBIGNORE: 'x' }, /^x\n/],
    ['another reading of options', 'ls -d x -l', { POSIXLY_CORRECT: '1' }, /^-r.*x\n/],
    ['another shell', 'echo $SHELL', { SHELL: '/usr/bin/fish' }, /^\/bin\/sh\n/],
    [
      'another coding of characters',
      'echo "$LANG.$LC_ALL."',
      { LANG: 'zh_CN.GBK', LC_ALL: 'en_US.UTF-8' },
      /^\.en_US\.UTF-8\.\n/,
    ],
  ] as const)('%s', async (_what, command, env, expected) => {
    expect((await runWith(command, env)).content).toMatch(expected);
  });
});

test('on Windows the shell is the `sh.exe` of the PATH or of Git; without one no command is judged', () => {
  using workspace = createWorkspace();
  const git = workspace.write('Git/cmd/git.exe', '');
  const shell = workspace.write('Git/bin/sh.exe', '');
  const folder = join(git, '..');

  expect(findPosixShell({ Path: `${workspace.root};${folder}` }, 'win32')).toBe(shell);
  expect(findPosixShell({ PATH: `;${join(shell, '..')};${folder}` }, 'win32')).toBe(shell);
  expect(findPosixShell({ PATH: workspace.root }, 'win32')).toBeUndefined();
  expect(findPosixShell({}, 'linux')).toBe('/bin/sh');
});

describe('output of any length', () => {
  test('keeps both ends, cut between characters, and tells what is missing', () => {
    const collector = createOutputCollector();
    for (let index = 0; index < 300; index += 1) collector.add(Buffer.from('€'.repeat(333)).subarray(0, 998));
    const text = collector.text();

    expect(text).toMatch(/\n\n\[\.\.\. \d+ characters omitted \.\.\.\]\n\n/);
    expect(text.startsWith('€')).toBe(true);
  });

  test('a character split over two pieces stays whole; odd bytes become replacement characters', () => {
    const collector = createOutputCollector();
    for (const byte of Buffer.from('a€b')) collector.add(Buffer.from([byte]));
    collector.add(Buffer.from([0xff, 0x0a, 0x20, 0x0a]));

    expect(collector.text()).toBe('a€b\ufffd');
  });

  test('bytes beyond both ends are counted', () => {
    const collector = createOutputCollector();
    collector.add(Buffer.alloc(65_536, 'h'));
    collector.add(Buffer.alloc(100_000, 'm'));
    collector.add(Buffer.alloc(65_536, 't'));
    const text = collector.text();

    // Of 131 072 kept bytes and the note between them 30 000 characters are shown.
    expect(text.startsWith('h'.repeat(15_000))).toBe(true);
    expect(text.endsWith('t'.repeat(15_000))).toBe(true);
  });
});
