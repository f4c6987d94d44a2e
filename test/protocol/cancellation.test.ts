import { expect, test } from 'vitest';
import { Cancellation, signalSource, withLazySignal } from '../../src/protocol/cancellation.ts';

test('whoever listens hears once, with the first reason, whether it came before or after', () => {
  const cancellation = new Cancellation();
  const heard: string[] = [];
  const hear = (name: string) => ({ onCancelled: (reason: unknown) => void heard.push(`${name}: ${String(reason)}`) });
  const gone = hear('gone');

  cancellation.listen(hear('early'));
  cancellation.listen(gone);
  cancellation.unlisten(gone);
  cancellation.cancel('first');
  cancellation.cancel('second');
  cancellation.listen(hear('late'));

  expect(heard).toEqual(['early: first', 'late: first']);
  expect(cancellation.reason).toBe('first');
});

test('one that follows another ends with it, and by itself without it', () => {
  const run = new Cancellation();
  const [followed, alone] = [new Cancellation(), new Cancellation()];
  run.listen(followed);
  run.listen(alone);

  alone.cancel('own');
  expect(run.isCancelled).toBe(false);
  run.cancel('of all');

  expect([followed.reason, alone.reason]).toEqual(['of all', 'own']);
});

test.each([
  ['before', (cancellation: Cancellation) => void cancellation.signal],
  ['after', () => {}],
] as const)('its signal has the reason when it is looked at %s the end', (_when, look) => {
  const cancellation = new Cancellation();
  look(cancellation);

  cancellation.cancel('enough');

  expect(cancellation.signal.aborted).toBe(true);
  expect(cancellation.signal.reason).toBe('enough');
});

test('an object with a signal made at first use shows it as its own, and so do its copies', () => {
  const cancellation = new Cancellation();
  const object = withLazySignal({ name: 'request', [signalSource]: cancellation });

  const copy = { ...object, name: 'copy' };

  expect(Object.keys(object)).toEqual(['name', 'signal']);
  expect(copy.signal).toBe(cancellation.signal);
  expect(object.signal).toBe(copy.signal);
});
