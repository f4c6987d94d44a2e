import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cancellation } from '../../src/protocol/cancellation.ts';
import { createRandomIds } from '../../src/protocol/ids.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import type { ToolTaskResult } from '../../src/protocol/thread.ts';
import type { ToolProgress } from '../../src/protocol/tool.ts';
import { workerEntry } from '../../src/workers/entry.ts';
import { createToolPool, type ToolPool } from '../../src/workers/tool-pool.ts';
import { createLogRecorder, fixtureUrl, taskOf } from './pool-fixture.ts';

const ids = createRandomIds();
const shout = (text = 'hi'): ReturnType<typeof taskOf> => taskOf('friendly.ts', 'shout', { text, times: 1 });

function contentOf(result: ToolTaskResult): unknown {
  return result.ok && typeof result.output === 'object' && result.output !== null && 'content' in result.output
    ? result.output.content
    : result.ok
      ? result.output
      : result;
}

function messageOf(result: ToolTaskResult): string {
  return !result.ok && 'error' in result ? `${result.error.code}: ${result.error.message}` : JSON.stringify(result);
}

describe('a pool', () => {
  let pool: ToolPool;
  let folder: string;
  const recorder = createLogRecorder();

  beforeAll(() => {
    pool = createToolPool({ logger: recorder.logger, threads: 2, heapMb: 32 });
    folder = mkdtempSync(join(tmpdir(), 'vibe-pool-'));
  });

  afterAll(async () => {
    await pool.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('runs a TypeScript tool by its module, on another thread', async () => {
    const result = await pool.run(shout());

    expect(result).toMatchObject({ ok: true, output: { content: 'HI', metadata: { agent: 'tester' } } });
    expect(result.ok && (result.output as { metadata: { threadId: number } }).metadata.threadId).toBeGreaterThan(0);
  });

  test('runs a JavaScript tool and a bare handler', async () => {
    writeFileSync(join(folder, 'there'), '');

    expect(contentOf(await pool.run(taskOf('plain.js', 'plain', { text: 'x' })))).toBe('plain x');
    const handler = { ...taskOf('hostile.ts', 'waits', { until: join(folder, 'there') }), export: 'waitsForFile' };
    expect(contentOf(await pool.run(handler))).toBe('seen');
  });

  test.each([
    ['exits', 'worker_exited: worker exited with code 3'],
    ['throws_later', 'worker_exited: worker exited with code 1: out of nowhere'],
    ['rejects_later', 'worker_exited: worker exited with code 1: nobody waits for this'],
  ])('WK1: a tool that %s ends its own call as crashed, neighbours and queue go on', async (tool, expected) => {
    const [crashed, ...others] = await Promise.all([
      pool.run(taskOf('hostile.ts', tool)),
      ...Array.from({ length: 8 }, (_, index) => pool.run(shout(`n${index}`))),
    ]);

    expect(messageOf(crashed)).toBe(expected);
    expect(others.map(contentOf)).toEqual(Array.from({ length: 8 }, (_, index) => `N${index}`));
  });

  test('WK1, WK7: a tool that runs out of heap ends its own call as crashed', async () => {
    const [crashed, other] = await Promise.all([pool.run(taskOf('hostile.ts', 'eats_memory')), pool.run(shout())]);

    expect(messageOf(crashed)).toMatch(/^worker_exited: worker exited with code 1: .*memory/);
    expect(contentOf(other)).toBe('HI');
  });

  test('WK3: an error left behind by a call that returned is logged under it and fails no other call', async () => {
    using single = await openSingle(recorder.logger);
    const first = taskOf('hostile.ts', 'leaves_error');

    expect(contentOf(await single.pool.run(first))).toBe('returned');
    const until = join(folder, 'late-seen');
    const second = single.pool.run({ ...taskOf('hostile.ts', 'waits', { until }), export: 'waitsForFile' });
    const line = await recorder.next('left behind');
    writeFileSync(until, '');

    expect(contentOf(await second)).toBe('seen');
    expect(line).toMatchObject({ level: 'warn', fields: { call: first.context.call, tool: 'leaves_error' } });
  });

  test('WK3: a process.exit left behind by a call that returned does not end the call that runs now', async () => {
    using single = await openSingle(recorder.logger);

    expect(contentOf(await single.pool.run(taskOf('hostile.ts', 'leaves_exit')))).toBe('returned');
    const until = join(folder, 'exit-seen');
    const second = single.pool.run({ ...taskOf('hostile.ts', 'waits', { until }), export: 'waitsForFile' });
    await recorder.next('process.exit was called');
    writeFileSync(until, '');

    expect(contentOf(await second)).toBe('seen');
  });

  test('WK2: a cancelled call is asked to end and takes no other call with it', async () => {
    const cancel = new Cancellation();
    const waiting = { ...taskOf('hostile.ts', 'waits', { until: join(folder, 'never') }), export: 'waitsForFile' };
    let cancelled: Promise<ToolTaskResult> | undefined;
    const begun = new Promise<void>((resolve) => {
      cancelled = pool.run(waiting, { cancel, onProgress: () => resolve() });
    });
    const others = Array.from({ length: 4 }, () => pool.run(shout()));
    await begun;
    const before = pool.stats().lost;

    cancel.cancel(new Error('enough'));

    await expect(cancelled).rejects.toThrow('enough');
    expect((await Promise.all(others)).map(contentOf)).toEqual(['HI', 'HI', 'HI', 'HI']);
    expect(pool.stats().lost).toBe(before);
  });

  test('a busy loop that looks up ends when it is cancelled, without losing its thread', async () => {
    const cancel = new Cancellation();
    const before = pool.stats().lost;
    const running = pool.run(taskOf('hostile.ts', 'spins_politely'), {
      cancel,
      onStarted: () => setTimeout(() => cancel.cancel(new Error('stop')), 50),
    });

    await expect(running).rejects.toThrow('stop');
    expect(pool.stats().lost).toBe(before);
  });

  test('a busy loop that never looks up is ended by force after the grace', async () => {
    const cancel = new Cancellation();
    const running = pool.run(taskOf('hostile.ts', 'spins'), {
      cancel,
      graceMs: 50,
      onStarted: () => cancel.cancel(new Error('stop')),
    });

    await expect(running).rejects.toThrow('stop');
    expect(contentOf(await pool.run(shout()))).toBe('HI');
  });

  test('a call past its limit fails with code timeout', async () => {
    const result = await pool.run(taskOf('hostile.ts', 'spins'), { timeoutMs: 50, graceMs: 20 });

    expect(messageOf(result)).toBe('timeout: timed out after 50 ms and was stopped');
  });

  test('a call without signs of life ends with the given text', async () => {
    const stall = { after_ms: 50, content: 'it hangs' };

    expect(messageOf(await pool.run(taskOf('hostile.ts', 'spins'), { stall }))).toBe('timeout: it hangs');
  });

  test('WK6: a result that cannot be cloned is an error that names the tool', async () => {
    const result = await pool.run(taskOf('hostile.ts', 'returns_function'));

    expect(messageOf(result)).toMatch(
      /^uncloneable: the result of tool `returns_function` cannot be sent .* runs on the main thread/,
    );
  });

  test('an input that cannot be cloned is an error that names the tool', async () => {
    const result = await pool.run(taskOf('friendly.ts', 'shout', { text: () => 'x' }));

    expect(messageOf(result)).toMatch(
      /^uncloneable: the input of tool `shout` cannot be sent .* runs on the main thread/,
    );
    expect(contentOf(await pool.run(shout()))).toBe('HI');
  });

  test('WK6: an error keeps name, message, code and data; another thrown text stays a text', async () => {
    expect(await pool.run(taskOf('hostile.ts', 'throws_custom'))).toMatchObject({
      ok: false,
      error: { name: 'RateError', message: 'too fast', data: { code: 'E_RATE', data: { limit: 3 } } },
    });
    expect(await pool.run(taskOf('hostile.ts', 'throws_text'))).toEqual({ ok: false, thrown: 'just a text' });
  });

  test('a module that cannot be loaded or has no such tool fails the call with the cause', async () => {
    expect(messageOf(await pool.run(taskOf('broken.ts', 'never')))).toMatch(/cannot be loaded$/);
    expect(messageOf(await pool.run(taskOf('friendly.ts', 'whisper')))).toMatch(
      /exports no tool named `whisper`; export it there, or define it without the module URL to run it on the main thread$/,
    );
  });

  test('a large binary result arrives whole and is handed over, not copied', async () => {
    using single = await openSingle(silentLogger);

    const result = await single.pool.run(taskOf('friendly.ts', 'picture'));

    expect(result.ok && (result.output as { bytes: Uint8Array }).bytes.every((byte) => byte === 7)).toBe(true);
    expect(await single.pool.run(taskOf('friendly.ts', 'picture_left'))).toEqual({ ok: true, output: 0 });
  });

  test('calls that follow each other without a pause let the event loop of their thread turn', async () => {
    using single = await openSingle(silentLogger);

    for (let call = 0; call < 2_000; call += 1) await single.pool.run(taskOf('friendly.ts', 'counts_row'));
    const most = contentOf(await single.pool.run(taskOf('friendly.ts', 'counts_row')));

    // One more than are taken in a row: the loop turns after the one that came first.
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(65);
  });

  test('progress is passed on, console output goes to the log', async () => {
    const seen: ToolProgress[] = [];

    await pool.run(taskOf('friendly.ts', 'talks'), { onProgress: (progress) => seen.push(progress) });

    expect(seen).toEqual([{ progress: 1, total: 2, message: 'half' }]);
    expect(await recorder.next('hello from a tool')).toMatchObject({ level: 'debug' });
  });

  test('WK11: one run with much waiting does not hold up another', async () => {
    using single = await openSingle(silentLogger);
    const finished: string[] = [];
    const busy = ids.run();
    const many = Array.from({ length: 500 }, async (_, index) => {
      await single.pool.run(taskOf('friendly.ts', 'shout', { text: 'a', times: 1 }, busy));
      finished.push(`busy ${index}`);
    });

    await single.pool.run(shout());
    finished.push('other');
    await Promise.all(many);

    expect(finished.indexOf('other')).toBeLessThanOrEqual(2);
  });

  test('WK11: the limit of a call counts from the moment a thread takes it', async () => {
    using single = await openSingle(silentLogger);
    const until = join(folder, 'queue-open');
    const first = single.pool.run({ ...taskOf('hostile.ts', 'waits', { until }), export: 'waitsForFile' });
    const second = single.pool.run(shout(), { timeoutMs: 1_000 });

    setTimeout(() => writeFileSync(until, ''), 1_200);

    expect([contentOf(await first), contentOf(await second)]).toEqual(['seen', 'HI']);
  });
});

test('a queue at its limit refuses the next call', async () => {
  using single = await openSingle(silentLogger, { maxQueue: 1 });
  const calls = Array.from({ length: 3 }, () => single.pool.run(shout()));

  expect((await Promise.all(calls)).map(messageOf).filter((text) => text.startsWith('overloaded'))).toHaveLength(1);
});

test('WK4: a worker file that fails while it is loaded is tried three times, then the waiting calls fail with the cause', async () => {
  const recorder = createLogRecorder();
  const entry = { filename: fixtureUrl('broken-worker.ts') };
  const pool = createToolPool({ logger: recorder.logger, threads: 1, minThreads: 0, entry });

  const results = await Promise.all([pool.run(shout()), pool.run(shout())]);

  expect(results.map(messageOf)).toEqual(
    Array.from({ length: 2 }, () => expect.stringContaining('no tool thread could be started')),
  );
  expect(pool.stats().started).toBe(3);
  await pool.close();
});

test('WK4: a pool that keeps threads gives up too, and tries again for the next call', async () => {
  const recorder = createLogRecorder();
  const pool = createToolPool({
    logger: recorder.logger,
    threads: 2,
    minThreads: 2,
    entry: { filename: fixtureUrl('broken-worker.ts') },
  });

  expect(messageOf(await pool.run(shout()))).toContain('no tool thread could be started');
  const { started } = pool.stats();
  expect(messageOf(await pool.run(shout()))).toContain('no tool thread could be started');

  // Three attempts for each call, and none in between.
  expect([started, pool.stats().started]).toEqual([3, 6]);
  await pool.close();
});

describe('after a call took its thread with it', () => {
  const { execArgv = [] } = workerEntry('tool-worker');
  const entry = { filename: fixtureUrl('telling-worker.ts'), execArgv };
  const up = 'a thread is up';
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'vibe-pool-'));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('WK1: one thread more is kept ready, takes no call while the others are busy, and steps in at once', async () => {
    const recorder = createLogRecorder();
    const pool = createToolPool({ logger: recorder.logger, threads: 1, entry });
    await pool.run(taskOf('hostile.ts', 'exits'));
    const until = join(folder, 'spare');
    const began: string[] = [];
    const first = pool.run(
      { ...taskOf('hostile.ts', 'waits', { until }), export: 'waitsForFile' },
      { onStarted: () => began.push('first') },
    );
    const second = pool.run(taskOf('hostile.ts', 'exits'), { onStarted: () => began.push('second') });
    let upAtThird = 0;
    const third = pool.run(shout(), {
      onStarted: () => (upAtThird = recorder.lines.filter((line) => line.message.includes(up)).length),
    });
    await recorder.next(up, 3);

    expect(pool.stats()).toMatchObject({ threads: 2, busy: 1, queued: 2, started: 3 });
    expect(began).toEqual(['first']);
    writeFileSync(until, '');
    await Promise.all([first, second]);
    expect(contentOf(await third)).toBe('HI');

    expect(upAtThird).toBe(3);
    await pool.close();
  });

  test('no spare is kept when it is turned off', async () => {
    const recorder = createLogRecorder();
    const pool = createToolPool({ logger: recorder.logger, threads: 1, spareMs: 0, entry });

    await pool.run(taskOf('hostile.ts', 'exits'));
    await pool.run(shout());

    expect(pool.stats()).toMatchObject({ threads: 1, started: 2 });
    await pool.close();
  });
});

test('threads end after many calls and when they are idle for long; closing ends all and answers what waits', async () => {
  const pool = createToolPool({ logger: silentLogger, threads: 1, callsPerThread: 2 });
  for (let call = 0; call < 5; call += 1) await pool.run(shout());
  expect(pool.stats()).toMatchObject({ started: 3, completed: 5, lost: 0 });

  const open = [pool.run(taskOf('hostile.ts', 'spins')), pool.run(shout())];
  await pool.close();

  expect((await Promise.all(open)).map(messageOf)).toEqual(
    Array.from({ length: 2 }, () => 'engine_closed: the tool pool is closed'),
  );
  expect(messageOf(await pool.run(shout()))).toBe('engine_closed: the tool pool is closed');
  expect(pool.stats().threads).toBe(0);
});

test('a process with an open idle pool ends by itself, and its output holds nothing of its tools', async () => {
  const program = new URL('../fixtures/tools/idle-pool.ts', import.meta.url).pathname;

  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program]);

  expect(stdout).toBe('called\n');
});

async function openSingle(
  logger: Parameters<typeof createToolPool>[0]['logger'],
  options: { readonly maxQueue?: number } = {},
): Promise<{ pool: ToolPool } & Disposable> {
  const pool = createToolPool({ logger, threads: 1, ...options });
  await pool.run(shout());
  return { pool, [Symbol.dispose]: () => void pool.close() };
}
