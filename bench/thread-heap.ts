import { BroadcastChannel } from 'node:worker_threads';
import type { Placement } from '../src/engine/options.ts';
import { goalText } from './contenders/task.ts';
import { openKindEngine, type ThreadKinds } from './contenders/threaded.ts';
import { heapInUse } from './heap.ts';
import type { Series } from './measure.ts';

const runs = 1_000;

/** Bytes of heap that a run takes while it waits for its model: in a thread (both sides of it together) and inline. */
export async function measureThreadHeap(
  kinds: ThreadKinds,
): Promise<{ readonly thread: Series; readonly inline: Series }> {
  return { thread: [await measurePlaced(kinds, 'thread')], inline: [await measurePlaced(kinds, 'inline')] };
}

async function measurePlaced(kinds: ThreadKinds, placement: Placement): Promise<number> {
  const name = `vibe-bus-bench-${placement}`;
  const channel = new BroadcastChannel(name);
  const engine = await openKindEngine(
    kinds.waitingKind,
    { channel: name },
    { placement, runThreads: 1, runsPerThread: runs },
  );
  const startAll = (): Promise<unknown> =>
    Promise.all(Array.from({ length: runs }, () => engine.run('counter', goalText).outcome));
  /** Of the main thread, and of the run thread when there is one. */
  const weigh = async (): Promise<number> => {
    const here = await heapInUse();
    if (placement === 'inline') return here;
    const weighed = hear(channel, 'heap', () => true);
    channel.postMessage('weigh');
    return here + (await weighed);
  };
  await startAll();
  const before = await weigh();
  channel.postMessage('shut');
  await hearShut();
  const arrived = hear(channel, 'waiting', (count) => count === runs);
  const ended = startAll();
  await arrived;
  const after = await weigh();
  channel.postMessage('open');
  await ended;
  channel.close();
  await engine.close();
  return (after - before) / runs;
}

/** Why a turn or two: the message has to cross before the next run does. */
async function hearShut(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** The first figure of this name that is wanted. */
function hear(channel: BroadcastChannel, figure: string, isWanted: (value: number) => boolean): Promise<number> {
  return new Promise((resolve) => {
    channel.onmessage = (event: unknown) => {
      const { data } = event as { readonly data: unknown };
      if (typeof data !== 'object' || data === null || !(figure in data)) return;
      const value = Number((data as { readonly [name: string]: unknown })[figure]);
      if (isWanted(value)) resolve(value);
    };
  });
}
