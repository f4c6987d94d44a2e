import { expect, test } from 'vitest';
import { closeGate, enterText, openGate } from '../../src/workers/text-gate.ts';

const makeGate = (): Int32Array => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

test('a text that was let in keeps the gate open until it came', () => {
  const gate = makeGate();

  expect(enterText(gate)).toBe(true);
  expect(closeGate(gate, 0)).toBe(false);
  expect(closeGate(gate, 1)).toBe(true);
});

test('a closed gate lets nothing in until it is opened again, and then counts on', () => {
  const gate = makeGate();
  enterText(gate);
  closeGate(gate, 1);

  expect(enterText(gate)).toBe(false);
  openGate(gate, 1);
  expect(enterText(gate)).toBe(true);
  expect(closeGate(gate, 2)).toBe(true);
});

test('opening an open gate forgets no text', () => {
  const gate = makeGate();
  enterText(gate);

  openGate(gate, 0);

  expect(closeGate(gate, 0)).toBe(false);
});
