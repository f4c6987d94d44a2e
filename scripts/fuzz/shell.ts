// tsx scripts/fuzz/shell.ts [count] [seed]
import { fuzzShell } from './shell-runs.ts';

const count = Number(process.argv[2] ?? 20_000);
const seed = Number(process.argv[3] ?? 1);
const report = await fuzzShell({ count, seed });
for (const line of report.violations) process.stdout.write(`VIOLATION ${line}\n`);
process.stdout.write(
  `F3 seed ${seed}: ${report.generated} commands, ${report.allowed} allowed, ${report.started} programs started, ${report.violations.length} violations\n`,
);
process.exitCode = report.violations.length === 0 && report.allowed > 0 ? 0 : 1;
