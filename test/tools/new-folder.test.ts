import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openWriteTarget } from '../../src/tools/write-target.ts';

test('calls that make the same new folder at the same time all get into it', async () => {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'new-folder-')));
  const scope = { root, configured: root, readable: [root] };

  const results = await Promise.all(
    Array.from({ length: 64 }, async (_, index) => {
      const target = await openWriteTarget(`a/b/${index}.txt`, scope, { createParents: true });
      if (!target.ok) return target.detail ?? target.reason;
      await target.replace(Buffer.from('x'), new AbortController().signal);
      await target[Symbol.asyncDispose]();
      return 'ok';
    }),
  );

  expect(results).toEqual(results.map(() => 'ok'));
  expect(await readdir(path.join(root, 'a/b'))).toHaveLength(64);
  await rm(root, { recursive: true });
});
