import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BeforeToolCall } from '../../src/protocol/hook.ts';
import type { CallId } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { defaultPermissions } from '../../src/protocol/tool.ts';
import { createRunRules, parseRules, type RuleSet, type RuleVerdict } from '../../src/tools/rules.ts';

let root: string;

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'vibe-rules-')));
  await mkdir(join(root, 'docs/deep'), { recursive: true });
  await mkdir(join(root, 'secrets'));
  await mkdir(join(root, 'app/[id]'), { recursive: true });
  await writeFile(join(root, 'secrets/key.pem'), 'x');
  await symlink('secrets', join(root, 'notes'));
  await symlink('../secrets/key.pem', join(root, 'docs/readme.md'));
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

function toCall(tool: string, input: JsonObject): BeforeToolCall {
  const context = {
    workspace_root: root,
    permissions: defaultPermissions,
    agent: 'coder',
    call: '0123456789ab' as CallId,
    signal: new AbortController().signal,
  };
  return { tool, input, context };
}

function judge(set: RuleSet, tool: string, input: JsonObject, role = 'coder'): RuleVerdict {
  return createRunRules([parseRules(set, 'test')], role).judge(toCall(tool, input));
}

const bash = (set: RuleSet, command: string, cwd?: string): RuleVerdict['kind'] =>
  judge(set, 'bash', cwd === undefined ? { command } : { command, cwd }).kind;

describe('precedence', () => {
  test('deny wins over ask, ask over allow, wherever they stand; no rule leaves the call as it is', () => {
    const set = { allow: ['bash'], ask: ['bash(git *)'], deny: ['bash(git push *)'] };

    expect(bash(set, 'ls')).toBe('allow');
    expect(bash(set, 'git status')).toBe('ask');
    expect(judge(set, 'bash', { command: 'git push origin x' })).toEqual({
      kind: 'deny',
      reason: 'denied by the rule `bash(git push *)`',
    });
    expect(judge(set, 'grep', { pattern: 'x' }).kind).toBe('none');
  });

  test('the rules of an agent add to those of all agents and to those of other sources', () => {
    const general = parseRules({ deny: ['bash'], agents: { coder: { allow: ['write_file'] } } }, 'a');
    const ofRun = parseRules({ ask: ['write_file'] }, 'b');

    expect(createRunRules([general], 'coder').judge(toCall('write_file', { path: 'a' })).kind).toBe('allow');
    expect(createRunRules([general], 'planner').judge(toCall('write_file', { path: 'a' })).kind).toBe('none');
    expect(createRunRules([general, ofRun], 'coder').judge(toCall('write_file', { path: 'a' })).kind).toBe('ask');
    expect(createRunRules([general, ofRun], 'planner').judge(toCall('bash', { command: 'ls' })).kind).toBe('deny');
  });

  test.each(['constructor', '__proto__', 'toString'])('`%s` is an agent without rules of its own', (role) => {
    expect(judge({ agents: {} }, 'bash', { command: 'ls' }, role).kind).toBe('none');
  });

  test.each([
    ['mcp__github__*', 'mcp__github__create_issue', true],
    ['mcp__github__*', 'mcp__gitlab__create_issue', false],
    ['*', 'anything', true],
    ['read_file', 'read_file2', false],
    ['*_file', 'write_file', true],
    ['a*c', 'ac', true],
    ['a*bc', 'abc', true],
    ['ab*bc', 'abc', false],
  ])('the name pattern `%s` and the tool `%s`: %s', (rule, tool, isDenied) => {
    expect(judge({ deny: [rule] }, tool, {}).kind).toBe(isDenied ? 'deny' : 'none');
  });

  test.each([
    ['', 'test, list `ask`: `` names no tool'],
    ['(x)', 'names no tool'],
    ['bash(npm', 'has no `)` at its end'],
    ['bash(x) y', 'has no `)` at its end'],
    ['bash()', 'has nothing between its brackets'],
    ['two words', 'is no rule'],
    ['bash)', 'is no rule'],
  ])('`%s` is refused by name', (rule, message) => {
    expect(() => parseRules({ ask: [rule] }, 'test')).toThrow(message);
  });
});

describe('allowing a command', () => {
  const set = { allow: ['bash(npm test*)', 'bash(git log *)', 'bash(sort)', 'bash(timeout *)'] };

  test.each([
    'npm test',
    'npm test -- --watch',
    "npm test 'a b'",
    'npm test 2>&1',
    'npm test > /dev/null',
    'git log',
    'git log --oneline | sort',
    'npm test && git log -3',
    'npm test; npm test a &',
    '(npm test)',
    'if npm test; then git log; fi',
    'timeout 10 npm test',
    'npm test $HOME',
  ])('covers `%s`', (command) => {
    expect(bash(set, command)).toBe('allow');
  });

  test.each([
    'npm test; rm -rf x',
    'npm test && rm x',
    'npm test || rm x',
    'npm test | sh x.sh',
    'npm test & rm x',
    'npm test\nrm x',
    'npm test $(rm x)',
    'npm test `rm x`',
    'npm test "$(rm x)"',
    'npm test <(rm x)',
    'npm test > x',
    'npm test >> package.json',
    'npm test 2> x',
    'npm test &> x',
    'npm test < x',
    'npm test <<EOF\nx\nEOF',
    'FOO=1 npm test',
    'npm_config_script_shell=./x npm test',
    'FOO=1; npm test',
    'for f in a; do npm test; done',
    'npm test ${X:=1}',
    'timeout 10 rm x',
    'timeout 10 sh -c "npm test; rm x"',
    'echo npm test',
    '"npm test"',
    './npm test',
    'npm "test; x"',
    'NPM test',
    ' ',
    "npm test 'unbalanced",
    'cd sub && npm test',
    '! (rm x)',
  ])('never covers `%s`', (command) => {
    expect(bash(set, command)).toBe('none');
  });

  test('in another directory it is a `cd` and the command, which must both be covered', () => {
    expect(bash({ allow: ['bash(npm test)'] }, 'npm test', 'docs')).toBe('none');
    expect(bash({ allow: ['bash(npm test)'] }, 'npm test', '.')).toBe('allow');
    expect(bash({ allow: ['bash(npm test)'] }, 'npm test', join(root, 'docs/..'))).toBe('allow');
    expect(bash({ allow: ['bash(npm test *)', 'bash(cd docs)'] }, 'npm test -x', 'docs')).toBe('allow');
    expect(bash({ allow: ['bash(npm test *)', 'bash(cd docs)'] }, 'npm test -x', 'docs/deep')).toBe('none');
  });

  test('a rule without stars that is the very line allows it, whatever it holds', () => {
    const line = 'cd docs && FOO=1 make > out.txt; echo "*"';

    expect(bash({ allow: [`bash(${line.replace('*', '\\*')})`] }, line)).toBe('allow');
    expect(bash({ allow: [`bash(${line})`] }, line)).toBe('none');
    expect(bash({ allow: ['bash(make)'] }, 'make', 'docs')).toBe('none');
  });
});

describe('denying a command', () => {
  const set = { deny: ['bash(rm *)', 'bash(git push*)', 'bash(*secret*)'] };

  test.each([
    'rm x',
    'rm',
    '/bin/rm x',
    'r""m x',
    "'rm' x",
    '\\rm x',
    'echo a; rm x',
    'ls && rm x',
    'ls | xargs rm',
    'find . -name "*.o" -exec rm {} +',
    'env rm x',
    'timeout 5 rm x',
    'nohup nice rm x',
    'sh -c "rm x"',
    'bash -c "ls; rm x"',
    'eval "rm x"',
    'echo $(rm x)',
    'echo `rm x`',
    'cat <(rm x)',
    '(rm x)',
    '{ rm x; }',
    'if true; then rm x; fi',
    'while false; do rm x; done',
    'for f in a b; do rm "$f"; done',
    '! rm x',
    'git push',
    'git push -f origin x',
    'git "push"',
    'X=push; git $X',
    'git $(echo push)',
    'git $UNKNOWN',
    'cat secrets/key',
    'cat sec""rets/key',
    'echo "my secret"',
  ])('finds it in `%s`', (command) => {
    expect(bash(set, command)).toBe('deny');
  });

  test.each(['ls', 'rmdir x', 'git pull', 'echo rm', 'git log push'])('leaves `%s` alone', (command) => {
    expect(bash(set, command)).toBe('none');
  });

  test.each([
    '$X x',
    'case x in x) rm x;; esac',
    "rm 'x",
    'alias l=rm; l x',
    'f() { rm x; }; f',
    'x\u0000y',
    'sudo rm x',
  ])('refuses `%s`, which cannot be judged, and says why', (command) => {
    const verdict = judge({ deny: ['bash(curl *)'] }, 'bash', { command });

    expect(verdict).toMatchObject({
      kind: 'deny',
      reason: expect.stringContaining('`bash(curl *)` cannot be applied'),
    });
  });

  test('what cannot be judged is asked for under an ask rule, and left alone without rules about arguments', () => {
    expect(bash({ ask: ['bash(git *)'] }, 'case x in x) ls;; esac')).toBe('ask');
    expect(bash({ allow: ['bash'] }, 'case x in x) ls;; esac')).toBe('allow');
    expect(bash({ allow: ['bash(ls *)'] }, 'case x in x) ls;; esac')).toBe('none');
  });
});

describe('paths', () => {
  const kind = (set: RuleSet, tool: string, path: string, more: JsonObject = {}): string =>
    judge(set, tool, { path, ...more }).kind;

  test.each(['docs/a.md', './docs/a.md', 'docs/deep/b.md', 'docs/../docs/a.md', 'app/../docs/x', 'docs//a.md'])(
    '`docs/**` allows `%s`',
    (path) => {
      expect(kind({ allow: ['write_file(docs/**)'] }, 'write_file', path)).toBe('allow');
      expect(kind({ allow: ['write_file(docs/)'] }, 'write_file', path)).toBe('allow');
      expect(kind({ allow: ['write_file(./docs/**)'] }, 'write_file', join(root, path))).toBe('allow');
      expect(kind({ allow: [`write_file(${root}/docs/**)`] }, 'write_file', path)).toBe('allow');
    },
  );

  test.each([
    'docs/../secrets/key.pem',
    'docsx/a.md',
    'a/docs/b.md',
    '/docs/a.md',
    '../docs/a.md',
    'Docs/a.md',
    'docs/readme.md',
    '',
  ])('`docs/**` does not allow `%s`', (path) => {
    expect(kind({ allow: ['read_file(docs/**)'] }, 'read_file', path)).toBe('none');
  });

  test.each([
    'secrets/key.pem',
    './secrets/../secrets/key.pem',
    'SECRETS/Key.pem',
    'secrets',
    'notes/key.pem',
    'docs/readme.md',
    '"secrets/key.pem"',
    '"secrets\\057key.pem"',
  ])('`secrets/**` denies `%s`, also behind a link', (path) => {
    expect(kind({ deny: ['read_file(secrets/**)'] }, 'read_file', path)).toBe('deny');
    expect(kind({ deny: ['*(secrets)'] }, 'read_file', path)).toBe('deny');
    expect(kind({ deny: [`read_file(${root}/secrets/)`] }, 'read_file', path)).toBe('deny');
  });

  test('a tool that walks is denied where it would come across what a rule is about', () => {
    const set = { deny: ['*(secrets/**)'] };

    expect(judge(set, 'grep', { pattern: 'x' }).kind).toBe('deny');
    expect(kind(set, 'list_dir', '.')).toBe('deny');
    expect(kind(set, 'list_dir', 'notes')).toBe('deny');
    expect(kind(set, 'grep', 'docs')).toBe('none');
    expect(kind({ deny: ['grep(**/*.pem)'] }, 'grep', 'docs')).toBe('deny');
    expect(kind({ deny: ['grep(docs/deep/**)'] }, 'grep', 'docs')).toBe('deny');
    expect(kind(set, 'glob', '.', { pattern: 'secrets/*' })).toBe('deny');
    expect(judge(set, 'glob', { pattern: '**/*' }).kind).toBe('deny');
    expect(kind({ allow: ['grep(**)'] }, 'grep', '.')).toBe('allow');
    expect(kind({ allow: ['grep(docs/**)'] }, 'grep', 'docs')).toBe('allow');
    expect(kind({ allow: ['grep(docs/**)'] }, 'grep', '.')).toBe('none');
  });

  test('a pattern of the workspace says nothing about the rest of the machine', () => {
    expect(kind({ allow: ['read_file(**)'] }, 'read_file', '/etc/passwd')).toBe('none');
    expect(kind({ deny: ['read_file(/etc/**)'] }, 'read_file', '/etc/passwd')).toBe('deny');
  });
});

describe('addresses', () => {
  const fetched = (set: RuleSet, url: string): string => judge(set, 'web_fetch', { url }).kind;

  test.each([
    ['docs.example.com', 'https://docs.example.com/a?b=c', true],
    ['docs.example.com', 'http://DOCS.example.com', true],
    ['docs.example.com', 'https://docs.example.com:8443/', false],
    ['docs.example.com:*', 'https://docs.example.com:8443/', true],
    ['docs.example.com', 'https://docs.example.com.evil.net/', false],
    ['docs.example.com', 'https://docs.example.com@evil.net/', false],
    ['docs.example.com', 'https://user@docs.example.com/', false],
    ['docs.example.com', 'https://evil.net/docs.example.com', false],
    ['*.example.com', 'https://evil.net/x.example.com', false],
    ['*.example.com', 'https://evil.net#.example.com', false],
    ['*.example.com', 'https://a.b.example.com/', true],
    ['*.example.com', 'https://example.com/', false],
    ['https://docs.example.com/api/*', 'https://docs.example.com/api/../admin', false],
    ['https://docs.example.com/api/*', 'http://docs.example.com/api/x', false],
    ['https://docs.example.com/api/*', 'https://docs.example.com/api/x', true],
    ['bücher.example', 'https://xn--bcher-kva.example/', true],
    ['*', 'ftp://example.com/', false],
  ])('allowing `%s` and `%s`: %s', (pattern, url, isAllowed) => {
    expect(fetched({ allow: [`web_fetch(${pattern})`] }, url)).toBe(isAllowed ? 'allow' : 'none');
  });

  test.each(['https://evil.net', 'https://EVIL.net./x', 'https://x:y@evil.net:8080/', 'not an address'])(
    'denying `evil.net` finds `%s`',
    (url) => {
      expect(fetched({ deny: ['web_fetch(evil.net)'] }, url)).toBe('deny');
    },
  );

  test('a denied path is found in every spelling a server may accept', () => {
    const set = { deny: ['web_fetch(example.com/admin*)'] };

    expect(fetched(set, 'https://example.com/%61dmin/x')).toBe('deny');
    expect(fetched(set, 'https://example.com/Admin')).toBe('deny');
    expect(fetched(set, 'https://example.com/a/%2e%2e/admin')).toBe('deny');
    expect(fetched(set, 'https://example.com/about')).toBe('none');
  });
});

describe('inputs of other tools', () => {
  const input = { repo: 'acme/web', title: 'Hello', labels: ['bug'] };

  test('are allowed by a named property or as a whole', () => {
    expect(judge({ allow: ['mcp__gh__*(repo=acme/*)'] }, 'mcp__gh__create', input).kind).toBe('allow');
    expect(judge({ allow: ['mcp__gh__*(repo=other/*)'] }, 'mcp__gh__create', input).kind).toBe('none');
    expect(judge({ allow: ['mcp__gh__*(acme/*)'] }, 'mcp__gh__create', input).kind).toBe('none');
    expect(judge({ allow: ['look(acme/*)'] }, 'look', { what: 'acme/x' }).kind).toBe('allow');
    const exact = '{"labels":["bug"],"repo":"acme/web","title":"Hello"}';
    expect(judge({ allow: [`create(${exact})`] }, 'create', input).kind).toBe('allow');
  });

  test('are denied by any text in them', () => {
    expect(judge({ deny: ['create(acme/*)'] }, 'create', input).kind).toBe('deny');
    expect(judge({ deny: ['create(bug)'] }, 'create', input).kind).toBe('deny');
    expect(judge({ deny: ['create(repo=acme/*)'] }, 'create', input).kind).toBe('deny');
    expect(judge({ deny: ['create(title=acme/*)'] }, 'create', input).kind).toBe('none');
  });

  test('a tool that took the name of a built-in one but not its input is judged the same way', () => {
    expect(judge({ deny: ['read_file(secrets/*)'] }, 'read_file', { file: 'secrets/key' }).kind).toBe('deny');
    expect(judge({ allow: ['bash(ls)'] }, 'bash', { command: ['ls'] }).kind).toBe('none');
  });

  test('an input too deep to be written down is denied, not an exception', () => {
    let deep: JsonObject = {};
    for (let level = 0; level < 20_000; level += 1) deep = { deep };

    expect(judge({ deny: ['create(x)'] }, 'create', deep)).toMatchObject({ kind: 'deny' });
  });
});

describe('rules that are added while a run goes on', () => {
  test('the rule for this very call means it and no other', () => {
    const rules = createRunRules([], 'coder');
    const calls = [
      [toCall('bash', { command: 'echo "*" > x' }), toCall('bash', { command: 'echo "a" > x' })],
      [toCall('bash', { command: 'make', cwd: 'docs' }), toCall('bash', { command: 'make' })],
      [toCall('write_file', { path: 'app/[id]/p.tsx', content: '' }), toCall('write_file', { path: 'app/i/p.tsx' })],
      [toCall('web_fetch', { url: 'https://a.example/x*' }), toCall('web_fetch', { url: 'https://a.example/xy' })],
      [toCall('create', { a: 'x', b: ['*'] }), toCall('create', { a: 'x', b: ['y'] })],
    ] as const;

    for (const [call, other] of calls) {
      expect(rules.isGranted(call)).toBe(false);
      rules.grant(rules.exactRule(call));
      expect(rules.isGranted(call), rules.exactRule(call)).toBe(true);
      expect(rules.isGranted(other), rules.exactRule(call)).toBe(false);
    }
  });

  test('an unreadable rule is refused', () => {
    expect(() => createRunRules([], 'coder').grant('bash(')).toThrow('has no `)`');
  });
});
