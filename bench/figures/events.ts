import { Worker } from 'node:worker_threads';
import { goalText } from '../contenders/task.ts';
import { loadKinds, openKindEngine } from '../contenders/threaded.ts';
import { median } from '../measure.ts';
import { type Row, toRow } from '../report.ts';

const pieces = 64 * 1_000;
const rounds = 8;
/** Enough by itself, whatever a bare loop does on this machine: 400,000 events in a second. */
const enoughNs = 2_500;

/** Events of a kilobyte from a run thread to an observer of the bus, against a bare loop that posts them by 64. */
export async function measureEvents(folder: string): Promise<readonly Row[]> {
  const { talkingKind } = await loadKinds(folder);
  const engine = await openKindEngine(talkingKind, { pieces }, { placement: 'thread', runThreads: 1 });
  let seen = 0;
  engine.bus.on('agent_delta', ({ event }) => {
    seen += event.delta.text.length / 1_024;
  });
  const sender = new Worker(barePoster, { eval: true });
  const ours: number[] = [];
  const reference: number[] = [];
  for (let round = 0; round < rounds + 2; round += 1) {
    seen = 0;
    const startedAt = performance.now();
    await engine.run('counter', goalText).outcome;
    const oursNs = ((performance.now() - startedAt) * 1_000_000) / seen;
    const referenceNs = await measureBare(sender);
    // the first two are for the compiler
    if (round < 2) continue;
    ours.push(oursNs);
    reference.push(referenceNs);
  }
  await sender.terminate();
  await engine.close();
  const goal = Math.max(1 / 0.7, enoughNs / median(reference));
  return [
    toRow({ name: 'events', unit: 'ns', goal, ours, reference: { name: 'postMessage by 64', series: reference } }),
  ];
}

async function measureBare(sender: Worker): Promise<number> {
  let seen = 0;
  const startedAt = performance.now();
  const ended = new Promise<void>((resolve) => {
    sender.removeAllListeners('message');
    sender.on('message', (events: readonly object[]) => {
      seen += events.length;
      if (seen === pieces) resolve();
    });
  });
  sender.postMessage(pieces);
  await ended;
  return ((performance.now() - startedAt) * 1_000_000) / pieces;
}

/** The same objects, made and posted without anything else. */
const barePoster = `
  const { parentPort } = require('node:worker_threads');
  const text = 'x'.repeat(1024);
  const run = 'a3f1c0de-0000-4000-8000-000000000001';
  parentPort.on('message', async (pieces) => {
    for (let sent = 0; sent < pieces; sent += 64) {
      const events = [];
      for (let index = 0; index < 64; index += 1) {
        const kind = index % 2 === 0 ? 'text' : 'thinking';
        events.push({ type: 'agent_delta', run, role: 'counter', subtask: null, delta: { kind, text } });
      }
      parentPort.postMessage(events);
      await new Promise(setImmediate);
    }
  });
`;
