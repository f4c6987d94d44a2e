import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCommandLine } from './built.ts';
import { openStage, type Stage } from './command.ts';
import { callCommandLine, commandTable } from './in-process.ts';

// the first build may take longer than a test may
beforeAll(async () => void (await buildCommandLine()), 180_000);

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

/** Every command with its full name, from the table itself. */
function listCommands(): string[][] {
  return commandTable().flatMap((command) => [
    [command.name()],
    ...command.commands.map((inner) => [command.name(), inner.name()]),
  ]);
}

test('the table holds the commands of the contract', () => {
  const names = new Set(listCommands().map(([first]) => first));

  expect([...names]).toEqual(
    expect.arrayContaining(['run', 'agents', 'tools', 'plugins', 'config', 'doctor', 'trust', 'completion']),
  );
});

describe('every command has --help', () => {
  test.each(listCommands())('vibe-bus %s %s', async (...command) => {
    const words = command.filter((word) => typeof word === 'string');

    const { code, out, err } = await callCommandLine([...words, '--help'], stage);

    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(`Usage: vibe-bus ${words.join(' ')}`);
  });
});

test('the version is that of the package', async () => {
  const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };

  expect((await stage.run(['--version'])).out).toBe(`${manifest.version}\n`);
});

test.each([
  [['frobnicate'], 'error: unknown command `frobnicate`; there are run,'],
  [['run'], "error: missing required argument 'task'"],
  [['run', '  '], 'error: the task is empty'],
  [['run', '--wat', 'x'], "error: unknown option '--wat'"],
  [['run', '--max-tokens', 'many', 'x'], 'error: `many` is not a whole number above 0'],
  [['run', '--max-cost', '-1', 'x'], 'error: `-1` is not an amount above 0'],
  [['run', '-a', 'nobody', 'x'], 'error: there is no agent `nobody`; there are complexity_assessor,'],
  [['run', '-C', 'missing', 'x'], 'missing is not a folder'],
  [['plugins'], 'error: `vibe-bus plugins` needs a command; there are list, test, call'],
  [['plugins', 'frob'], 'error: `vibe-bus plugins` has no command `frob`'],
  [['plugins', 'test', 'nope'], 'error: there is no plugin `nope`; declared here: none'],
  [['plugins', 'call', 'a', 'b', '[1]'], 'error: the input of a tool is a JSON object'],
  [['agents', 'show', 'nobody'], 'error: there is no agent `nobody`'],
  [['trust', '--show', '--revoke'], 'error: use only one of --show, --revoke and --yes'],
  [['completion', 'tcsh'], 'error: no completion for `tcsh`; there is one for bash, zsh and fish'],
])('%j is refused with exit code 2 and one sentence', async (args, message) => {
  const { code, out, err } = await callCommandLine(args, stage);

  expect(err).toContain(message);
  expect({ code, out }).toEqual({ code: 2, out: '' });
});

test.each(['bash', 'zsh', 'fish'])('the completion for %s knows all commands', async (shell) => {
  const { code, out } = await callCommandLine(['completion', shell], stage);

  expect(code).toBe(0);
  for (const [name = ''] of listCommands()) expect(out).toContain(name);
});

test('the exit codes reach the shell', async () => {
  const usage = await stage.run(['frobnicate']);
  await stage.write('.vibe/config.toml', 'model = ');
  const failed = await stage.run(['config', 'show']);

  expect([usage.code, failed.code]).toEqual([2, 1]);
});
