import { afterEach, describe, expect, test } from 'vitest';
import { type Child, type ChildOptions, openChild } from '../../src/transport/child.ts';
import { isRunning, openThings } from '../plugins/support.ts';

const env = { PATH: process.env['PATH'] ?? '' };
const started: Child[] = [];

async function open(script: string, more: Partial<ChildOptions> = {}): Promise<Child> {
  const child = await openChild({ program: 'sh', args: ['-c', script], cwd: '/', env, ...more });
  started.push(child);
  return child;
}

/** The first line of its output: a pid, in the scripts below. */
function firstLine(child: Child): Promise<string> {
  return new Promise((resolve) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8').trim()));
  });
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((child) => child.stop({ exitGraceMs: 1, termGraceMs: 1 })));
});

const quick = { exitGraceMs: 20, termGraceMs: 200 };

describe.skipIf(process.platform === 'win32')('the process group (PL1)', () => {
  test('is gone after a stop, a wrapper and what it forked included', async () => {
    const child = await open('sleep 600 & echo $!; wait');
    const forked = Number(await firstLine(child));
    expect(isRunning(forked)).toBe(true);

    const exit = await child.stop(quick);

    expect(exit.signal).toBe('SIGTERM');
    expect([child.pid, forked].filter(isRunning)).toEqual([]);
  });

  test.each([
    ['ends on its own', 'exit 3', { code: 3, signal: null }],
    ['crashes', 'kill -SEGV $$', { code: null, signal: 'SIGSEGV' }],
  ])('is gone when the leader %s', async (_name, end, exit) => {
    const child = await open(`sleep 600 & echo $!; ${end}`);
    const forked = Number(await firstLine(child));

    expect(await child.closed).toEqual(exit);
    expect(isRunning(forked)).toBe(false);
  });

  test('is killed when it ignores SIGTERM, and the owner is told', async () => {
    let wasKilled = false;
    const child = await open(`trap '' TERM; echo ready; while :; do sleep 1; done`);
    await firstLine(child);

    const exit = await child.stop({ exitGraceMs: 10, termGraceMs: 50, onKill: () => (wasKilled = true) });

    expect(exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(wasKilled).toBe(true);
  });

  test('does not hold up the end when one of it has left and keeps the pipes', async () => {
    const child = await open('echo left >&2; setsid sleep 2 & exit 0', { drainMs: 50 });

    const exit = await child.closed;

    expect(exit).toEqual({ code: 0, signal: null });
    expect(child.stderrTail()).toEqual(['left']);
    expect(child.stdout.destroyed).toBe(true);
  });
});

test('a second stop joins the first', async () => {
  const child = await open('cat');

  const both = [child.stop(quick), child.stop(quick)];

  expect(both[0]).toBe(both[1]);
  await both[0];
});

test('writing to a program that has ended is no uncaught error (PL4)', async () => {
  const child = await open('exit 0');
  await child.exited;

  const failure = await new Promise((resolve) => child.stdin.write('x'.repeat(1_000_000), resolve));

  expect(failure).toBeInstanceOf(Error);
});

describe('stderr (PL5, FR2)', () => {
  async function linesOf(script: string, more: Partial<ChildOptions> = {}): Promise<[string[], readonly string[]]> {
    const lines: string[] = [];
    const child = await open(script, { ...more, onStderrLine: (line) => lines.push(line) });
    await child.closed;
    return [lines, child.stderrTail()];
  }

  test('is told line by line; an unterminated last line and one cut inside a character are whole', async () => {
    const [lines] = await linesOf(`printf 'one\\r\\n\\nt\\303' >&2; sleep 0.05; printf '\\251wo\\nlast' >&2`);

    expect(lines).toEqual(['one', '', 'téwo', 'last']);
  });

  test('bytes that are not UTF-8 become U+FFFD', async () => {
    const [lines] = await linesOf(`printf 'a\\377b\\n' >&2`);

    expect(lines).toEqual(['a\ufffdb']);
  });

  test('a line is cut at its limit between two characters, also when it never ends', async () => {
    const [lines, tail] = await linesOf(`printf 'aé你🚀zzzzzzzz\\nnext\\n🚀🚀🚀🚀' >&2`, {
      stderr: { maxLineBytes: 8 },
    });

    expect(lines).toEqual(['aé你', 'next', '🚀🚀']);
    expect(tail).toEqual(lines);
  });

  test('a flood is drained to the end; only its last lines are kept', async () => {
    const [lines, tail] = await linesOf(`i=0; while [ $i -lt 5000 ]; do echo "line $i"; i=$((i+1)); done >&2`);

    expect(lines).toHaveLength(5_000);
    expect(tail).toEqual(Array.from({ length: 20 }, (_, index) => `line ${4_980 + index}`));
  });

  test('what is kept has a limit in bytes too', async () => {
    const [, tail] = await linesOf(`for i in 1 2 3 4 5; do printf '%090d\\n' $i; done >&2`, {
      stderr: { tailBytes: 200 },
    });

    expect(tail.map((line) => line.slice(-1))).toEqual(['4', '5']);
  });
});

describe('a program that cannot be started (PL4, PL9)', () => {
  test.each([
    ['is missing', { program: 'no-such-program-anywhere' }, 'no such file or directory (ENOENT)'],
    ['is not executable', { program: '/etc/passwd' }, 'permission denied (EACCES)'],
    ['is a folder', { program: '/tmp' }, 'permission denied (EACCES)'],
    ['has no folder to start in', { cwd: '/no/such/folder' }, 'no such file or directory (ENOENT)'],
    ['has a name with NUL', { program: 'a\0b' }, 'ERR_INVALID_ARG_VALUE'],
  ])('%s', async (_name, options, message) => {
    await expect(open('', options)).rejects.toMatchObject({
      kind: 'plugin',
      code: 'start_failed',
      message: expect.stringContaining(message) as string,
    });
  });

  test('leaves no descriptor behind', async () => {
    await open('', { program: 'no-such-program-anywhere' }).catch(() => {});
    const before = openThings();

    for (let index = 0; index < 50; index += 1) await open('', { program: 'no-such' }).catch(() => {});

    expect(openThings()).toEqual(before);
  });
});

test('the environment of the child is what it was given and nothing else', async () => {
  const child = await open('env', { env: { ...env, ONLY: 'this' } });
  const output: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  await child.closed;

  const names = Buffer.concat(output)
    .toString('utf8')
    .split('\n')
    .map((line) => line.split('=')[0]);

  expect(names.filter((name) => !['PATH', 'ONLY', 'PWD', 'SHLVL', '_', ''].includes(name ?? ''))).toEqual([]);
  expect(names).toContain('ONLY');
});
