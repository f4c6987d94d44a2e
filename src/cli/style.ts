import { toPrintableLine } from '../telemetry/printable.ts';

/**
 * Colours of a terminal, or nothing at all: the text itself must say everything. What is handed over is outside text: it is
 * shown on one line with control characters escaped, so it can neither break out of its line nor drive the terminal (PD9).
 * Do not put one inside another.
 */
export interface Style {
  plain(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  caution(text: string): string;
}

export function createStyle(hasColors: boolean): Style {
  const paint =
    (start: number, end: number) =>
    (text: string): string => {
      const shown = toPrintableLine(text);
      return hasColors && shown !== '' ? `\u001b[${start}m${shown}\u001b[${end}m` : shown;
    };
  return {
    plain: toPrintableLine,
    strong: paint(1, 22),
    faint: paint(2, 22),
    good: paint(32, 39),
    bad: paint(31, 39),
    caution: paint(33, 39),
  };
}
