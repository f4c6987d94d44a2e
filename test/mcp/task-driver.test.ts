import { describe, expect, test } from 'vitest';
import { createInputPolicy } from '../../src/mcp/input-policy.ts';
import { driveTask } from '../../src/mcp/task-driver.ts';
import type { Json } from '../../src/protocol/json.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createSignalBox } from './support.ts';

describe('5.5: how often a task is asked for', () => {
  test.each<[Json | undefined, number]>([
    [undefined, 1_000],
    [null, 1_000],
    ['500', 1_000],
    [0, 250],
    [-5, 250],
    [249, 250],
    [4_000, 4_000],
    [30_001, 30_000],
    [1e15, 30_000],
  ])('pollIntervalMs %j: every %d ms', async (pollIntervalMs, expected) => {
    const clock = createManualClock();
    const changes = createSignalBox();
    const polledAt: number[] = [];
    const more = pollIntervalMs === undefined ? {} : { pollIntervalMs };
    const working = { taskId: 't', status: 'working', ...more };
    const driven = driveTask(working, {
      request: async () => {
        polledAt.push(clock.elapsed());
        const isLast = polledAt.length === 2;
        return { kind: 'result', result: isLast ? { taskId: 't', status: 'completed', result: {} } : working };
      },
      input: createInputPolicy({ server: 's' }),
      clock: { ...clock, sleep: (ms, signal) => (queueMicrotask(changes.notify), clock.sleep(ms, signal)) },
      signal: new AbortController().signal,
      maxMs: 100_000,
      onStatus: () => {},
    });

    for (const polls of [1, 2]) {
      // the other sleeper is the limit of the task
      await changes.until(() => clock.sleeping() === 2);
      clock.advance(expected - 1);
      expect(polledAt).toHaveLength(polls - 1);
      clock.advance(1);
    }

    expect(await driven).toMatchObject({ kind: 'result' });
    expect(polledAt).toEqual([expected, 2 * expected]);
  });
});
