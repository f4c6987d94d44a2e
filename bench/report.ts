import { median, quantile, type Series } from './measure.ts';

export type Unit = 'ns' | 'us' | 'ms' | 'KiB';

/** One line of the report: ours against one reference of the same run. */
export interface Row {
  readonly name: string;
  readonly unit: Unit;
  readonly ours: number;
  readonly reference: { readonly name: string; readonly value: number };
  /** Median of the ratios of the rounds, ours over the reference. */
  readonly ratio: number;
  /** What the ratio may be at most; null for a figure without a goal. */
  readonly goal: number | null;
  readonly met: boolean | null;
  /** The middle half of the rounds' ratios is this wide, as a share of `ratio`. */
  readonly spread: number;
}

/** What a series counts in: nanoseconds, for memory bytes. */
const divisors: { readonly [unit in Unit]: number } = { ns: 1, us: 1_000, ms: 1_000_000, KiB: 1_024 };

export interface RowInput {
  readonly name: string;
  readonly unit: Unit;
  readonly goal: number | null;
  readonly ours: Series;
  readonly reference: { readonly name: string; readonly series: Series };
}

export function toRow({ name, unit, goal, ours, reference }: RowInput): Row {
  const ratios = ours.map((value, round) => value / (reference.series[round] ?? Number.NaN));
  const ratio = median(ratios);
  return {
    name,
    unit,
    ours: round(median(ours) / divisors[unit]),
    reference: { name: reference.name, value: round(median(reference.series) / divisors[unit]) },
    ratio: round(ratio),
    goal,
    met: goal === null ? null : ratio <= goal,
    spread: round((quantile(ratios, 0.75) - quantile(ratios, 0.25)) / ratio),
  };
}

/** Three significant digits are more than a benchmark is worth. */
function round(value: number): number {
  return Number(value.toPrecision(3));
}

const columns = ['figure', 'ours', 'reference', 'ratio', 'goal', 'met', 'spread'];
const widths = [22, 12, 42, 8, 8, 6, 7];

export function toHeader(): string {
  return toLine(columns);
}

export function toText(row: Row): string {
  const { reference, unit } = row;
  return toLine([
    row.name,
    `${row.ours} ${unit}`,
    `${reference.value} ${unit} ${reference.name}`,
    row.ratio.toFixed(row.ratio < 1 ? 3 : 2),
    row.goal === null ? '-' : `<= ${round(row.goal)}`,
    row.met === null ? '-' : row.met ? 'yes' : 'NO',
    `${Math.round(row.spread * 100)} %`,
  ]);
}

function toLine(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join('  ')
    .trimEnd();
}
