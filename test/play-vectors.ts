import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { loadVectorFiles } from '../scripts/vectors/files.ts';
import { playOne } from '../scripts/vectors/play.ts';
import { casesOf } from '../scripts/vectors/players.ts';
import type { PlayOptions, VectorFile } from '../scripts/vectors/types.ts';
import { silentLogger } from '../src/protocol/deps.ts';
import { createToolPool } from '../src/workers/tool-pool.ts';

/** Makes one test of each vector of a folder of `test/vectors`; several of a file run at once. */
export async function testVectors(
  folder: string,
  settings: Omit<PlayOptions, 'toolPool'>,
  isWanted: (file: VectorFile) => boolean = () => true,
): Promise<void> {
  const path = fileURLToPath(new URL(`./vectors/${folder}`, import.meta.url));
  const toolPool = createToolPool({ logger: silentLogger, minThreads: 0 });
  afterAll(() => toolPool.close());
  const options = { ...settings, toolPool };
  const files = (await loadVectorFiles([path])).filter(isWanted);

  test(`${folder}: vectors were found`, () => expect(files.length).toBeGreaterThan(0));

  for (const file of files) {
    describe.concurrent(basename(file.path), () => {
      for (const entry of casesOf(file)) {
        const play = entry.weight === 'alone' ? test.sequential : test;
        play(entry.id, async () => expect(await playOne(entry, options)).toEqual([]));
      }
    });
  }
}
