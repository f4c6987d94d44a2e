import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WorkerEntry } from '../../src/workers/entry.ts';

/**
 * The file of tool threads as a release has it. From source a thread loads a compiler first, and what a replaced thread costs
 * would be the compiler's start.
 * @throws Error when the sources do not compile
 */
export function compileToolWorker(): WorkerEntry {
  const root = path.join(import.meta.dirname, '../..');
  const built = path.join(root, 'node_modules', '.cache', 'vibe-bus-load');
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  const { status } = spawnSync(tsc, ['-p', path.join(root, 'tsconfig.build.json'), '--outDir', built], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error('the sources do not compile');
  // why no options: threads get those of the process else, and this one's make each of them load the compiler as well
  return { filename: pathToFileURL(path.join(built, 'workers', 'tool-worker.js')).href, execArgv: [] };
}
