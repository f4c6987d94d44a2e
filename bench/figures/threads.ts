import type { Engine } from '../../src/engine.ts';
import { goalText } from '../contenders/task.ts';
import { loadKinds, openKindEngine, type ThreadKinds } from '../contenders/threaded.ts';
import { type Contender, measure, type Series } from '../measure.ts';
import { type Row, toRow } from '../report.ts';
import { openRawThreads } from '../raw-threads.ts';
import { measureThreadHeap } from '../thread-heap.ts';

const runs = 32;
/** Of the throughput figure: when one ends the next begins, so that no thread rests for long at the end of a sample. */
const runsAtOnce = 8;
const steps = 10;
const workMs = 2;
const delayLimitMs = 20;
const nsPerMs = 1_000_000;

/** Runs that compute for two milliseconds in every step: two threads against one, and what the main thread feels of it. */
export async function measureThreads(folder: string): Promise<readonly Row[]> {
  const kinds = await loadKinds(folder);
  const records = calibrate(kinds);
  const extra = { steps, records };
  const open = (runThreads: number): Promise<Engine> =>
    openKindEngine(kinds.busyKind, extra, { placement: 'thread', runThreads });
  // why: what V8 learns of the work in a thread differs from thread to thread, and a figure must not hang on one of them
  const ones = [await open(1), await open(1)];
  const twos = [await open(2), await open(2)];
  const inline = await openKindEngine(kinds.busyKind, extra, { placement: 'inline' });
  const raw = await openRawThreads(folder, records);
  const [twoNs = [], oneNs = [], rawTwoNs = [], rawOneNs = []] = await measure(
    [
      toContender('2 threads', twos),
      toContender('1 thread', ones),
      { name: '2 bare threads', operations: 2 * runs, run: (count) => raw.work(2, count * runs) },
      { name: '1 bare thread', operations: 2 * runs, run: (count) => raw.work(1, 2 * count * runs) },
    ],
    // why: every thread learns the engine's code anew, and for some ten seconds the compiler takes a part of the cores
    { clock: 'wall', rounds: 24, sampleMs: 300, kept: 1 / 6, warmUpMs: 10_000 },
  );
  await raw.close();
  const delays = await measureDelays(twos[0] as Engine, inline);
  const starts = await measureStarts(kinds);
  await Promise.all([...ones, ...twos, inline].map((engine) => engine.close()));
  const heap = await measureThreadHeap(kinds);
  return [
    toRow({ name: 'threads', unit: 'us', goal: 1 / 1.7, ours: twoNs, reference: { name: '1 thread', series: oneNs } }),
    toRow({
      name: 'threads.raw',
      unit: 'us',
      goal: null,
      ours: rawTwoNs,
      reference: { name: '1 bare thread, the work alone', series: rawOneNs },
    }),
    toRow({
      name: 'threads.delay',
      unit: 'ms',
      goal: 1,
      ours: delays.thread,
      reference: { name: 'the limit', series: delays.thread.map(() => delayLimitMs * nsPerMs) },
    }),
    toRow({
      name: 'threads.delay-inline',
      unit: 'ms',
      goal: null,
      ours: delays.thread,
      reference: { name: 'the same runs inline', series: delays.inline },
    }),
    toRow({
      name: 'threads.start',
      unit: 'ms',
      goal: null,
      ours: starts.thread,
      reference: { name: 'a first run inline', series: starts.inline },
    }),
    toRow({
      name: 'threads.heap',
      unit: 'KiB',
      goal: null,
      ours: heap.thread,
      reference: { name: 'a waiting run inline', series: heap.inline },
    }),
  ];
}

/** How large a JSON answer takes so long to read and check. */
function calibrate({ toRecords, work }: ThreadKinds): number {
  const sample = 1_000;
  const text = toRecords(sample);
  const took: number[] = [];
  for (let round = 0; round < 300; round += 1) {
    const startedAt = performance.now();
    work(text);
    took.push(performance.now() - startedAt);
  }
  return Math.max(1, Math.round((sample * workMs) / Math.min(...took)));
}

/** @param engines take turns */
function toContender(name: string, engines: readonly Engine[]): Contender {
  let samples = 0;
  return {
    name,
    operations: runsAtOnce * steps,
    async run(count) {
      const engine = engines[samples % engines.length] as Engine;
      samples += 1;
      let left = count * runsAtOnce;
      const takeNext = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          const outcome = await engine.run('counter', goalText).outcome;
          if (outcome.steps !== steps) throw new Error('a step is missing');
        }
      };
      await Promise.all(Array.from({ length: runsAtOnce }, takeNext));
    },
  };
}

async function runAll(engine: Engine): Promise<void> {
  const outcomes = await Promise.all(
    Array.from({ length: runs }, () => engine.run('counter', goalText, { maxParallelTools: 8 }).outcome),
  );
  if (outcomes.some((outcome) => outcome.steps !== steps)) throw new Error('a step is missing');
}

/** 99 of 100 delays of the main thread's event loop are at most this long, in nanoseconds, while such runs execute. */
async function measureDelays(
  threaded: Engine,
  inline: Engine,
): Promise<{ readonly thread: Series; readonly inline: Series }> {
  const thread: number[] = [];
  const here: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    thread.push(await delayDuring(threaded));
    here.push(await delayDuring(inline));
  }
  return { thread, inline: here };
}

async function delayDuring(engine: Engine): Promise<number> {
  engine.stats();
  for (let index = 0; index < 3; index += 1) await runAll(engine);
  return engine.stats().loop.p99_ms * nsPerMs;
}

/** From the first call of `run` to its outcome, in nanoseconds: in a thread that has to start, and inline. */
async function measureStarts(kinds: ThreadKinds): Promise<{ readonly thread: Series; readonly inline: Series }> {
  const starts = { thread: [] as number[], inline: [] as number[] };
  for (let round = 0; round < 5; round += 1) {
    for (const placement of ['thread', 'inline'] as const) {
      await using engine = await openKindEngine(kinds.busyKind, { steps: 1, records: 1 }, { placement });
      const startedAt = performance.now();
      await engine.run('counter', goalText).outcome;
      starts[placement].push((performance.now() - startedAt) * nsPerMs);
    }
  }
  return starts;
}
