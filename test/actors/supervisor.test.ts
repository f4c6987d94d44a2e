import { expect, test } from 'vitest';
import type { Behavior } from '../../src/actors/behavior.ts';
import { createSupervisor, type RestartKind, type SupervisorEvent } from '../../src/actors/supervisor.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';

type Command = 'fail' | 'end';

function child(name: string, log: string[] = []): Behavior<null, Command> {
  return {
    name,
    kind: 'test',
    init: () => null,
    receive(state, command, context) {
      if (command === 'fail') throw new Error(`${name} failed`);
      void context.self.stop();
      return state;
    },
    stop: () => void log.push(name),
  };
}

function open() {
  const clock = createManualClock();
  const events: SupervisorEvent[] = [];
  const supervisor = createSupervisor({ clock, onEvent: (event) => void events.push(event) });
  return { clock, events, supervisor, types: () => events.map(({ type }) => type) };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
}

test('children stop in the reverse order of their start', async () => {
  const { supervisor } = open();
  const log: string[] = [];
  for (const name of ['a', 'b', 'c']) supervisor.start({ behavior: () => child(name, log), restart: 'permanent' });
  await settle();

  await supervisor.stop();

  expect(log).toEqual(['c', 'b', 'a']);
  expect(supervisor.list()).toEqual([]);
  expect(() => supervisor.start({ behavior: () => child('d'), restart: 'temporary' })).toThrow(/closing/);
});

test.each<[RestartKind, Command, boolean]>([
  ['temporary', 'fail', false],
  ['temporary', 'end', false],
  ['transient', 'fail', true],
  ['transient', 'end', false],
  ['permanent', 'fail', true],
  ['permanent', 'end', true],
])('a %s child that gets `%s` is started again: %s', async (restart, command, again) => {
  const { clock, supervisor, types } = open();
  const started = supervisor.start({ behavior: () => child('a'), restart });
  await settle();

  started.ref().send(command);
  await settle();
  clock.advance(500);
  await settle();

  expect(types().includes('restarted')).toBe(again);
  expect(supervisor.list().map(({ state }) => state)).toEqual(again ? ['running'] : []);
  await supervisor.stop();
});

test('a child that keeps failing is given up after 5 starts, with growing delays', async () => {
  const { clock, supervisor, types } = open();
  const started = supervisor.start({ behavior: () => child('a'), restart: 'permanent' });
  const delays = [500, 1_000, 2_000, 4_000];
  for (const delay of delays) {
    await settle();
    started.ref().send('fail');
    await settle();
    clock.advance(delay - 1);
    await settle();
    expect(started.ref().state()).toBe('failed');
    clock.advance(1);
  }
  await settle();
  started.ref().send('fail');

  expect(await started.gone).toMatchObject({ kind: 'failed' });
  expect(types().filter((type) => type === 'started')).toHaveLength(5);
  expect(types().at(-1)).toBe('gave_up');
});

test('a good start alone does not reset the count; a minute of life does', async () => {
  const { clock, supervisor, types } = open();
  const started = supervisor.start({ behavior: () => child('a'), restart: 'permanent' });
  for (let round = 0; round < 8; round += 1) {
    await settle();
    clock.advance(60_000);
    started.ref().send('fail');
    await settle();
    clock.advance(500);
  }
  await settle();

  expect(types()).not.toContain('gave_up');
  await supervisor.stop();
});

test('a child that cannot be made anew is told as failed and is gone', async () => {
  const { clock, supervisor, types } = open();
  let made = 0;
  const behavior = (): Behavior<null, Command> => {
    made += 1;
    if (made > 1) throw new Error('no second one');
    return child('a');
  };
  const started = supervisor.start({ behavior, restart: 'permanent' });
  await settle();
  started.ref().send('fail');
  await settle();
  clock.advance(500);

  expect(await started.gone).toMatchObject({ kind: 'failed', error: { message: 'no second one' } });
  expect(types().slice(-2)).toEqual(['failed', 'failed']);
  expect(supervisor.list()).toEqual([]);
});

test('a stop during the wait for a restart ends the wait', async () => {
  const { clock, supervisor } = open();
  const started = supervisor.start({ behavior: () => child('a'), restart: 'permanent' });
  await settle();
  started.ref().send('fail');
  await settle();
  expect(clock.sleeping()).toBe(1);

  await supervisor.stop();

  expect(clock.sleeping()).toBe(0);
  await started.gone;
});
