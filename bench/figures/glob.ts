import { lstatSync } from 'node:fs';
import path from 'node:path';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createToolPool } from '../../src/workers/tool-pool.ts';
import { toBuiltinCall } from '../builtin-call.ts';
import { type Contender, measure } from '../measure.ts';
import { type Fdir, loadFdir } from '../peers.ts';
import { type Row, toRow } from '../report.ts';
import { createSourceTree } from '../source-tree.ts';

/**
 * Files by pattern in a tree of 20 000: a few of them against fdir with picomatch, then all of them, newest first, against
 * fdir with picomatch and the same look at each file's time.
 */
export async function measureGlob(folder: string): Promise<readonly Row[]> {
  using tree = createSourceTree({ bytes: 20_000_000, fileBytes: 1_000 });
  const fdir = await loadFdir(folder);
  const pool = createToolPool({ logger: silentLogger, threads: 2, minThreads: 2 });
  const glob = toBuiltinCall('glob', tree.root, pool);
  const rows: Row[] = [];
  for (const { name, pattern, isTimed } of [
    { name: 'glob', pattern: '**/module-1?00.ts', isTimed: false },
    { name: 'glob.all', pattern: '**/*.ts', isTimed: true },
  ]) {
    const reference: Contender = {
      name: `fdir + picomatch${isTimed ? ' + times' : ''}`,
      run: repeat(async () => Promise.resolve(globByFdir(fdir, tree.root, pattern, isTimed))),
    };
    const own: Contender = { name: 'glob', run: repeat(async () => countPaths(await glob({ pattern }))) };
    const [ours = [], theirs = []] = await measure([own, reference], {
      clock: 'wall',
      rounds: 48,
      sampleMs: 1,
      kept: 1 / 4,
    });
    const row = { name, unit: 'ms', goal: 1.2, ours, reference: { name: reference.name, series: theirs } } as const;
    rows.push(toRow(row));
  }
  await pool.close();
  return rows;
}

function repeat(work: () => Promise<number>): Contender['run'] {
  return async (count) => {
    for (let index = 0; index < count; index += 1) {
      if ((await work()) < 10) throw new Error('files are missing');
    }
  };
}

function countPaths(output: string): number {
  return output.split('\n').length;
}

const skipped = new Set(['.git', 'target', 'node_modules']);

function globByFdir(Crawler: Fdir, root: string, pattern: string, isTimed: boolean): number {
  const found = new Crawler()
    .withRelativePaths()
    .globWithOptions([pattern], { dot: true })
    .exclude((name) => skipped.has(name))
    .crawl(root)
    .sync();
  if (!isTimed) return found.length;
  const times = found.map((file) => ({ file, at: lstatSync(path.join(root, file)).mtimeMs }));
  times.sort((left, right) => right.at - left.at || (left.file < right.file ? -1 : 1));
  return times.length;
}
