import { expect, test } from 'vitest';
import { describePlacements } from './placements.ts';
import { calling, toolNamed, worker } from './support.ts';

const done = { text: 'done' };

function holdThread(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describePlacements('the watch over the loop', (open) => {
  test('a tool that holds the main thread is named by an event', async () => {
    const tools = [toolNamed('greedy', () => holdThread(400)), toolNamed('modest', () => 'fine')];
    await using test = await open([calling(['greedy'], ['modest']), done], { tools });

    const run = test.engine.run({ ...worker, tools: 'all' }, 'go');
    await run.outcome;

    const [stall, ...more] = test.of('loop_stalled');
    expect(stall?.calls).toEqual([
      { run: run.id, call: test.of('tool_called').find(({ tool }) => tool === 'greedy')?.call, tool: 'greedy' },
    ]);
    expect(stall?.stalled_ms).toBeGreaterThanOrEqual(400);
    expect(more).toEqual([]);
  });

  test('a tool that holds it after it has waited is named too, with those that were open beside it', async () => {
    const greedyLater = async (): Promise<void> => {
      await wait(100);
      holdThread(500);
    };
    const tools = [toolNamed('greedy_later', greedyLater), toolNamed('waiting', () => wait(1_000))];
    await using test = await open([calling(['greedy_later'], ['waiting']), done], { tools });

    await test.engine.run({ ...worker, tools: 'all' }, 'go').outcome;

    expect(test.of('loop_stalled').map(({ calls }) => calls.map(({ tool }) => tool))).toEqual([
      ['greedy_later', 'waiting'],
    ]);
  });
});
