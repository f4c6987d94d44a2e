import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { openStage, scriptedConfig } from './command.ts';
import { useStage } from './stage.ts';

const stage = useStage();

test('without a key the variable to set can be found', async () => {
  const { code, err } = await stage.run(['run', 'work']);

  expect(code).toBe(1);
  expect(err).toBe(
    'error: no API key configured for provider `anthropic` (set `api_key` or `api_key_env`)\n' +
      '  Set the key of the provider (`vibe-bus doctor` names the variable), or choose another one with `--model provider/model`.\n',
  );
});

test('a model server that cannot be reached is a network error with the way out', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  await stage.configure(`model = "local/m"
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:${port}/v1"
[limits]
max_provider_retries = 0
`);

  const { code, err } = await stage.run(['run', 'work']);

  expect(code).toBe(1);
  expect(err).toMatch(/^error: connection failed: .*\n {2}Check that the model server is running and reachable/m);
}, 60_000);

test('an unknown provider is named with those that are configured', async () => {
  await stage.configure(scriptedConfig([{ text: 'x' }]));

  const { code, err } = await stage.run(['run', '--model', 'nobody/x', 'work']);

  expect(code).toBe(1);
  expect(err).toMatch(/^error: unknown provider `nobody` for model `nobody\/x` \(configured: scripted\)\n/);
});

test('a broken configuration ends before anything starts, with its place', async () => {
  await stage.write('.vibe/config.toml', 'model = "a"\nmodel = "b"\n');

  const { code, out, err } = await stage.run(['run', 'work']);

  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/^error: .*config\.toml:2:1: TOML error: .*\n {2}Correct the file/);
});

test('a folder in no git repository is refused with both ways out', async () => {
  await using loose = await openStage({ git: false });
  await loose.configure(scriptedConfig([{ text: 'done' }]));

  const refused = await loose.run(['run', 'work']);
  const allowed = await loose.run(['run', '--no-git', 'work']);

  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/^error: .* is not in a git repository, .*; run `git init` there, or add --no-git\n$/);
  expect(allowed.code).toBe(0);
});

test('the doctor reports all of it, one line each, and fails when something will not work', async () => {
  await stage.write(
    '.vibe/config.toml',
    '[[plugins]]\nname = "lost"\ncommand = ["no-such-program"]\nrequired = true\n',
  );
  const untrusted = await stage.run(['doctor']);
  await stage.run(['trust', '--yes']);
  const trusted = await stage.run(['doctor', '--json'], { ANTHROPIC_API_KEY: 'canary' });

  expect(untrusted.code).toBe(0);
  expect(untrusted.out).toMatch(/^ok {4}node {16}\d/m);
  expect(untrusted.out).toMatch(/^warn {2}provider anthropic {2}no key; set ANTHROPIC_API_KEY$/m);
  expect(untrusted.out).toMatch(/^ok {4}provider ollama {5}needs no key$/m);
  expect(untrusted.out).toMatch(/^ok {4}worker threads {6}first answer after \d+ ms$/m);
  expect(untrusted.out).toMatch(/^warn {2}plugin lost {9}not trusted, not started; run `vibe-bus trust`$/m);
  expect(trusted.code).toBe(1);
  expect(trusted.out).not.toContain('canary');
  expect(JSON.parse(trusted.out)).toEqual(
    expect.arrayContaining([
      { state: 'ok', name: 'provider anthropic', text: 'key found in ANTHROPIC_API_KEY' },
      expect.objectContaining({ state: 'fail', name: 'plugin lost' }),
    ]),
  );
});

test('a broken configuration is one finding of the doctor', async () => {
  await stage.write('.vibe/config.toml', 'frob = 1\n');

  const { code, out } = await stage.run(['doctor']);

  expect(code).toBe(1);
  expect(out).toMatch(/^FAIL {2}configuration {2}.*config\.toml:1:1: unknown key `frob`; correct the file/m);
});

test('the shell policy is explained without running anything', async () => {
  const allowed = await stage.run(['doctor', '--explain', 'git status']);
  const denied = await stage.run(['doctor', '--explain', 'git status; rm -rf /']);

  expect(allowed.code).toBe(0);
  expect(allowed.out).toBe('allowed  git status\nThe command may run.\n');
  expect(denied.code).toBe(1);
  expect(denied.out).toMatch(/^allowed {2}git status\ndenied {3}rm -rf \/: .*\nThe command is denied\. /);
});

test('a command inside another is explained by itself, and the other one by it', async () => {
  const { code, out } = await stage.run(['doctor', '--explain', "env A=1 sh -c 'ls; sudo id' && sudo ls"]);

  const sentence = 'The program `sudo` is blocked; do without it or ask the user to run it.';
  expect(code).toBe(1);
  expect(out.split('\n')).toEqual([
    'allowed  ls',
    `denied   sudo id: ${sentence}`,
    'denied   sh -c ls; sudo id: because of what it runs',
    'denied   env A=1 sh -c ls; sudo id: because of what it runs',
    `denied   sudo ls: ${sentence}`,
    `The command is denied. ${sentence}`,
    '',
  ]);
});

test.each([
  [
    "ls 'a",
    /^denied {3}ls 'a: The command cannot be understood \(unterminated single quote\); check its quotes and brackets\.\nThe command is denied\. /,
  ],
  ['', /^The command is denied\. The command is empty; give the command line to run\.\n$/],
  ['   ', /^The command is denied\. The command is empty; give the command line to run\.\n$/],
])('a command that is none is explained: %j', async (command, expected) => {
  const { code, out } = await stage.run(['doctor', '--explain', command]);

  expect(code).toBe(1);
  expect(out).toMatch(expected);
});
