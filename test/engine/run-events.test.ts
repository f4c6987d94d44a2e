import { expect, test } from 'vitest';
import type { Envelope } from '../../src/bus/envelope.ts';
import { describePlacements } from './placements.ts';
import { calling, deferred, toolNamed, worker } from './support.ts';

async function collect(events: AsyncIterable<Envelope>): Promise<readonly Envelope[]> {
  const found: Envelope[] = [];
  for await (const envelope of events) found.push(envelope);
  return found;
}

const numbers = (envelopes: readonly Envelope[]): readonly number[] => envelopes.flatMap(({ seq }) => seq ?? []);
const upTo = (last: number, from = 1): readonly number[] => Array.from({ length: last - from + 1 }, (_, n) => from + n);

describePlacements('events of a run', (open) => {
  test('from a number on: first what happened, then live, without gap or repeat', async () => {
    const reached = deferred();
    const goOn = deferred();
    const wait = toolNamed('wait', async () => {
      reached.resolve();
      await goOn.promise;
    });
    await using stage = await open([calling(['wait']), calling(['wait'], ['wait']), { text: 'done' }], {
      tools: [wait],
    });
    const run = stage.engine.run(worker, 'go');
    await reached.promise;

    const readers = [run.events({ from: 1 }), run.events({ from: 2 }), run.events({ from: 100 })].map(collect);
    const late = collect(run.events());
    goOn.resolve();
    await run.outcome;
    const afterwards = collect(run.events({ from: 3 }));

    const [all = [], second = [], never = []] = await Promise.all(readers);
    const last = numbers(stage.envelopes.filter(({ event }) => 'run' in event && event.run === run.id)).at(-1) ?? 0;
    expect(last).toBe(9);
    expect(numbers(all)).toEqual(upTo(last));
    expect(numbers(second)).toEqual(upTo(last, 2));
    expect(numbers(never)).toEqual([]);
    expect(numbers(await late)).toEqual(upTo(last, 3));
    expect(numbers(await afterwards)).toEqual(upTo(last, 3));
    expect(all.at(-1)?.event.type).toBe('agent_finished');
  });

  test('a reader that starts anywhere while thousands are published misses none and sees none twice', async () => {
    const step = calling(...Array.from({ length: 30 }, (_, n) => ['tick', { n }] as const));
    const reading: Promise<readonly Envelope[]>[] = [];
    const starts: number[] = [];
    await using stage = await open([...Array.from({ length: 40 }, () => step), { text: 'done' }], {
      tools: [
        toolNamed('tick', async ({ n }) => {
          if (starts.length < 40 && n === (starts.length * 7) % 30) {
            const from = Math.max(1, stage.engine.bus.lastSequence(run.id) - 5);
            starts.push(from);
            reading.push(collect(run.events({ from })));
          }
          if (Number(n) % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
        }),
      ],
    });
    const run = stage.engine.run(worker, 'go');

    await run.outcome;

    const last = numbers(stage.envelopes).at(-1) ?? 0;
    expect(last).toBeGreaterThan(2400);
    for (const [index, seen] of (await Promise.all(reading)).entries()) {
      expect(numbers(seen)).toEqual(upTo(last, starts[index]));
    }
    expect(starts.length).toBe(40);
  });

  test('a reader that stops reading neither delays the run nor stays subscribed', async () => {
    const step = calling(...Array.from({ length: 40 }, (_, n) => ['tick', { n }] as const));
    await using stage = await open([...Array.from({ length: 20 }, () => step), { text: 'done' }], {
      tools: [toolNamed('tick', () => 'ok')],
    });
    const run = stage.engine.run(worker, 'go');
    const stalled = run.events({ from: 1 });
    await stalled.next();
    const leaving = run.events({ from: 1 });
    await leaving.next();
    await leaving.return();

    expect((await run.outcome).stop).toEqual({ reason: 'completed' });

    // what it lost while it did not read comes from the run's own log
    const last = numbers(stage.envelopes).at(-1) ?? 0;
    expect(last).toBeGreaterThan(1600);
    expect(numbers(await collect(stalled))).toEqual(upTo(last, 2));
    expect(stage.engine.bus.stats().listeners).toBe(1);
  });

  test.each([0, -1, 1.5, Number.NaN])('`from: %s` is refused by name', async (from) => {
    await using stage = await open([{ text: 'done' }]);
    const run = stage.engine.run(worker, 'go');

    await expect(run.events({ from }).next()).rejects.toMatchObject({
      kind: 'invalid_request',
      message: expect.stringContaining(`not ${from}`) as string,
    });
    await run.outcome;
  });

  test('deltas carry no number, come before the text of their step, and are not in the replay', async () => {
    await using stage = await open([
      {
        text: 'Hello you',
        deltas: [
          { kind: 'thinking', text: 'hm' },
          { kind: 'text', text: 'Hello ' },
          { kind: 'text', text: 'you' },
        ],
      },
    ]);
    const run = stage.engine.run(worker, 'go');
    const live = await collect(run.events());
    const replayed = await collect(run.events({ from: 1 }));

    const ephemeral = live.filter(({ seq }) => seq === undefined);
    expect(ephemeral.map(({ event }) => event.type)).toEqual(['agent_delta', 'agent_delta']);
    const types = live.map(({ event }) => event.type);
    expect(types.lastIndexOf('agent_delta')).toBeLessThan(types.indexOf('agent_text'));
    expect(replayed.every(({ seq }) => seq !== undefined)).toBe(true);
  });

  test('two runs at once are numbered each for itself', async () => {
    await using stage = await open([calling(['t']), calling(['t']), { text: 'a' }, { text: 'b' }], {
      tools: [toolNamed('t', () => 'ok')],
    });

    const runs = [stage.engine.run(worker, 'one'), stage.engine.run(worker, 'two')];
    const logs = await Promise.all(runs.map((run) => collect(run.events({ from: 1 }))));

    for (const log of logs) expect(numbers(log)).toEqual(upTo(log.length));
    expect(logs.map((log) => new Set(log.map(({ event }) => ('run' in event ? event.run : ''))).size)).toEqual([1, 1]);
  });
});
