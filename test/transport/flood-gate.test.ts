import { expect, test } from 'vitest';
import { createFloodGate, createWindowGate } from '../../src/transport/flood-gate.ts';

test('a burst passes at once, then so many a second, and the rest is counted', () => {
  let now = 0;
  const gate = createFloodGate({ burst: 3, perSecond: 10 }, () => now);

  const atOnce = Array.from({ length: 5 }, () => gate.admit());
  now = 100;
  const later = [gate.admit(), gate.admit()];
  now = 10_000;
  const rested = Array.from({ length: 4 }, () => gate.admit());

  expect(atOnce).toEqual([true, true, true, false, false]);
  expect(later).toEqual([true, false]);
  expect(rested).toEqual([true, true, true, false]);
  expect(gate.takeSuppressed()).toBe(4);
  expect(gate.takeSuppressed()).toBe(0);
});

test('within any window no more than the count passes', () => {
  let now = 0;
  const gate = createWindowGate(20, 60_000, () => now);
  const passed: number[] = [];

  for (; now <= 150_000; now += 100) if (gate.admit()) passed.push(now);

  const perWindow = passed.map((start) => passed.filter((at) => at >= start && at < start + 60_000).length);
  expect(Math.max(...perWindow)).toBe(20);
  expect(passed.length).toBe(60);
});
