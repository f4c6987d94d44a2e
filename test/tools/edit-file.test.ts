import { readdirSync, readFileSync } from 'node:fs';
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

test.each([
  ['aaa', 'aa', 2],
  ['}\n}\n}\n', '}\n}', 2],
  ['ab ab ab', 'ab', 3],
])('in %j the text %j is not in one place: %i', async (content, oldText, count) => {
  using workspace = createWorkspace();
  const file = workspace.write('a.txt', content);
  const input = { path: 'a.txt', old_string: oldText, new_string: 'x' };

  expect((await workspace.call('edit_file', input)).content).toMatch(
    new RegExp(`^\`old_string\` occurs ${count} times in \`a\\.txt\`\\.`),
  );
  expect(readFileSync(file, 'utf8')).toBe(content);
  expect((await workspace.call('edit_file', { ...input, replace_all: true })).is_error).toBe(false);
  expect(readFileSync(file, 'utf8')).toBe(content.replaceAll(oldText, 'x'));
});

test('half of a character is in no text', async () => {
  using workspace = createWorkspace();
  const file = workspace.write('a.txt', 'x😀y');

  for (const half of ['\ud83d', '\ude00', 'x\ud83d']) {
    const output = await workspace.call('edit_file', { path: 'a.txt', old_string: half, new_string: 'z' });
    expect(output.content).toMatch(/^`old_string` was not found in `a\.txt`\./);
  }
  expect(readFileSync(file, 'utf8')).toBe('x😀y');
});

test.each([
  ['a\r\nb\r\n', 'a\nb', '1\n2', '1\r\n2\r\n'],
  ['a\nb\nc\r\n', 'a\nb', '1\n2', '1\n2\nc\r\n'],
  ['a\r\nb', 'b', '1\n2', 'a\r\n1\n2'],
  ['a\nb', 'a\r\nb', 'x', undefined],
  ['a\r\nb\r\na\r\nb\r\n', 'a\nb', 'x', undefined],
  ['a\nb', 'b', '', 'a\n'],
  ['a', 'a', '', ''],
])('in %j, %j becomes %j', async (content, oldText, newText, expected) => {
  using workspace = createWorkspace();
  const file = workspace.write('a.txt', content);

  const output = await workspace.call('edit_file', { path: 'a.txt', old_string: oldText, new_string: newText });

  expect(output.is_error).toBe(expected === undefined);
  expect(readFileSync(file, 'utf8')).toBe(expected ?? content);
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
  [
    { path: 'none', old_string: 'a', new_string: 'b' },
    '`old_string` was not found in `none`. It must match the file exactly, blanks and line breaks included; read the file again.',
  ],
])('%j is refused', async (input, content) => {
  using workspace = createWorkspace();
  workspace.write('dir/x', '');
  workspace.write('none', '');
  workspace.write('big', Buffer.alloc(11 * 1_024 * 1_024, 'a'));

  expect(await workspace.call('edit_file', input)).toEqual({ content, is_error: true });
});

test('a file of exactly 10 MiB is edited', async () => {
  using workspace = createWorkspace();
  workspace.write('big', `${'a\n'.repeat(5 * 1_024 * 1_024 - 1)}b\n`);

  expect((await workspace.call('edit_file', { path: 'big', old_string: 'b', new_string: 'c' })).is_error).toBe(false);
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
  expect(readdirSync(workspace.root)).toEqual(['a.txt']);
});
