/** Colours of a terminal, or nothing at all: the text itself must say everything. */
export interface Style {
  strong(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  caution(text: string): string;
}

export function createStyle(hasColors: boolean): Style {
  const paint =
    (start: number, end: number) =>
    (text: string): string =>
      hasColors && text !== '' ? `\u001b[${start}m${text}\u001b[${end}m` : text;
  return {
    strong: paint(1, 22),
    faint: paint(2, 22),
    good: paint(32, 39),
    bad: paint(31, 39),
    caution: paint(33, 39),
  };
}
