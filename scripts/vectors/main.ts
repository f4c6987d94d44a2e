// npm run vectors -- <file or folder>… [--only <id>] [--tick <ms>] [--threads]
import { parseArgs } from 'node:util';
import { silentLogger } from '../../src/protocol/deps.ts';
import { messageOf } from '../../src/protocol/error.ts';
import { createRunPool } from '../../src/workers/run-pool.ts';
import { createToolPool } from '../../src/workers/tool-pool.ts';
import { loadVectorFiles } from './files.ts';
import { playAll, type PlayedCase } from './play.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, tick: { type: 'string' }, threads: { type: 'boolean', default: false } },
});

const tickMs = values.tick === undefined ? 100 : Number(values.tick);
if (positionals.length === 0 || !Number.isFinite(tickMs) || tickMs <= 0) {
  process.stderr.write('usage: npm run vectors -- <file or folder>… [--only <id>] [--tick <ms>] [--threads]\n');
  process.exit(2);
}

let passed = 0;
let failed = 0;

function report(played: PlayedCase): void {
  if (played.differences.length === 0) passed += 1;
  else {
    failed += 1;
    process.stdout.write(`FAILED ${played.file} ${played.id}: ${played.differences.join(' | ')}\n`);
  }
}

const runPool = values.threads ? createRunPool({ logger: silentLogger }) : undefined;
const toolPool = createToolPool({ logger: silentLogger, minThreads: 0 });
const options = { tickMs, threads: values.threads, toolPool, ...(runPool === undefined ? {} : { runPool }) };
try {
  const files = await loadVectorFiles(positionals);
  await playAll(files, { ...options, only: values.only, report });
} catch (error) {
  failed += 1;
  process.stdout.write(`FAILED ${messageOf(error)}\n`);
}
await Promise.all([toolPool.close(), runPool?.close()]);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
