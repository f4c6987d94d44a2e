// The compiled half of the benchmark: node --expose-gc run.js <bench folder> [<name>…] [--json]
import { messageOf } from '../src/protocol/error.ts';
import { measureActors } from './figures/actors.ts';
import { measureBus } from './figures/bus.ts';
import { measureExtract } from './figures/extract.ts';
import { measureStep } from './figures/step.ts';
import { figureNames } from './names.ts';
import { type Row, toHeader, toText } from './report.ts';

/** @param folder the source folder of the benchmark, where its peers are installed */
type MeasureFigure = (folder: string) => Promise<readonly Row[]>;

const figures: { readonly [name: string]: MeasureFigure } = {
  step: measureStep,
  bus: measureBus,
  extract: measureExtract,
  actors: measureActors,
};

const [folder = '', ...rest] = process.argv.slice(2);
const isJson = rest.includes('--json');
const asked = rest.filter((arg) => arg !== '--json');

if (!isJson) process.stdout.write(`${toHeader()}\n`);
for (const name of figureNames) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  try {
    for (const row of (await figures[name]?.(folder)) ?? []) {
      process.stdout.write(`${isJson ? JSON.stringify(row) : toText(row)}\n`);
    }
  } catch (error) {
    process.stderr.write(`${name}: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}
