import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import type { Tool } from '../../src/protocol/tool.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { shout } from '../fixtures/tools/friendly.ts';
import { calling, toolNamed, worker } from './support.ts';

const runs = 80;
const warmUp = 40;

const kinds: readonly { readonly what: string; readonly tool: Tool; readonly limitKiB: number }[] = [
  // What is left are tables of the engine and compiled code, 5 and 37 KiB a run where this was measured; calls that stay are
  // 72 and 189.
  { what: 'waits on this thread', tool: toolNamed('soon', () => Promise.resolve('fine')), limitKiB: 25 },
  { what: 'runs on a thread', tool: shout, limitKiB: 90 },
];

// What a young collection frees costs next to nothing; what it must keep, it copies twice and leaves for a full one.
test.each(kinds)(
  'a finished run leaves nothing of its calls for a full collection: $what',
  async ({ tool, limitKiB }) => {
    const call = [tool.name, { text: 'hi' }] as const;
    const steps = [...Array.from({ length: 9 }, () => calling(call, call, call, call, call)), { text: 'done' }];
    const script = Array.from({ length: runs + warmUp }, () => steps).flat();
    await using engine = await createEngine({
      bare: true,
      provider: createScriptedProvider({ script }),
      tools: [tool],
    });
    const collectYoung = toYoungCollector();

    const runOne = async (): Promise<void> => {
      const { tool_calls } = await engine.run({ ...worker, tools: 'all' }, 'go').outcome;
      expect(tool_calls).toBe(45);
      await sleep(1); // what follows the end of a run has its turn
      // twice, since what survives once is only moved within the young generation
      collectYoung();
      collectYoung();
    };
    for (let run = 0; run < warmUp; run += 1) await runOne();
    const before = oldKiB();
    for (let run = 0; run < runs; run += 1) await runOne();

    expect((oldKiB() - before) / runs).toBeLessThan(limitKiB);
  },
);

function toYoungCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void;
  return () => gc({ type: 'minor' });
}

function oldKiB(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return (old?.space_used_size ?? 0) / 1024;
}
