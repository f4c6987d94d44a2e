import { basename } from 'node:path';
import { messageOf } from '../../src/protocol/error.ts';
import { casesOf } from './players.ts';
import type { PlayOptions, VectorCase, VectorFile } from './types.ts';

export interface PlayedCase {
  readonly file: string;
  readonly id: string;
  readonly differences: readonly string[];
}

export interface PlayAllOptions extends PlayOptions {
  readonly only?: string | undefined;
  report(played: PlayedCase): void;
}

const concurrency = { many: 16, few: 4, alone: 1 } as const;

/** Plays all cases of all files, several at once, and reports each as it ends. A file that cannot be read as cases counts once. */
export async function playAll(files: readonly VectorFile[], options: PlayAllOptions): Promise<void> {
  const queues: Record<VectorCase['weight'], { file: string; entry: VectorCase }[]> = {
    many: [],
    few: [],
    alone: [],
  };
  for (const file of files) {
    const name = basename(file.path);
    try {
      for (const entry of casesOf(file)) {
        if (options.only === undefined || entry.id === options.only) queues[entry.weight].push({ file: name, entry });
      }
    } catch (error) {
      options.report({ file: name, id: '-', differences: [messageOf(error)] });
    }
  }
  for (const weight of ['many', 'few', 'alone'] as const) {
    const queue = queues[weight];
    const workers = Array.from({ length: concurrency[weight] }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        options.report({ file: next.file, id: next.entry.id, differences: await playOne(next.entry, options) });
      }
    });
    await Promise.all(workers);
  }
}

/** Plays one case; whatever it throws is a difference. */
export async function playOne(entry: VectorCase, options: PlayOptions): Promise<readonly string[]> {
  try {
    return await entry.play(options);
  } catch (error) {
    return [`threw: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
  }
}
