import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processStartTime } from '../../src/store/process-identity.ts';
import { openProcessLedger, type ProcessLedgerDeps, reapSurvivors } from '../../src/transport/process-ledger.ts';
import { isRunning, type LogLine, recordLogs, untilGone } from '../plugins/support.ts';

let folder: string;
let logs: LogLine[];
let deps: ProcessLedgerDeps;
const spawned: number[] = [];

beforeEach(async () => {
  folder = path.join(await mkdtemp(path.join(tmpdir(), 'ledger-')), 'run');
  logs = [];
  deps = { folder, logger: recordLogs(logs), startTimeOf: (pid) => processStartTime(pid, process.platform) };
});

afterEach(async () => {
  for (const pid of spawned.splice(0)) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  await rm(path.dirname(folder), { recursive: true, force: true });
});

async function sleeper(): Promise<number> {
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error('no pid');
  spawned.push(pid);
  return pid;
}

async function startOf(pid: number): Promise<string> {
  return (await processStartTime(pid, process.platform)) ?? 'none';
}

const id = '00000000-0000-4000-8000-000000000000';
const killed = `${process.pid}.some-earlier-start.${id}.ledger`;

/** A file as an engine leaves it. */
async function leave(name: string, ...lines: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, name), lines.map((line) => `${line}\n`).join(''));
}

async function untilWritten(): Promise<string> {
  for (;;) {
    const [file] = await readdir(folder).catch(() => []);
    const text = file === undefined ? '' : await readFile(path.join(folder, file), 'utf8');
    if (text.endsWith('\n')) return text;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

test('a child stands in the file of its engine until it ends, and a clean end removes the file', async () => {
  const pid = await sleeper();
  const ledger = await openProcessLedger(deps);

  ledger.add(pid);
  const text = await untilWritten();
  ledger.remove(pid);
  const [file] = await readdir(folder);
  const after = await readFile(path.join(folder, file ?? ''), 'utf8');
  ledger.close();

  expect(file).toMatch(new RegExp(`^${process.pid}\\.${await startOf(process.pid)}\\.[0-9a-f-]{36}\\.ledger$`));
  expect(text).toBe(`+ ${pid} ${await startOf(pid)}\n`);
  expect(after).toBe(`${text}- ${pid}\n`);
  expect(await readdir(folder)).toEqual([]);
});

test.skipIf(process.platform === 'win32')(
  'what a dead engine left behind is ended, what it had ended is not looked for',
  async () => {
    const [survivor, finished] = [await sleeper(), await sleeper()];
    await leave(
      killed,
      `+ ${survivor} ${await startOf(survivor)}`,
      `+ ${finished} ${await startOf(finished)}`,
      `- ${finished}`,
    );

    const ended = await reapSurvivors(deps);
    await untilGone(survivor);

    expect(ended).toEqual([survivor]);
    expect(isRunning(finished)).toBe(true);
    expect(await readdir(folder)).toEqual([]);
    expect(logs.map((line) => line.level)).toEqual(['warn']);
  },
);

test('a process that merely has the same pid is left alone (PL2)', async () => {
  const stranger = await sleeper();
  await leave(killed, `+ ${stranger} some-other-start`);

  expect(await reapSurvivors(deps)).toEqual([]);

  expect(isRunning(stranger)).toBe(true);
});

test('the children of an engine that still runs are left alone', async () => {
  const child = await sleeper();
  const running = `${process.pid}.${await startOf(process.pid)}.${id}.ledger`;
  await leave(running, `+ ${child} ${await startOf(child)}`);

  expect(await reapSurvivors(deps)).toEqual([]);

  expect(isRunning(child)).toBe(true);
  expect(await readdir(folder)).toEqual([running]);
});

test.each([
  ['empty', ''],
  ['cut', '+ 12'],
  ['something else', 'hello\n+ 1 x\n'],
  ['damaged', '+ x y\n+ 1\n\u0000\n+ 12'],
])('a file that is %s goes with its engine and does no harm', async (_name, text) => {
  await mkdir(folder);
  await writeFile(path.join(folder, killed), text);

  expect(await reapSurvivors(deps)).toEqual([]);

  expect(await readdir(folder)).toEqual([]);
});

test('a survivor below a damaged line is found', async () => {
  const survivor = await sleeper();
  await leave(killed, 'hello', '\u0000', `+ ${survivor} ${await startOf(survivor)}`);

  expect(await reapSurvivors(deps)).toEqual([survivor]);
});

test('what stands in the folder under other names is left alone', async () => {
  const names = ['notes.txt', `${id}.ledger`, `1.gone.${id}.ledger.txt`];
  for (const name of names) await leave(name, '+ 1 x');

  await reapSurvivors(deps);

  expect((await readdir(folder)).sort()).toEqual(names.sort());
});

test('where the system tells no start times nothing is written', async () => {
  const ledger = await openProcessLedger({ ...deps, startTimeOf: () => Promise.resolve(undefined) });

  ledger.add(await sleeper());
  ledger.remove(process.pid);
  ledger.close();

  expect(await readdir(folder).catch(() => 'no folder')).toBe('no folder');
});

test('a folder that cannot be made is no reason to fail', async () => {
  await writeFile(folder, 'a file');
  const ledger = await openProcessLedger(deps);

  ledger.add(process.pid);
  await new Promise((resolve) => setTimeout(resolve, 20));
  ledger.remove(process.pid);
  ledger.close();

  expect(await reapSurvivors(deps)).toEqual([]);
  expect(new Set(logs.map((line) => line.level))).toEqual(new Set(['debug']));
});
