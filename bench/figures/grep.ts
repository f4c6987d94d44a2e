import { execFileSync, spawn } from 'node:child_process';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createToolPool } from '../../src/workers/tool-pool.ts';
import { toBuiltinCall } from '../builtin-call.ts';
import { type Contender, measure } from '../measure.ts';
import { type Row, toRow } from '../report.ts';
import { createSourceTree, type SourceTree } from '../source-tree.ts';

/** A literal in 200 MB of source: against ripgrep on as many threads, and against one thread of our own. */
export async function measureGrep(): Promise<readonly Row[]> {
  using tree = createSourceTree({ bytes: 200_000_000, fileBytes: 10_000 });
  const pools = [2, 1].map((threads) => createToolPool({ logger: silentLogger, threads, minThreads: threads }));
  const [two, one] = pools.map((pool): Contender => {
    const grep = toBuiltinCall('grep', tree.root, pool);
    return {
      name: `the same on ${pool.maxThreads} thread`,
      run: repeat(async () => expectFound(await grep({ pattern: tree.needle }), tree)),
    };
  });
  if (two === undefined || one === undefined) throw new Error('a pool is missing');
  const rows: Row[] = [];
  const options = { clock: 'wall', rounds: 24, sampleMs: 1, kept: 1 / 4 } as const;
  if (hasRipgrep()) {
    const ripgrep: Contender = {
      name: 'rg -j2',
      run: repeat(async () => expectFound(await callRipgrep(tree), tree)),
    };
    const [ours = [], reference = []] = await measure([two, ripgrep], options);
    rows.push(
      toRow({ name: 'grep', unit: 'ms', goal: 1.5, ours, reference: { name: ripgrep.name, series: reference } }),
    );
  } else process.stderr.write('grep: no figure against ripgrep, `rg` is not on the PATH\n');
  const [ours = [], reference = []] = await measure([two, one], options);
  rows.push(
    toRow({ name: 'grep.2-threads', unit: 'ms', goal: 0.667, ours, reference: { name: one.name, series: reference } }),
  );
  for (const pool of pools) await pool.close();
  return rows;
}

function repeat(work: () => Promise<void>): Contender['run'] {
  return async (count) => {
    for (let index = 0; index < count; index += 1) await work();
  };
}

function hasRipgrep(): boolean {
  try {
    execFileSync('rg', ['--version']);
    return true;
  } catch {
    return false;
  }
}

function callRipgrep({ root, needle }: SourceTree): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('rg', ['-j2', '--files-with-matches', '--fixed-strings', needle, '.'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', reject).once('close', () => resolve(output.trim()));
  });
}

function expectFound(output: string, { found }: SourceTree): void {
  const count = output.split('\n').length;
  if (count !== found) throw new Error(`${count} files were found instead of ${found}`);
}
