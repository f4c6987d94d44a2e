import { startActor } from '../../src/actors/actor.ts';
import type { Reply } from '../../src/actors/behavior.ts';
import { type Contender, measure } from '../measure.ts';
import { type Row, toRow } from '../report.ts';

type Command = { readonly type: 'add'; readonly by: number } | { readonly type: 'read'; readonly reply: Reply<number> };

const burst = 500;

/** A command and a question to an actor against a plain call and a settled promise; for information, without a goal. */
export async function measureActors(): Promise<readonly Row[]> {
  const actor = startActor<number, Command>({
    name: 'counter',
    kind: 'bench',
    init: () => 0,
    receive(state, command) {
      if (command.type === 'add') return state + command.by;
      command.reply.resolve(state);
      return state;
    },
  });
  await actor.ask<number>((reply) => ({ type: 'read', reply })); // it has started
  let total = 0;
  const state = { total: 0 };
  function add(by: number): void {
    state.total += by;
  }
  async function read(): Promise<number> {
    await Promise.resolve();
    return state.total;
  }
  const contenders: readonly Contender[] = [
    {
      name: 'send',
      operations: burst,
      async run(count) {
        for (let index = 0; index < count; index += 1) {
          for (let sent = 0; sent < burst; sent += 1) actor.send({ type: 'add', by: 1 });
          await Promise.resolve(); // the mailbox empties in between
        }
      },
    },
    {
      name: 'function call',
      operations: burst,
      async run(count) {
        for (let index = 0; index < count; index += 1) {
          for (let called = 0; called < burst; called += 1) add(1);
          await Promise.resolve();
        }
      },
    },
    {
      name: 'ask',
      async run(count) {
        for (let index = 0; index < count; index += 1) {
          total += await actor.ask<number>((reply) => ({ type: 'read', reply }));
        }
      },
    },
    {
      name: 'awaited function',
      async run(count) {
        for (let index = 0; index < count; index += 1) total += await read();
      },
    },
  ];
  const [send = [], call = [], ask = [], awaited = []] = await measure(contenders);
  await actor.stop();
  if (Number.isNaN(total)) throw new Error('an answer was no number');
  return [
    toRow({
      name: 'actors.send',
      unit: 'ns',
      goal: null,
      ours: send,
      reference: { name: 'function call', series: call },
    }),
    toRow({
      name: 'actors.ask',
      unit: 'ns',
      goal: null,
      ours: ask,
      reference: { name: 'awaited function', series: awaited },
    }),
  ];
}
