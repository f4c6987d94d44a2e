import path from 'node:path';
import { expect, test } from 'vitest';
import { fuzzPlugin } from '../../src/plugins/fault-kit.ts';
import { fixture } from './support.ts';

// why: machines that run tests may be slow, and no verdict here hangs on it
const timeoutMs = 20_000;
const faulty = (fault: string): readonly string[] => [process.execPath, fixture('faulty.mjs'), fault];

test.each([
  ['takes-chunks-for-lines', 'a line that comes byte by byte', /did not answer `ping`/],
  ['takes-chunks-for-lines', 'many lines in one piece', /did not answer `ping`/],
  [
    'splits-at-more',
    'carriage returns, blank lines and line separators',
    /^answered a line .* that it misread, with the error -32700/,
  ],
  [
    'dies-of-garbage',
    'lines that are no JSON',
    /ended instead of answering `ping` \(exit code 1; it last said: Node\.js v/,
  ],
  ['ids-become-text', 'every kind of id', /^sent an answer with the id "0", which was not asked/],
  ['says-nothing', 'methods and notifications it does not know', /^did not answer `resources\/list` within/],
  ['other-code', 'methods and notifications it does not know', /with the code -1 instead of -32601$/],
  ['lets-anything-pass', 'parameters that cannot be meant', /^let a call pass that it could not read/],
  ['takes-any-tool', 'a tool it does not have', /^answered a call of an unknown tool as if all were well/],
  ['answers-twice', 'the same line twice', /^answered `ping`, which came twice twice/],
  [
    'answers-notifications',
    'late and unwanted lines',
    /^answered a line that wants no answer, .* with the error -1: x$/,
  ],
  [
    'prints',
    'every kind of id',
    /^wrote a line to stdout that is no message \(.*\): got a ping; logs belong on stderr$/,
  ],
  ['says-allow', 'hook questions at once', /^sent an invalid `hooks\/before_tool` result: /],
  ['result-is-text', 'calls at once', /^sent an invalid `tools\/call` result: /],
])('a plugin that %s fails "%s" and is told why', async (fault, only, message) => {
  const waits = fault === 'takes-chunks-for-lines' || fault === 'says-nothing';

  const results = await fuzzPlugin(
    { name: 'faulty', command: faulty(fault) },
    { only: [only], tool: { name: 'echo' }, timeoutMs: waits ? 2_000 : timeoutMs },
  );

  expect(results.at(-1)).toMatchObject({
    outcome: 'failed',
    detail: expect.stringMatching(message) as string,
  });
});

test.each(['shutdown', 'the end of its stdin', 'the end in the middle of a line', 'a host that is gone'])(
  'a plugin that stays after "%s" is told and ended',
  async (only) => {
    const results = await fuzzPlugin({ name: 'faulty', command: faulty('stays') }, { only: [only], timeoutMs: 1_000 });

    expect(results.at(-1)).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/^still runs 1s after /) as string,
    });
  },
);

test('a plugin that does not start is reported once', async () => {
  const command = [process.execPath, fixture('odd.mjs'), 'early-exit=3'];

  expect(await fuzzPlugin({ name: 'odd', command })).toEqual([
    {
      name: 'start and handshake',
      outcome: 'failed',
      detail: 'ended instead of answering `initialize` (exit code 3)',
    },
  ]);
  await expect(fuzzPlugin({ name: 'odd', command: ['no-such-program-anywhere'] })).rejects.toMatchObject({
    code: 'start_failed',
  });
});

test('a plugin on the author kit survives everything', { timeout: 180_000 }, async () => {
  const results = await fuzzPlugin(
    { name: 'kit', command: [process.execPath, '--import', 'tsx', fixture('conformance.ts')] },
    {
      projectRoot: path.join(import.meta.dirname, '../..'),
      tool: { name: 'shout', input: { text: 'hey' } },
      timeoutMs,
    },
  );

  expect(results.filter((result) => result.outcome !== 'survived')).toEqual([]);
  expect(results.length).toBeGreaterThan(20);
});
