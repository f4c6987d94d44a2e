/** One of several ways to do the same work. */
export interface Contender {
  readonly name: string;
  /** Does the work `count` times. */
  run(count: number): Promise<void> | void;
  /** Operations in one unit of `count`. Default 1. */
  readonly operations?: number;
}

export interface MeasureOptions {
  /**
   * `cpu` counts the processor time of this process, which neighbours on a shared machine hardly change: for work that stays
   * in the process. `wall` is for work that other processes or threads do with it. Default `cpu`.
   */
  readonly clock?: Clock;
  /** How often each contender is measured. Default 48, by `wall` 800. */
  readonly rounds?: number;
  /** About how long one measurement takes, in milliseconds. Default 25, by `wall` 1.5. */
  readonly sampleMs?: number;
  /** The share of the rounds that counts, the quietest ones. Default a quarter, by `wall` a sixteenth. */
  readonly kept?: number;
  /** How long each contender works before it is measured, in milliseconds. Default 400, by `wall` 2 000. */
  readonly warmUpMs?: number;
}

type Clock = 'cpu' | 'wall';

/** Nanoseconds of one operation, one value a round; the same index is the same round for all contenders. */
export type Series = readonly number[];

/** By the wall many short samples: some then fall between the disturbances of a busy machine. */
const defaults = {
  cpu: { rounds: 48, sampleMs: 25, kept: 1 / 4, warmUpMs: 400 },
  wall: { rounds: 800, sampleMs: 1.5, kept: 1 / 16, warmUpMs: 2_000 },
};

/**
 * Measures contenders side by side in one process: each round measures every one once, in an order that turns around with
 * each round. Only the quietest rounds count (a quarter, by `wall` a sixteenth), the same for all.
 *
 * No collection is forced in between: it would also throw away compiled code whose object shapes nobody holds at that moment,
 * and measure warming up.
 */
export async function measure(
  contenders: readonly Contender[],
  options: MeasureOptions = {},
): Promise<readonly Series[]> {
  const { clock = 'cpu' } = options;
  const { rounds, sampleMs, kept, warmUpMs } = { ...defaults[clock], ...options };
  let counts: number[] = [];
  for (const contender of contenders) counts.push(await calibrate(contender, { sampleMs, warmUpMs }, clock));
  // why: a process or thread that rested while another was measured answers its first call late, which must weigh alike
  if (clock === 'wall') counts = counts.map(() => Math.max(...counts));
  const measured = contenders.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = contenders.map((_, index) => (round % 2 === 0 ? index : contenders.length - 1 - index));
    for (const index of order) {
      const contender = contenders[index] as Contender;
      measured[index]?.push(await sample(contender, counts[index] ?? 1, clock));
    }
  }
  return keepQuiet(measured, Math.ceil(rounds * kept));
}

/** Work that takes too long to be repeated, and what warms it up. */
export interface LongContender {
  readonly contender: Contender;
  warmUp(): Promise<void> | void;
}

/** Measures contenders by processor time, each once. */
export async function measureOnce(contenders: readonly LongContender[]): Promise<readonly Series[]> {
  const measured: Series[] = [];
  for (const { contender, warmUp } of contenders) {
    await warmUp();
    measured.push([await sample(contender, 1, 'cpu')]);
  }
  return measured;
}

/** Warms up, then says how often the work fits into a sample, judged by the fastest that was seen. */
async function calibrate(
  contender: Contender,
  { sampleMs, warmUpMs }: { readonly sampleMs: number; readonly warmUpMs: number },
  clock: Clock,
): Promise<number> {
  const now = clocks[clock];
  const warmUntil = now() + warmUpMs * 1_000_000;
  let count = 1;
  let fastestMs = Infinity;
  while (now() < warmUntil || fastestMs === Infinity) {
    const startedAt = now();
    await contender.run(count);
    const tookMs = (now() - startedAt) / 1_000_000;
    if (tookMs < sampleMs / 2) count *= 2;
    else fastestMs = Math.min(fastestMs, tookMs / count);
  }
  return Math.max(1, Math.round(sampleMs / fastestMs));
}

async function sample(contender: Contender, count: number, clock: Clock): Promise<number> {
  const now = clocks[clock];
  const startedAt = now();
  await contender.run(count);
  const tookNs = now() - startedAt;
  return tookNs / (count * (contender.operations ?? 1));
}

/** Both in nanoseconds. */
const clocks = {
  cpu(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) * 1_000;
  },
  wall: (): number => performance.now() * 1_000_000,
};

/** The rounds in which the contender that was slowed down most was slowed down least. */
function keepQuiet(measured: readonly Series[], count: number): readonly Series[] {
  const fastest = measured.map((series) => quantile(series, 0.05));
  const slowdown = (round: number): number =>
    Math.max(...measured.map((series, index) => (series[round] ?? Infinity) / (fastest[index] ?? 1)));
  const quiet = [...(measured[0] ?? []).keys()].sort((left, right) => slowdown(left) - slowdown(right)).slice(0, count);
  return measured.map((series) => quiet.map((round) => series[round] ?? Number.NaN));
}

export function median(values: Series): number {
  return quantile(values, 0.5);
}

export function quantile(values: Series, share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}
