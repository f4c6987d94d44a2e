import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createWorkspace } from './workspace.ts';

test('the middle of a long diff is cut', async () => {
  using workspace = createWorkspace();
  workspace.write('a.txt', 'old line with some words\n'.repeat(1_000));

  const output = await workspace.call('edit_file', {
    path: 'a.txt',
    old_string: 'old',
    new_string: 'new',
    replace_all: true,
  });

  expect(output.metadata).toEqual({ path: 'a.txt', replacements: 1_000 });
  expect(output.content.length).toBeLessThan(8_100);
  expect(output.content).toMatch(/\n\[\.\.\. \d+ characters omitted \.\.\.\]\n/);
});

test('a snippet with its own CRLF is not doubled, a byte order mark is kept', async () => {
  using workspace = createWorkspace();
  workspace.write('a.txt', '\ufeffone\r\ntwo\r\n');

  await workspace.call('edit_file', { path: 'a.txt', old_string: 'one\ntwo', new_string: '1\r\n2\n3' });

  expect(readFileSync(join(workspace.root, 'a.txt'), 'utf8')).toBe('\ufeff1\r\n2\r\n3\r\n');
});

test.each([
  [{ path: 'dir', old_string: 'a', new_string: 'b' }, '`dir` is a directory and cannot be edited.'],
  [
    { path: 'no/such/file', old_string: 'a', new_string: 'b' },
    'File `no/such/file` does not exist. Use `write_file` to create it.',
  ],
  [{ path: '.', old_string: 'a', new_string: 'b' }, '`.` is a directory and cannot be edited.'],
  [{ path: 'big', old_string: 'a', new_string: 'b' }, '`big` is larger than 10 MiB and cannot be edited.'],
])('%j is refused', async (input, content) => {
  using workspace = createWorkspace();
  workspace.write('dir/x', '');
  workspace.write('big', Buffer.alloc(11 * 1_024 * 1_024, 'a'));

  expect(await workspace.call('edit_file', input)).toEqual({ content, is_error: true });
});

test('a write below a file and one onto the workspace itself are errors', async () => {
  using workspace = createWorkspace();
  workspace.write('file', '');

  expect((await workspace.call('write_file', { path: 'file/x', content: '' })).content).toBe(
    '`file/x` cannot be written: `file` is not a directory.',
  );
  expect((await workspace.call('write_file', { path: '.', content: '' })).content).toBe(
    '`.` is a directory and cannot be written as a file.',
  );
});

test('a write that is cancelled changes nothing', async () => {
  using workspace = createWorkspace();
  workspace.write('a.txt', 'old');
  const signal = AbortSignal.abort(new Error('enough'));

  await expect(workspace.call('write_file', { path: 'a.txt', content: 'new' }, { signal })).rejects.toThrow('enough');

  expect(readFileSync(join(workspace.root, 'a.txt'), 'utf8')).toBe('old');
});
