// Runs beside every test file: when the file is done, no child process, thread or timer of it is left.
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterAll, expect } from 'vitest';

const children = new Set<ChildProcess>();
const threads = new Map<Worker, string>();
const timersBefore = countTimers();

// Node announces both, whichever way a library makes them.
subscribe('child_process', (message) => children.add((message as { readonly process: ChildProcess }).process));
subscribe('worker_threads', (message) => {
  const { worker } = message as { readonly worker: Worker };
  threads.set(worker, new Error('started').stack ?? '');
});

afterAll(async () => {
  // why: an end that was asked for may be on its way; nobody has to wait for it in each test
  for (let waitedMs = 0; waitedMs < 5_000 && left().length > 0; waitedMs += 50) await sleep(50);

  expect(left(), 'left running by this file').toEqual([]);
});

function left(): readonly string[] {
  const isAlive = ({ pid, exitCode, signalCode }: ChildProcess): boolean =>
    pid !== undefined && exitCode === null && signalCode === null;
  const timers = countTimers() - timersBefore;
  return [
    ...[...children].filter(isAlive).map(({ pid, spawnargs }) => `process ${pid}: ${spawnargs.join(' ')}`),
    ...[...threads].filter(([{ threadId }]) => threadId > 0).map(([, stack]) => `thread ${stack}`),
    ...(timers > 0 ? [`${timers} timers that keep the process running`] : []),
  ];
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'Immediate').length;
}
