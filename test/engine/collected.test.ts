import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import type { Tool } from '../../src/protocol/tool.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { shout } from '../fixtures/tools/friendly.ts';
import { oldKiB, toYoungCollector } from '../heap.ts';
import { calling, toolNamed, worker } from './support.ts';

const runs = 80;
const warmUp = 40;

const kinds: readonly { readonly what: string; readonly tool: Tool; readonly limitKiB: number }[] = [
  // What is left are tables of the engine and compiled code, 6 and 37 KiB a run where this was measured; with calls that stay
  // it is 72 and 189.
  { what: 'wait on this thread', tool: toolNamed('soon', () => Promise.resolve('fine')), limitKiB: 35 },
  { what: 'are on tool threads', tool: shout, limitKiB: 90 },
];

// What a young collection frees costs next to nothing; what it must keep, it copies twice and leaves for a full one.
test.each(kinds)('nothing of a finished run waits for a full collection when its calls $what', async (kind) => {
  const call = [kind.tool.name, { text: 'hi' }] as const;
  const steps = [...Array.from({ length: 9 }, () => calling(call, call, call, call, call)), { text: 'done' }];
  const script = Array.from({ length: runs + warmUp }, () => steps).flat();
  const collectYoung = toYoungCollector();
  const provider = createScriptedProvider({ script });
  await using engine = await createEngine({ bare: true, provider, tools: [kind.tool] });

  const play = async (count: number): Promise<void> => {
    for (let played = 0; played < count; played += 1) {
      const { tool_calls } = await engine.run({ ...worker, tools: 'all' }, 'go').outcome;
      expect(tool_calls).toBe(45);
      await sleep(1); // what follows the end of a run has its turn
      collectYoung();
    }
  };
  await play(warmUp);
  const before = oldKiB();
  await play(runs);

  expect((oldKiB() - before) / runs).toBeLessThan(kind.limitKiB);
});

// V8 learns from calls that waited long where to make the next ones. It learns this only once the young generation has its
// full size, which is why this is a process of its own. 23 KiB where this was measured, 80 when calls are literals.
test('nothing of a quick call waits for a full collection after long ones', { timeout: 60_000 }, async () => {
  const program = path.join(import.meta.dirname, '../fixtures/runs/long-calls.ts');
  const flags = ['--expose-gc', '--min-semi-space-size=16', '--import', 'tsx'];

  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program]);

  expect(Number.parseFloat(stdout)).toBeLessThan(45);
});
