import { expect, test } from 'vitest';
import { startActor } from '../../src/actors/actor.ts';
import type { ActorContext, Behavior, Reply } from '../../src/actors/behavior.ts';

type Command =
  | { readonly type: 'add'; readonly by: number }
  | { readonly type: 'get'; readonly reply: Reply<number> }
  | { readonly type: 'slow'; readonly work: Promise<number>; readonly reply: Reply<number> }
  | { readonly type: 'throw' }
  | { readonly type: 'ignore'; readonly reply: Reply<number> };

function counter(overrides: Partial<Behavior<number, Command>> = {}): Behavior<number, Command> {
  return {
    name: 'counter',
    kind: 'test',
    init: () => 0,
    receive(state, command, context: ActorContext<Command>) {
      switch (command.type) {
        case 'add':
          return state + command.by;
        case 'get':
          command.reply.resolve(state);
          return state;
        case 'slow':
          context.run(() => command.work.then(command.reply.resolve, command.reply.reject));
          return state;
        case 'throw':
          throw new Error('broken state');
        case 'ignore':
          return state;
      }
    },
    ...overrides,
  };
}

test('commands are received in order, also those sent while the actor starts', async () => {
  let ready: (value: number) => void = () => {};
  const actor = startActor(counter({ init: () => new Promise<number>((resolve) => (ready = resolve)) }));
  for (let by = 1; by <= 4; by += 1) actor.send({ type: 'add', by });
  const asked = actor.ask<number>((reply) => ({ type: 'get', reply }));
  expect(actor.state()).toBe('starting');
  expect(actor.mailboxDepth()).toBe(5);

  ready(10);

  expect(await asked).toBe(20);
  expect(actor.state()).toBe('running');
  await actor.stop();
});

test('a long task does not hold up the mailbox', async () => {
  const actor = startActor(counter());
  let finish: (value: number) => void = () => {};
  const work = new Promise<number>((resolve) => (finish = resolve));
  const slow = actor.ask<number>((reply) => ({ type: 'slow', work, reply }));

  expect(await actor.ask<number>((reply) => ({ type: 'get', reply }))).toBe(0);
  finish(7);

  expect(await slow).toBe(7);
  await actor.stop();
});

test('a full mailbox refuses: send throws, ask rejects, both with code mailbox_full', async () => {
  const actor = startActor(counter({ init: () => new Promise<number>(() => {}) }), { mailboxCapacity: 2, initMs: 50 });
  actor.send({ type: 'add', by: 1 });
  actor.send({ type: 'add', by: 1 });

  expect(() => actor.send({ type: 'add', by: 1 })).toThrow(expect.objectContaining({ code: 'mailbox_full' }));
  await expect(actor.ask((reply) => ({ type: 'get', reply }))).rejects.toMatchObject({ code: 'mailbox_full' });
  expect(await actor.done).toMatchObject({ kind: 'failed', error: { code: 'timeout' } });
});

test('a throw in receive fails the actor and rejects every waiting and pending ask with the cause', async () => {
  const actor = startActor(counter());
  const pending = actor.ask<number>((reply) => ({ type: 'ignore', reply }));
  actor.send({ type: 'throw' });
  const waiting = actor.ask<number>((reply) => ({ type: 'get', reply }));

  await expect(pending).rejects.toThrow('broken state');
  await expect(waiting).rejects.toThrow('broken state');
  expect(await actor.done).toMatchObject({ kind: 'failed', error: { message: 'broken state' } });
  expect(actor.state()).toBe('failed');
});

test('a task that rejects fails the actor; a task sees the stop through its signal', async () => {
  let stopped = false;
  const failing = startActor(
    counter({
      init(context) {
        context.run(async (signal) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          stopped = true;
        });
        context.run(() => Promise.reject(new Error('task broke')));
        return 0;
      },
    }),
  );

  expect(await failing.done).toMatchObject({ kind: 'failed', error: { message: 'task broke' } });
  expect(stopped).toBe(true);
});

test('an ask gives up at its time or its signal and the late answer is dropped', async () => {
  const actor = startActor(counter());
  const cancel = new AbortController();
  const late = actor.ask<number>((reply) => ({ type: 'ignore', reply }), { timeoutMs: 10 });
  const cancelled = actor.ask<number>((reply) => ({ type: 'ignore', reply }), { signal: cancel.signal });

  cancel.abort(new Error('enough'));

  await expect(cancelled).rejects.toThrow('enough');
  await expect(late).rejects.toMatchObject({ code: 'timeout' });
  await actor.stop();
});

test('commands to an ended actor are dead letters', async () => {
  const dead: string[] = [];
  const actor = startActor(counter(), { onDeadLetter: (name) => void dead.push(name) });
  await actor.stop();

  actor.send({ type: 'add', by: 1 });

  await expect(actor.ask((reply) => ({ type: 'get', reply }))).rejects.toMatchObject({ code: 'actor_stopped' });
  expect(dead).toEqual(['counter', 'counter']);
});

test('stop runs once however often it is called, and an init that failed needs none', async () => {
  let stops = 0;
  const actor = startActor(counter({ stop: () => void (stops += 1) }));
  await Promise.all([actor.stop(), actor.stop()]);
  expect(stops).toBe(1);

  const broken = startActor(
    counter({ init: () => Promise.reject(new Error('no port')), stop: () => void (stops += 1) }),
  );
  expect(await broken.done).toMatchObject({ kind: 'failed', error: { message: 'no port' } });
  expect(stops).toBe(1);
});
