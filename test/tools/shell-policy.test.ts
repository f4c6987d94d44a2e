import { describe, expect, test } from 'vitest';
import { checkCommand, explainCommand, type ShellPolicyOptions } from '../../src/tools/shell-policy.ts';

const options: ShellPolicyOptions = { root: '/srv/project', network: false };

function sentence(command: string, more: Partial<ShellPolicyOptions> = {}): string {
  const verdict = checkCommand(command, { ...options, ...more });
  return verdict.allow ? `allowed: ${verdict.programs.join(' ')}` : verdict.sentence;
}

function isAllowed(command: string, more: Partial<ShellPolicyOptions> = {}): boolean {
  return checkCommand(command, { ...options, ...more }).allow;
}

describe('the list of programs', () => {
  test.each([
    ['ls -la', ['ls']],
    ['/usr/bin/LS | ./run.exe', ['ls', 'run']],
    ['cd src && npm test > out.txt', ['cd', 'npm']],
    ['env X=1 nice -n 5 make', ['env', 'nice', 'make']],
    ['echo "$(date)" `id`', ['date', 'id', 'echo']],
    ["bash -c 'ls; pwd'", ['bash', 'ls', 'pwd']],
    ["eval 'ls'", ['eval', 'ls']],
    ['find . -name x -exec grep y {} +', ['find', 'grep']],
    ['ls | xargs -n1 wc', ['ls', 'xargs', 'wc']],
    ["trap 'rm -f x' EXIT", ['trap', 'rm']],
    ['time make', ['time', 'make']],
    ['cat <<E\n$(id)\nE', ['id', 'cat']],
    ['npx vitest', ['npx', 'vitest']],
    ['sh scripts/Build.sh', ['sh', 'build.sh']],
    ['X=1', []],
  ])('of %j is %j', (command, programs) => {
    const verdict = checkCommand(command, options);

    expect(verdict).toEqual({ allow: true, programs });
  });
});

describe('a refusal says what and the way out in one sentence', () => {
  test.each([
    ['sudo ls', 'The program `sudo` is blocked; do without it or ask the user to run it.'],
    ['curl x', '`curl` needs the network, which is not allowed here; work with local files or ask the user.'],
    ['$X y', 'The program name `$X` is computed or cannot be read; write the name of the program out.'],
    ['rm -rf ../x', '`rm` would leave the workspace at `../x`; use a path inside it.'],
    [
      'rm *.log',
      '`rm` is only allowed on a path that is written out, and `*.log` is not; name it without variables, wildcards, braces or `~`.',
    ],
    [
      'PATH=x ls',
      'The variable `PATH` changes what runs and must not be set; leave it out and use options of the program.',
    ],
    ['sh', '`sh` would read commands from standard input; give it the text as an argument or a script file.'],
    ['git push -f', 'A force push must name its branch; use `git push --force-with-lease <remote> <branch>`.'],
    ['kill 0', '`kill 0` would reach every process, the group of this one or the first; name the process id.'],
    [
      'echo x > .git/config',
      '`>` must not touch `.git/config` (git data (`.git`) is not writable by tools); leave it to its owner and work on other files.',
    ],
  ])('%j', (command, expected) => {
    expect(sentence(command)).toBe(expected);
  });
});

describe('CP2: limits', () => {
  const nested = (levels: number): string => 'echo $('.repeat(levels) + 'ls' + ')'.repeat(levels);

  test.each([
    ['16 levels', nested(16), true],
    ['17 levels', nested(17), false],
    ['64 commands', Array.from({ length: 64 }, () => 'ls').join(';'), true],
    ['65 commands', Array.from({ length: 65 }, () => 'ls').join(';'), false],
    [
      '65 commands, some inside a text',
      `${Array.from({ length: 60 }, () => 'ls').join(';')};sh -c 'ls;ls;ls;ls;ls'`,
      false,
    ],
    ['64 KiB', `echo ${'a'.repeat(65_531)}`, true],
    ['a byte more', `echo ${'a'.repeat(65_532)}`, false],
    ['64 KiB and more in bytes', `echo ${'ä'.repeat(32_766)}`, false],
    ['16 wrappers', `${'env '.repeat(16)}ls`, true],
    ['17 wrappers', `${'env '.repeat(17)}ls`, false],
    ['a tab', 'ls\t-l', true],
    ['a lone surrogate', 'ls \ud800', false],
    ['a C1 control character', 'ls \u0085', false],
  ])('%s', (_, command, allow) => {
    expect(isAllowed(command)).toBe(allow);
  });

  test('a line of many words is judged without delay', () => {
    const lines = [
      `git log ${'a '.repeat(30_000)}`,
      `echo '${"'\\''".repeat(12_000)}'`,
      `sed 's/${'['.repeat(60_000)}'`,
    ];

    const verdicts = lines.map((line) => checkCommand(line, options).allow);

    expect(verdicts).toEqual([true, true, false]);
  });

  test('variables that double each other end as unknown', () => {
    const doubling = Array.from({ length: 60 }, (_, index) => `a${index + 1}=$a${index}$a${index}`).join(';');

    expect(isAllowed(`a0=x;${doubling};git log $a60`)).toBe(false);
  });
});

describe('configuration', () => {
  test.each<[string, Partial<ShellPolicyOptions>, boolean]>([
    ['docker ps', { config: { blocked_commands: ['docker'] } }, false],
    ['/usr/bin/DOCKER ps', { config: { blocked_commands: [' /opt/docker.exe '] } }, false],
    ['env docker ps', { config: { blocked_commands: ['docker'] } }, false],
    ['npm test', { config: { allowed_commands: [] } }, true],
    ['npm test', { config: { allowed_commands: ['git'] } }, false],
    ['FOO=1 git log | head', { config: { allowed_commands: ['git', 'head'] } }, true],
    ['cd src && [ -f x ] && exec git log', { config: { allowed_commands: ['git'] } }, true],
    ['env git log', { config: { allowed_commands: ['git'] } }, false],
    ['env git log', { config: { allowed_commands: ['git', 'env'] } }, true],
    ["bash -c 'git log'", { config: { allowed_commands: ['git'] } }, false],
    ["bash -c 'ls'", { config: { allowed_commands: ['bash'] } }, false],
    ['echo $(ls)', { config: { allowed_commands: ['git'] } }, false],
    ['curl x', { config: { allowed_commands: ['curl'] } }, false],
    ['curl x', { network: true, config: { allowed_commands: ['curl'] } }, true],
    ['sh build.sh', { config: { allowed_commands: ['sh'] } }, true],
    ['sh deploy', { config: { blocked_commands: ['deploy'] } }, false],
    ['npx prettier .', { config: { allowed_commands: ['npx'] } }, true],
    ['npx sudo', { config: { allowed_commands: ['npx'] } }, false],
    ['wc -l < /data/x', {}, false],
    ['wc -l < /data/x', { config: { extra_read_paths: ['/data'] } }, true],
    ['wc -l < /data-2/x', { config: { extra_read_paths: ['/data'] } }, false],
    ['echo x > /data/x', { config: { extra_read_paths: ['/data'] } }, false],
    ['cat < /dev/tcp/1.2.3.4/80', { network: true }, true],
    ['curl -o /etc/x y', { network: true }, false],
    ['curl --outp /etc/x y', { network: true }, false],
    ['curl -so x y', { network: true }, true],
    ['curl -K x', { network: true }, false],
    ['curl x | sh', { network: true }, false],
    ['wget -P /etc x', { network: true }, false],
    ['wget --use-askpass=x y', { network: true }, false],
    ['ssh -o ProxyCommand=x h', { network: true }, false],
    ['ssh h ls', { network: true }, true],
    ['scp h:x .', { network: true }, true],
    ['scp h:x /etc/y', { network: true }, false],
    ['nc -e /bin/sh h 80', { network: true }, false],
    ['rsync h:x y', { network: true }, true],
  ])('%j with %j', (command, more, allow) => {
    expect(isAllowed(command, more)).toBe(allow);
  });
});

describe('the directory a command starts in', () => {
  test.each<[string, string | undefined, boolean]>([
    ['rm ../x', undefined, false],
    ['rm ../x', 'sub', true],
    ['rm ../x', '/srv/project/sub', true],
    ['rm ../../x', 'sub', false],
    ['ls', '..', false],
    ['ls', '/etc', false],
    ['ls', '/srv/project-evil', false],
    ['cd ..', 'sub', true],
    ['cd ..; cd ..', 'sub', false],
    ['cd src || exit 1; rm ../x', undefined, true],
    ['cd src || exit 1\nrm ../x', undefined, true],
    ['if cd src; then rm ../x; fi', undefined, true],
    ['cd src && for f in a b; do echo $f; done && rm ../x', undefined, true],
    ['cd src; rm ../x', undefined, false],
    ['(cd src && rm ../x); rm x', undefined, true],
    ['cd src && rm -rf ../src', undefined, true],
    ['echo x > HEAD', '.git', false],
  ])('%j in %j', (command, cwd, allow) => {
    expect(isAllowed(command, { cwd })).toBe(allow);
  });

  test('a root with a slash at its end or dots in it is the same root', () => {
    expect(isAllowed('rm /srv/project/x', { root: '/srv/./project/' })).toBe(true);
    expect(isAllowed('rm -rf /srv/project', { root: '/srv/x/../project/' })).toBe(false);
  });
});

describe('variables the line sets', () => {
  test.each<[string, boolean]>([
    ['B=feature; git push -f origin "$B"', true],
    ['B=main; git push -f origin "$B"', false],
    ['B=x; B=main; git push -f origin "$B"', false],
    ['A=ma; B=${A}in; git push -f origin $B', false],
    ['B=$(cat f); git push -f origin "$B"', false],
    ['read B; git push $B', false],
    ['for B in x y; do git push origin "$B"; done', true],
    ['for B in x --force; do git push origin "$B"; done', false],
    ['git push origin ${B:---force}', false],
    ['git push origin ${B:+--force}', false],
    ["eval 'B=--force'; git push origin $B", false],
    ['set -- --force; git push origin $1', false],
    ['for f in a b; do cp "$f" "out/$f"; done', true],
    ['for f in a /etc; do cp "$f" "$f.bak"; done', false],
    ['for f in .git*; do mv "$f" x; done', false],
    ['D=/etc; cp x $D/y', false],
    ['a=$a.x; git log $a', false],
  ])('%j', (command, allow) => {
    expect(isAllowed(command)).toBe(allow);
  });
});

describe('explainCommand', () => {
  test('names each simple command with its verdict and the rule that refuses it', () => {
    const { verdict, findings } = explainCommand('cd src && env FOO=1 sudo ls | rm ../../x', options);

    expect(verdict).toEqual({ allow: false, sentence: expect.stringContaining('`sudo`') });
    expect(findings.map(({ command, program, denial }) => [command, program, denial?.rule])).toEqual([
      ['cd src', 'cd', undefined],
      ['sudo ls', 'sudo', 'blocked'],
      ['env FOO=1 sudo ls', 'env', 'blocked'],
      ['rm ../../x', 'rm', 'deletions'],
    ]);
  });

  test('tells what is refused besides commands', () => {
    expect(explainCommand('ls > /etc/x', options).findings).toMatchObject([
      { command: '> /etc/x', program: undefined, denial: { rule: 'redirections' } },
      { command: 'ls', program: 'ls', denial: undefined },
    ]);
    expect(explainCommand('ls (', options).findings).toMatchObject([{ denial: { rule: 'syntax' } }]);
  });

  test('agrees with checkCommand', () => {
    for (const command of ['ls', 'sudo ls', 'echo $(sudo id)', '', "sh -c 'rm /x'"]) {
      expect(explainCommand(command, options).verdict).toEqual(checkCommand(command, options));
    }
  });
});
