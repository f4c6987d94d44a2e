import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openStage, scriptedConfig } from './command.ts';
import { hasTerminals, runInTerminal } from './terminal.ts';
import { useStage } from './stage.ts';

const posix = test.skipIf(process.platform === 'win32');

const stage = useStage();

beforeEach(async () => {
  await stage.write('a.txt', 'hello\n');
});

const use = (id: string, name: string, input: object): object => ({ id, name, input });
const read = use('1', 'read_file', { path: 'a.txt' });
const bash = (command: string): object => ({ tool_calls: [use('9', 'bash', { command })] });

test('a run shows its steps, calls with duration and place, the text and a summary', async () => {
  await stage.configure(
    scriptedConfig([
      { text: 'I look first.', tool_calls: [read, use('2', 'grep', { pattern: 'hello' })] },
      bash('echo hi'),
      { text: 'All done.' },
    ]),
  );

  const { code, out, err } = await stage.run(['run', 'look', 'around']);

  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^coder · script · run [0-9a-f-]{36}\nstep 1\n {2}I look first\.\n/);
  expect(out).toMatch(/ {2}✓ read_file a\.txt · \d+ ms · worker thread \d+\n/);
  expect(out).toMatch(/ {2}✓ grep hello · \d+ ms · worker thread \d+\n/);
  expect(out).toMatch(
    /step 2\n {2}→ bash echo hi\n {2}✓ bash echo hi · \d+ ms · child process\nstep 3\n {2}All done\.\n/,
  );
  expect(out).toMatch(/\ncompleted · 3 steps · 3 tool calls · 30 tokens in, 15 out · \d+\.\d s\n$/);
});

test('the summary tells what was read from the cache, and what the tokens cost when a price is known', async () => {
  const usage = { input_tokens: 1_000, output_tokens: 100, cache_read_tokens: 20_000 };
  const config = scriptedConfig([
    { text: 'first', tool_calls: [read], usage },
    { text: 'done', usage },
  ]);
  await stage.configure(config);
  const unpriced = await stage.run(['run', 'look']);
  await stage.configure(`${config}\n[prices.script]\ninput = 2\noutput = 10\ncache_read = 0.2\n`);
  const priced = await stage.run(['run', 'look']);

  const tokens = 'completed · 2 steps · 1 tool call · 2000 tokens in, 200 out, 40000 read from the cache';
  expect(unpriced.out).toMatch(new RegExp(`\n${tokens} · \\d+\\.\\d s\n$`));
  expect(priced.out).toMatch(new RegExp(`\n${tokens} · 0\\.0140 USD · \\d+\\.\\d s\n$`));
});

test('with --json each line is one envelope, numbered without a gap, and nothing else is printed', async () => {
  await stage.configure(scriptedConfig([{ text: 'one', tool_calls: [read] }, { text: 'two' }]));

  const { code, out, err } = await stage.run(['run', '--json', 'look']);

  const envelopes = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { schema: number; seq?: number; event: { type: string; run?: string } });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const numbered = envelopes.filter((envelope) => envelope.seq !== undefined);
  expect(numbered.map(({ seq }) => seq)).toEqual(numbered.map((_, index) => index + 1));
  expect(numbered.map(({ event }) => event.type)).toEqual([
    'agent_started',
    'agent_text',
    'tool_called',
    'tool_returned',
    'agent_text',
    'agent_finished',
  ]);
});

posix('Ctrl-C says that the step in progress ends first, lets it end, and the exit code is 130', async () => {
  await stage.configure(scriptedConfig([bash('sleep 1; echo done > done.txt'), { text: 'never said' }]));
  const started = stage.start(['run', 'work']);
  await started.said('→ bash');

  started.child.kill('SIGINT');
  const { code, out, err } = await started.finished;

  expect(err).toContain('Stopping after the step in progress. Press Ctrl-C again to stop at once.');
  expect(out).toMatch(/✓ bash/);
  expect(out).not.toContain('never said');
  expect(await readFile(path.join(stage.root, 'done.txt'), 'utf8')).toBe('done\n');
  expect(code).toBe(130);
});

posix('a second Ctrl-C ends the command that runs', async () => {
  await stage.configure(scriptedConfig([bash('sleep 300'), { text: 'never said' }]));
  const started = stage.start(['run', 'work']);
  await started.said('→ bash');

  started.child.kill('SIGINT');
  await started.said('Stopping after the step');
  started.child.kill('SIGINT');
  const { code, out } = await started.finished;

  expect(out).toContain('✗ bash sleep 300');
  expect(code).toBe(130);
});

posix('a third Ctrl-C kills everything at once, also what ignores being asked', async () => {
  await stage.configure(scriptedConfig([bash("trap '' TERM; sleep 300 & sleep 300")]));
  const started = stage.start(['run', 'work']);
  await started.said('→ bash');

  started.child.kill('SIGINT');
  await started.said('Stopping after the step');
  started.child.kill('SIGINT');
  await started.said('Stopping at once');
  started.child.kill('SIGINT');
  const { code } = await started.finished;

  expect(code).toBe(130);
});

posix('a reader that goes away is a normal end', async () => {
  await stage.configure(scriptedConfig([{ text: 'first' }, bash('sleep 300')]));
  await stage.configure(scriptedConfig([{ text: 'first', tool_calls: [read] }, bash('sleep 300'), { text: 'last' }]));
  const started = stage.start(['run', '--json', 'work']);
  await started.said('agent_started');

  started.child.stdout?.destroy();
  const { code, err } = await started.finished;

  expect({ code, err }).toEqual({ code: 0, err: '' });
});

test('limits end a run with exit code 1, the reason and the option to raise', async () => {
  await stage.configure(scriptedConfig([{ tool_calls: [read] }, { tool_calls: [read] }, { text: 'x' }]));

  const steps = await stage.run(['run', '--max-steps', '1', 'work']);
  const tokens = await stage.run(['run', '--max-tokens', '20', 'work']);

  expect(steps.code).toBe(1);
  expect(steps.err).toBe(
    'error: the agent used all its 1 steps without an end\n  Raise the limit with `--max-steps`.\n',
  );
  expect(tokens.code).toBe(1);
  expect(tokens.err).toContain('error: the token budget is used up\n  Raise it with `--max-tokens`');
});

test('with --read-only nothing is written and no repository is needed', async () => {
  await using loose = await openStage({ git: false });
  await loose.configure(
    scriptedConfig([{ tool_calls: [use('1', 'write_file', { path: 'b.txt', content: 'x' })] }, { text: 'sorry' }]),
  );

  const { code, out } = await loose.run(['run', '--read-only', 'write']);

  expect(code).toBe(0);
  expect(out).toContain('Permission denied: this agent is not allowed to write files.');
  await expect(stat(path.join(loose.root, 'b.txt'))).rejects.toThrow('ENOENT');
});

const plugin = (more: string): string => `[[plugins]]\nname = "own"\ncommand = ["no-such-program"]\n${more}`;

test('parts of a project that nobody trusted are named, left out, and a required one makes the run refuse', async () => {
  await stage.configure(scriptedConfig([{ text: 'x' }]));
  await stage.write('.vibe/config.toml', `${plugin('')}[rules]\nallow = ["bash"]\n`);
  const without = await stage.run(['run', 'work']);
  await stage.write('.vibe/config.toml', plugin('required = true\n'));
  const refused = await stage.run(['run', 'work']);

  expect(without.code).toBe(0);
  expect(without.err).toBe(
    'not trusted, left out: plugin `own` (run `vibe-bus trust` to use it)\n' +
      'not trusted, left out: [rules] (run `vibe-bus trust` to use it)\n',
  );
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(
    /^error: plugin `own` is required by this project, which is not trusted yet\n.*vibe-bus trust/,
  );
});

test.skipIf(!hasTerminals)('on a terminal the text streams in colour and trust is asked for', async () => {
  await stage.configure(scriptedConfig([{ text: 'Hello\nthere.' }]));
  await stage.write('.vibe/config.toml', plugin(''));

  const { code, out } = await runInTerminal(stage, ['run', 'work'], 'n\n');

  expect(code).toBe(0);
  expect(out).toContain('Trust this project? [y/N]');
  expect(out).toContain('not trusted, left out: plugin `own`');
  expect(out).toContain('\u001b[1mstep 1\u001b[22m');
  expect(out.match(/there\./g)).toHaveLength(1);
});
