// The compiled half: node run.js [name…]
import { messageOf } from '../../src/protocol/error.ts';
import { loads } from './loads.ts';
import { createPrintedReport } from './report.ts';

const asked = process.argv.slice(2);

for (const [name, load] of Object.entries(loads)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const report = createPrintedReport(name, (line) => process.stdout.write(`${line}\n`));
  try {
    await load(report);
  } catch (error) {
    process.stdout.write(`${name}  FAILED ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
  if (!report.holds) process.exitCode = 1;
}
