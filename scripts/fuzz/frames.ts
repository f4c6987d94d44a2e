// tsx scripts/fuzz/frames.ts [count] [seed]
import { fuzzFrames } from './frames-runs.ts';

const count = Number(process.argv[2] ?? 100_000);
const seed = Number(process.argv[3] ?? 1);
const report = await fuzzFrames({ count, seed });
for (const line of report.violations) process.stdout.write(`VIOLATION ${line}\n`);
process.stdout.write(
  `F1 seed ${seed}: ${report.calls} calls, ${report.frames} bad frames, ${report.violations.length} violations\n`,
);
process.exitCode = report.violations.length === 0 && report.calls > 0 ? 0 : 1;
