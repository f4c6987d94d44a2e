import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWorkspace } from './workspace.ts';

const steps = [
  'a b up out abs loop dang .. . secret.txt new .git ~ "a" a\\b %2e%2e ...'.split(' '),
  ['', ' ', '\u200b', 'only-outside.txt'],
].flat();
const step = fc.constantFrom(...steps);

test('no path string leads a tool out of the workspace', async () => {
  using workspace = createWorkspace();
  workspace.write('a/b/file.txt', 'inside');
  writeFileSync(join(workspace.outside, 'marker.txt'), 'secret');
  workspace.link('up', '..');
  workspace.link('out', '../repo-evil');
  workspace.link('a/abs', workspace.outside);
  workspace.link('a/b/up', '../../..');
  workspace.link('loop', 'loop');
  workspace.link('dang', '../repo-evil/new');
  const path = fc
    .tuple(
      fc.constantFrom('', '/', `${workspace.root}/`, `${workspace.outside}/`, './'),
      fc.array(step, { maxLength: 6 }),
    )
    .map(([start, parts]) => start + parts.join('/'));

  await fc.assert(
    fc.asyncProperty(path, async (given) => {
      const outputs = [
        await workspace.call('read_file', { path: given }),
        await workspace.call('list_dir', { path: given }),
        await workspace.call('grep', { pattern: 'secret', path: given, output_mode: 'content' }),
        await workspace.call('write_file', { path: given, content: 'planted' }),
        await workspace.call('edit_file', { path: given, old_string: 'secret', new_string: 'changed' }),
      ];

      for (const { content } of outputs) expect(content).not.toMatch(/\tsecret$|:secret$|marker/m);
      expect(readdirSync(workspace.outside)).toEqual(['marker.txt', 'secret.txt']);
    }),
    { seed: 5, numRuns: 100 },
  );
});
