import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withLock } from '../../src/store/lock.ts';
import { processStartTime } from '../../src/store/process-identity.ts';

const fixture = new URL('../fixtures/store-writer.ts', import.meta.url).pathname;
let folder: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'store-')));
});

afterEach(async () => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

function start(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', fixture, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

test('work under a lock runs one at a time and leaves no lock behind', async () => {
  const file = path.join(folder, 'a.json');
  let inside = 0;
  let most = 0;

  await Promise.all(
    Array.from({ length: 20 }, () =>
      withLock(file, async () => {
        inside += 1;
        most = Math.max(most, inside);
        await readdir(folder);
        inside -= 1;
      }),
    ),
  );

  expect(most).toBe(1);
  expect(await readdir(folder)).toEqual([]);
});

test('eight processes that write fifty times each lose no update (DU3)', async () => {
  const file = path.join(folder, 'counter.json');

  const codes = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => (await once(start('count', file, `p${index}`, '50'), 'exit'))[0]),
  );

  const counts = JSON.parse(await readFile(file, 'utf8')) as Record<string, number>;
  expect(codes).toEqual(Array.from({ length: 8 }, () => 0));
  expect(counts).toEqual(Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`p${index}`, 50])));
  expect(await readdir(folder)).toEqual(['counter.json']);
}, 120_000);

test('the lock of a killed process is taken over (DU4)', async () => {
  const file = path.join(folder, 'a.json');
  const holder = start('hold', file);
  await once(holder.stdout ?? holder, 'data');
  holder.kill('SIGKILL');
  await once(holder, 'exit');

  const result = await withLock(file, async () => 'mine', { waitMs: 1_000 });

  expect(result).toBe('mine');
});

test.skipIf(process.platform === 'win32')(
  'a lock whose pid was given to another process is taken over (DU4)',
  async () => {
    const file = path.join(folder, 'a.json');
    const host = hostname().replace(/[^A-Za-z0-9.-]/g, '-');
    await mkdir(`${file}.lock`);
    await writeFile(path.join(`${file}.lock`, `${process.pid}~00000000-1~${host}~aabbccddeeff`), '');

    const result = await withLock(file, async () => 'mine', { waitMs: 1_000 });

    expect(result).toBe('mine');
  },
);

test('a living owner is never robbed, and the error names it (DU4)', async () => {
  const file = path.join(folder, 'a.json');
  const holder = start('hold', file);
  await once(holder.stdout ?? holder, 'data');

  const attempt = withLock(file, async () => 'mine', { waitMs: 200 });

  await expect(attempt).rejects.toMatchObject({ kind: 'storage', code: 'timeout' });
  await expect(attempt).rejects.toThrow(`is held by process ${holder.pid}`);
  holder.stdin?.end();
  expect((await once(holder, 'exit'))[0]).toBe(0);
});

test('waiting for a lock ends with the signal', async () => {
  const file = path.join(folder, 'a.json');

  await withLock(file, async () => {
    const attempt = withLock(file, async () => 'mine', { signal: AbortSignal.abort(new Error('enough')) });
    await expect(attempt).rejects.toThrow('enough');
  });

  expect(await readdir(folder)).toEqual([]);
});

test('the start time of a process is the same each time it is asked and absent for no process', async () => {
  const first = await processStartTime(process.pid, process.platform);
  const second = await processStartTime(process.pid, process.platform);

  expect(first).toBe(second);
  expect(await processStartTime(2 ** 30, process.platform)).toBeUndefined();
});
