// npm run fuzz -- [name] [count] [seed]
import { targets } from './targets.ts';

const [name, countText, seedText] = process.argv.slice(2);
const names = name === undefined ? Object.keys(targets) : [name];
const seed = Number(seedText ?? 1);
const isUsable = names.every((entry) => Object.hasOwn(targets, entry)) && [countText ?? 1, seed].every(isCount);

if (isUsable) {
  for (const entry of names) await fuzz(entry);
} else {
  process.stderr.write(`usage: npm run fuzz -- [name] [count] [seed]\nnames: ${Object.keys(targets).join(' ')}\n`);
  process.exitCode = 2;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(Number(value)) && Number(value) > 0;
}

async function fuzz(entry: string): Promise<void> {
  const target = targets[entry];
  if (target === undefined) return;
  const { did, violations } = await target.run({ count: Number(countText ?? target.count), seed });
  for (const violation of violations) process.stdout.write(`VIOLATION ${violation}\n`);
  process.stdout.write(`${target.row} ${entry}, seed ${seed}: ${did}, ${violations.length} violations\n`);
  if (violations.length > 0) process.exitCode = 1;
}
