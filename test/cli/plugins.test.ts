import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { scriptedConfig } from './command.ts';
import { callCommandLine } from './in-process.ts';
import { useStage } from './stage.ts';

const program = fileURLToPath(new URL('../fixtures/cli/plugin.mjs', import.meta.url));
const stage = useStage();

/** A trusted project with one plugin per behaviour, named after it. */
async function declare(...behaviours: readonly string[]): Promise<void> {
  const tables = behaviours.map(
    (name) => `[[plugins]]\nname = "${name}"\ncommand = ${JSON.stringify([process.execPath, program, name])}\n`,
  );
  await stage.write('.vibe/config.toml', tables.join('\n'));
  await callCommandLine(['trust', '--yes'], stage);
}

test('plugins are listed with their trust and without being started', async () => {
  await declare('good');
  await stage.write(
    '.vibe/plugins/found/vibe-plugin.toml',
    'name = "found"\ncommand = ["no-such-program", "\\u001b[2J"]\nrequired = true\n',
  );

  const { code, out } = await callCommandLine(['plugins', 'list'], stage);
  const listed = await callCommandLine(['plugins', 'list', '--json'], stage);

  expect(code).toBe(0);
  expect(out).toMatch(/^good {3}not trusted \(`vibe-bus trust`\) {2}optional {2}\.vibe\/config\.toml {2}/m);
  expect(out).toMatch(
    /^found {2}not trusted .* required {2}\.vibe\/plugins\/found\/vibe-plugin\.toml {2}no-such-program \\x1b\[2J$/m,
  );
  expect(JSON.parse(listed.out)).toMatchObject([
    { name: 'good', trusted: false },
    { name: 'found', required: true },
  ]);
});

test('plugins are started for a list of what they offer, and one that cannot be is said', async () => {
  await declare('good', 'dies');

  const { code, out, err } = await stage.run(['plugins', 'list', '--start']);
  const listed = await callCommandLine(['plugins', 'list', '--start', '--json'], stage);

  expect({ code, err }).toEqual({ code: 1, err: '' });
  const [heads, good, dies] = out.split('\n').map((line) => line.split(/ {2,}/));
  expect(heads).toEqual(['name', 'state', 'version', 'tools', 'agents', 'hook', 'restarts', 'source', 'last error']);
  expect(good).toEqual(['good', 'ready', '1.2.3', 'shout', '-', 'before_tool', '0', '.vibe/config.toml']);
  expect(dies?.slice(0, 8)).toEqual(['dies', 'failed', '-', '-', '-', '-', '0', '.vibe/config.toml']);
  expect(dies?.[8]).toMatch(/plugin `dies`/);
  expect(JSON.parse(listed.out)).toMatchObject([
    { name: 'good', state: 'ready', version: '1.2.3', tools: ['shout'], hook: true, restarts: 0, last_error: null },
    { name: 'dies', state: 'failed', version: null, tools: [], last_error: expect.stringContaining('dies') as string },
  ]);
});

test('a plugin is tested with a call', async () => {
  await declare('good');

  const answered = await callCommandLine(['plugins', 'test', 'good', 'shout', '{"text": "hello"}'], stage);
  const failed = await callCommandLine(['plugins', 'test', 'good', 'shout', '{"text": "fail"}', '--json'], stage);
  const unknown = await callCommandLine(['plugins', 'test', 'good', 'whisper'], stage);

  expect(answered).toMatchObject({ code: 0, err: '' });
  expect(answered.out).toMatch(/\ncall {4}shout answered in \d+ ms\nHELLO!\n$/);
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.out)).toMatchObject({ name: 'good', call: { tool: 'shout', is_error: true } });
  expect(unknown).toMatchObject({ code: 2, err: 'error: plugin `good` has no tool `whisper`; its tools: shout\n' });
});

test('a plugin is tested alone: handshake, listings, clean end', async () => {
  await declare('good', 'dies');

  const { code, out, err } = await stage.run(['plugins', 'test', 'good']);

  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(
    /^plugin {2}good 1\.2\.3\ntools {3}shout\nagents {2}none\nhook {4}before_tool\ntime {4}started in \d+ ms, stopped in \d+ ms\n$/,
  );
});

test('one tool of a plugin is called without an agent', async () => {
  await declare('good');

  const answered = await stage.run(['plugins', 'call', 'good', 'shout', '{"text": "hello"}']);
  const failed = await callCommandLine(['plugins', 'call', 'good', 'shout', '{"text": "fail"}'], stage);
  const unknown = await callCommandLine(['plugins', 'call', 'good', 'whisper'], stage);

  expect({ code: answered.code, out: answered.out }).toEqual({ code: 0, out: 'HELLO!\n' });
  expect({ code: failed.code, out: failed.out, err: failed.err }).toEqual({
    code: 1,
    out: '',
    err: 'too loud \\x1b[2J\n',
  });
  expect(unknown.code).toBe(2);
  expect(unknown.err).toBe('error: plugin `good` has no tool `whisper`; its tools: shout\n');
});

test.each([
  ['garbage', /^error: plugin `garbage` .*\n {2}Try the plugin alone|^error: plugin `garbage` /],
  ['dies', /^error: .*plugin `dies`.*; it last said: cannot find my \\x1b\[31mdatabase\\x1b\[0m\n/],
])('a plugin that answers with %s fails its test in one sentence', async (behaviour, message) => {
  await declare(behaviour);

  const { code, out, err } = await stage.run(['plugins', 'test', behaviour]);

  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(message);
});

test.skipIf(process.platform === 'win32')('a plugin that never answers is left by Ctrl-C', async () => {
  await declare('silent');
  const started = stage.start(['run', 'work']);
  await started.said('Waiting for plugins and servers to start. Ctrl-C stops.');

  started.child.kill('SIGINT');

  expect((await started.finished).code).toBe(130);
});

test('a run goes on without a plugin that does not start, and says so', async () => {
  await stage.configure(scriptedConfig([{ text: 'done' }]));
  await declare('good', 'dies', 'garbage');

  const { code, out, err } = await stage.run(['run', 'work']);

  expect(code).toBe(0);
  expect(out).toContain('  done\n');
  for (const name of ['dies', 'garbage']) {
    expect(err).toContain(`going on without plugin \`${name}\`; try it alone with \`vibe-bus plugins test ${name}\`\n`);
  }
  expect(err).not.toContain('`good`');
});

test('a required plugin whose program is missing ends the run with exit code 1', async () => {
  await stage.configure(scriptedConfig([{ text: 'done' }]));
  await stage.write(
    '.vibe/config.toml',
    '[[plugins]]\nname = "lost"\ncommand = ["no-such-program", "canary-argument"]\nrequired = true\n',
  );
  await callCommandLine(['trust', '--yes'], stage);

  const { code, out, err } = await stage.run(['run', 'work']);

  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(
    /error: required plugin `lost` failed to start: cannot start plugin `lost` \(`no-such-program` in /,
  );
  expect(err).toContain('Try the plugin alone with `vibe-bus plugins test <name>`.');
  expect(err).not.toContain('canary');
});

test('a hook that refuses and a plugin that ends in a call are shown, and the run goes on', async () => {
  const call = (id: string, name: string, input: object): object => ({ tool_calls: [{ id, name, input }] });
  await stage.configure(
    scriptedConfig([
      call('1', 'bash', { command: 'echo hi' }),
      call('2', 'no_such_tool', {}),
      call('3', 'shout', { text: 'x' }),
      call('4', 'read_file', { path: 'a.txt' }),
      { text: 'done' },
    ]),
  );
  await stage.write('a.txt', 'x');
  await declare('breaks');

  const { code, out } = await stage.run(['run', 'work']);

  expect(code).toBe(0);
  expect(out).toMatch(/✗ bash echo hi · \d+ ms · not run\n {4}.*no shell today/);
  expect(out).toMatch(/✗ no_such_tool .*\n {4}Unknown tool `no_such_tool`/);
  expect(out).toMatch(/✗ shout x · \d+ ms · process of breaks\n/);
  expect(out).toContain('plugin breaks ended (exit code 7)');
  expect(out).toMatch(/✗ read_file a\.txt .*\n {4}.*hook plugin unavailable/);
});
