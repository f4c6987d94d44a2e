/** One of several ways to do the same work. */
export interface Contender {
  readonly name: string;
  /** Does the work `count` times. */
  run(count: number): Promise<void> | void;
  /** Operations in one unit of `count`. Default 1. */
  readonly operations?: number;
}

export interface MeasureOptions {
  /** How often each contender is measured. Default 25. */
  readonly rounds?: number;
  /** About how long one measurement takes, in milliseconds. Default 40. */
  readonly sampleMs?: number;
  /**
   * `cpu` counts the processor time of this process, which neighbours on a shared machine hardly change: for work that stays
   * in the process. `wall` is for work that other processes or threads do with it. Default `cpu`.
   */
  readonly clock?: 'cpu' | 'wall';
}

/** Nanoseconds of one operation, one value a round; the same index is the same round for all contenders. */
export type Series = readonly number[];

/**
 * Measures contenders side by side in one process: each round measures every one once, in an order that turns around with
 * each round, each after a full collection. What disturbs the machine for longer than a sample so hits all of them, and the
 * ratio within a round stays fair.
 */
export async function measure(
  contenders: readonly Contender[],
  options: MeasureOptions = {},
): Promise<readonly Series[]> {
  const { rounds = 25, sampleMs = 40, clock = 'cpu' } = options;
  const counts: number[] = [];
  for (const contender of contenders) counts.push(await calibrate(contender, sampleMs));
  const series = contenders.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = contenders.map((_, index) => (round % 2 === 0 ? index : contenders.length - 1 - index));
    for (const index of order) {
      const contender = contenders[index] as Contender;
      series[index]?.push(await sample(contender, counts[index] ?? 1, clocks[clock]));
    }
  }
  return series;
}

/** Warms up until the count of a sample has settled. */
async function calibrate(contender: Contender, sampleMs: number): Promise<number> {
  let count = 1;
  const warmUntil = performance.now() + sampleMs * 8;
  for (;;) {
    const startedAt = clocks.cpu();
    await contender.run(count);
    const tookMs = (clocks.cpu() - startedAt) / 1_000_000;
    if (tookMs >= sampleMs / 2 && performance.now() >= warmUntil) {
      return Math.max(1, Math.round((count * sampleMs) / tookMs));
    }
    if (tookMs < sampleMs / 2) count *= 2;
  }
}

/** Both in nanoseconds. */
const clocks = {
  cpu(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) * 1_000;
  },
  wall: (): number => performance.now() * 1_000_000,
};

async function sample(contender: Contender, count: number, now: () => number): Promise<number> {
  globalThis.gc?.();
  const startedAt = now();
  await contender.run(count);
  const tookNs = now() - startedAt;
  return tookNs / (count * (contender.operations ?? 1));
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
