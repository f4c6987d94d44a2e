import { expect, test } from 'vitest';
import { createTurns, stepsPerTurn } from '../../src/engine/turns.ts';
import { createDrillEngine, startDrill } from './drill.ts';
import { toolNamed } from './support.ts';

test('only so many steps begin in one turn of the loop, the others in the next, in their order', async () => {
  const turns = createTurns();
  const began: number[] = [];
  const steps = Array.from({ length: stepsPerTurn + 3 }, async (_, index) => {
    await turns.take();
    began.push(index);
  });
  await Promise.resolve();
  const atOnce = began.length;

  await Promise.all(steps);

  expect(atOnce).toBe(stepsPerTurn);
  expect(began).toEqual(steps.map((_, index) => index));
});

test('a step of the next turn may begin at once again', async () => {
  const turns = createTurns();
  for (let count = 0; count < stepsPerTurn; count += 1) void turns.take();
  await turns.take();
  await new Promise(setImmediate);

  expect(turns.take()).toBeUndefined();
});

test('the steps of many runs that are ready at once leave the event loop its turns', async () => {
  let inTurn = 0;
  let most = 0;
  const count = toolNamed('count', () => {
    if (inTurn === 0) setImmediate(() => (inTurn = 0));
    inTurn += 1;
    most = Math.max(most, inTurn);
  });
  await using engine = await createDrillEngine({ tools: [count] });
  const drill = { steps: 2, calls: [{ name: 'count', input: {} }] };

  await Promise.all(Array.from({ length: 8 * stepsPerTurn }, () => startDrill(engine, drill).outcome));

  expect(most).toBeGreaterThan(1);
  // why twice: the steps of the next turn may begin before this one's end is counted
  expect(most).toBeLessThanOrEqual(2 * stepsPerTurn);
});
