/** Takes what a load measured. */
export interface LoadReport {
  /** A figure and the most it may be. */
  atMost(name: string, value: number, limit: number, unit?: string): void;
  /** A figure for information. */
  note(name: string, value: number, unit?: string): void;
}

/** Runs one load at full size. What does not hold is a figure over its limit, or a rejection. */
export type Load = (report: LoadReport) => Promise<void>;

export interface PrintedReport extends LoadReport {
  /** No figure was over its limit. */
  readonly holds: boolean;
}

/** Prints a line for each figure. */
export function createPrintedReport(load: string, print: (line: string) => void): PrintedReport {
  let holds = true;
  return {
    get holds() {
      return holds;
    },
    atMost(name, value, limit, unit = '') {
      const isMet = value <= limit;
      holds &&= isMet;
      print(`${load}  ${name}: ${toText(value, unit)} (at most ${toText(limit, unit)}) ${isMet ? 'ok' : 'TOO MUCH'}`);
    },
    note: (name, value, unit = '') => print(`${load}  ${name}: ${toText(value, unit)}`),
  };
}

function toText(value: number, unit: string): string {
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(4));
  return `${rounded}${unit === '' ? '' : ` ${unit}`}`;
}
