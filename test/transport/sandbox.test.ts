import { describe, expect, test } from 'vitest';
import { isSandboxFailure, toConfinedLine } from '../../src/transport/sandbox.ts';
import {
  installationOf,
  systemFolders,
  toCommandProfile,
  toServerProfile,
} from '../../src/transport/sandbox-profile.ts';

const line = { program: '/usr/bin/node', args: ['a b', '--x'] };
const home = '/home/ada';

function bwrapOf(profile: Parameters<typeof toConfinedLine>[1]): string {
  return toConfinedLine('bwrap', profile, line).args.join(' ');
}

describe('an MCP server (mcp-host 13.3)', () => {
  const profile = toServerProfile({
    scratch: '/data/scratch',
    home,
    programs: ['/home/ada/.nvm/v20/bin/node', '/usr/bin/python3'],
    toolchain: ['/home/ada/.npm'],
    read: ['/srv/docs'],
    write: ['/srv/out'],
  });

  test('gets the namespaces, the mounts and the folders of the contract', () => {
    const text = bwrapOf(profile);

    expect(text).toMatch(
      /^--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --die-with-parent --new-session --proc \/proc --dev \/dev --tmpfs \/tmp /,
    );
    for (const path of [
      '/usr',
      '/bin',
      '/sbin',
      '/lib',
      '/lib64',
      '/etc/ssl',
      '/home/ada/.nvm/v20',
      '/home/ada/.npm',
      '/srv/docs',
    ]) {
      expect(text).toContain(`--ro-bind-try ${path} ${path}`);
    }
    expect(text).toContain('--bind /srv/out /srv/out --bind /data/scratch /data/scratch');
    expect(text).toContain('--setenv HOME /data/scratch --setenv TMPDIR /data/scratch --chdir /data/scratch');
  });

  test('keeps the network, and sees neither all of /etc nor a home folder', () => {
    const text = bwrapOf(profile);

    expect(text).not.toContain('--unshare-net');
    expect(text).not.toContain('--unshare-all');
    expect(text).not.toMatch(/ \/etc \/etc | \/home \/home | \/home\/ada \/home\/ada /);
    expect(systemFolders).not.toContain('/etc');
  });

  test('keeps its arguments as they are, behind the end of the options', () => {
    const { args } = toConfinedLine('bwrap', profile, line);

    expect(args.slice(args.indexOf('--') + 1)).toEqual([
      '/bin/sh',
      '-c',
      expect.any(String),
      '/bin/sh',
      '/usr/bin/node',
      'a b',
      '--x',
    ]);
  });
});

describe('a command of the bash tool', () => {
  const options = { workspace: '/srv/project', cwd: '/srv/project/src', home, network: false };

  test('gets no network, no capabilities, no further namespaces and a home of its own', () => {
    const text = bwrapOf(toCommandProfile(options));

    expect(text).toContain('--unshare-all --unshare-user --disable-userns --cap-drop ALL');
    expect(text).not.toContain('--share-net');
    expect(text).toContain('--tmpfs /tmp --tmpfs /home --tmpfs /root --tmpfs /home/ada');
    expect(text).toContain('--dir /tmp/home --setenv HOME /tmp/home');
    expect(text).toContain('--chdir /srv/project/src -- /usr/bin/node');
  });

  test('gets the network when its agent may use it', () => {
    expect(bwrapOf(toCommandProfile({ ...options, network: true }))).toContain('--share-net');
  });

  test('writes to the workspace, but not to what lies on top of it', () => {
    expect(bwrapOf(toCommandProfile(options))).toContain(
      [
        '--bind /srv/project /srv/project --bind-try /srv/project/.git /srv/project/.git',
        ...['.vibe', '.git/hooks', '.git/config', '.git/modules', '.git/worktrees'].map(
          (name) => `--ro-bind-try /srv/project/${name} /srv/project/${name}`,
        ),
      ].join(' '),
    );
  });
});

test.each([
  ['/usr/bin/node', '/usr'],
  ['/opt/node/bin/node', '/opt/node'],
  ['/opt/tool/run', '/opt/tool'],
  ['/home/ada/.nvm/v20/bin/node', '/home/ada/.nvm/v20'],
  ['/home/ada/.local/bin/uvx', '/home/ada/.local/bin'],
  ['/home/ada/bin/tool', '/home/ada/bin'],
  ['/bin/sh', '/bin'],
  ['/home/bin/tool', '/home/bin'],
])('what belongs to %s is %s', (program, folder) => {
  expect(installationOf(program, home)).toBe(folder);
});

describe('on macOS', () => {
  const profile = toCommandProfile({
    workspace: '/Users/ada/p "x"',
    cwd: '/Users/ada/p "x"',
    home: '/Users/ada',
    network: false,
  });

  test('writes are denied but for the workspace, reads below the home folder but for what is visible', () => {
    const { program, args } = toConfinedLine('sandbox-exec', profile, line);
    const rules = args[1]?.split('\n');

    expect(program).toBe('/usr/bin/sandbox-exec');
    expect(rules?.slice(0, 3)).toEqual(['(version 1)', '(allow default)', '(deny file-write*)']);
    expect(rules?.[3]).toContain('(subpath "/Users/ada/p \\"x\\"")');
    expect(rules).toContain('(deny file-read* (subpath "/Users/ada"))');
    expect(rules?.at(-1)).toBe('(deny network*)');
    expect(args.slice(2)).toEqual(['/usr/bin/env', 'HOME=/tmp/home', 'TMPDIR=/tmp', '/usr/bin/node', 'a b', '--x']);
  });

  test('what is kept is denied after the workspace is allowed, because the last rule wins', () => {
    const rules = toConfinedLine('sandbox-exec', profile, line).args[1]?.split('\n') ?? [];
    const allowed = rules.findIndex((rule) => rule.startsWith('(allow file-write*'));
    const denied = rules.findIndex((rule) => rule.startsWith('(deny file-write* (subpath'));

    expect(denied).toBeGreaterThan(allowed);
    expect(rules[denied]).toContain('/.git/hooks');
  });
});

test.each<[string, number | null, readonly string[], boolean]>([
  ['the backend complains and nothing else', 1, ["bwrap: Can't bind mount /x: No such file or directory"], true],
  ['the program is not visible inside', 1, ['bwrap: execvp /x: No such file or directory'], false],
  ['the program prints the complaint itself', 1, ['confined', "bwrap: Can't bind mount"], false],
  ['the program floods the announcement away', 1, ["bwrap: Can't bind", "bwrap: Can't bind"], false],
  ['the program fails in its own way', 1, ['Error: no config'], false],
  ['the program ends well', 0, ['bwrap: x'], false],
  ['the program is killed', null, ['bwrap: x'], false],
  ['nothing was said', 1, [], false],
])('a failure of the confinement: %s', (_, code, tail, expected) => {
  expect(isSandboxFailure(code, tail)).toBe(expected);
});
