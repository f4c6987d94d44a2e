import { expect, test } from 'vitest';
import { createTurns, stepsPerTurn } from '../../src/engine/turns.ts';

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
