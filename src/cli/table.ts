import { countCharacters } from '../protocol/json.ts';
import { toPrintableLine } from '../telemetry/printable.ts';

/** Rows as aligned columns, two blanks apart; the last column is never padded. Outside text may be in any cell. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const printable = rows.map((row) => row.map(toPrintableLine));
  const widths: number[] = [];
  for (const row of printable) {
    row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, countCharacters(cell))));
  }
  return printable
    .map((row) =>
      row.map((cell, index) => (index === row.length - 1 ? cell : pad(cell, widths[index] ?? 0))).join('  '),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - countCharacters(text)));
}
