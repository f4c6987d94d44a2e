// The numbers of agent-runtime 16, each exactly at its limit and one over.
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createOutputCollector } from '../../src/tools/output-collector.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

describe('read_file', () => {
  const cut = (count: number): string => `… [line truncated, ${count} characters in total]`;
  test.each([
    ['2 000 characters', 'x'.repeat(2_000), 'x'.repeat(2_000)],
    ['2 001 characters', 'x'.repeat(2_001), 'x'.repeat(2_000) + cut(2_001)],
    ['2 000 characters of two units', '😀'.repeat(2_000), '😀'.repeat(2_000)],
    ['2 001 characters of two units', '😀'.repeat(2_001), '😀'.repeat(2_000) + cut(2_001)],
    ['2 000 characters and a carriage return', `${'x'.repeat(2_000)}\r`, 'x'.repeat(2_000)],
    ['2 001 characters and a carriage return', `${'x'.repeat(2_001)}\r`, 'x'.repeat(2_000) + cut(2_001)],
    ['a byte order mark and 2 000 characters', `\ufeff${'x'.repeat(2_000)}`, 'x'.repeat(2_000)],
    ['a byte order mark and 2 001 characters', `\ufeff${'x'.repeat(2_001)}`, 'x'.repeat(2_000) + cut(2_001)],
  ])('a line of %s', async (_, line, shown) => {
    using workspace = createWorkspace();
    workspace.write('whole.txt', `${line}\nnext\n`);
    workspace.write('open.txt', line);

    expect((await workspace.call('read_file', { path: 'whole.txt' })).content).toBe(`     1\t${shown}\n     2\tnext`);
    expect((await workspace.call('read_file', { path: 'open.txt' })).content).toBe(`     1\t${shown}`);
  });

  test.each([
    [2_000, {}, ''],
    [2_001, {}, '\n\n(Showing lines 1-2000 of 2001 total lines. Use offset=2001 to read more.)'],
    [2_001, { offset: 2 }, '\n\n(Showing lines 2-2001 of 2001 total lines.)'],
    [3, { limit: 3 }, ''],
    [3, { limit: 2 }, '\n\n(Showing lines 1-2 of 3 total lines. Use offset=3 to read more.)'],
    [3, { offset: 3, limit: 1 }, '\n\n(Showing lines 3-3 of 3 total lines.)'],
    [10_001, { limit: 10_000 }, '\n\n(Showing lines 1-10000 of 10001 total lines. Use offset=10001 to read more.)'],
  ])('%i lines read with %j', async (count, page, note) => {
    using workspace = createWorkspace();
    workspace.write('ended.txt', 'x\n'.repeat(count));
    workspace.write('open.txt', `${'x\n'.repeat(count - 1)}x`);

    for (const path of ['ended.txt', 'open.txt']) {
      const { content } = await workspace.call('read_file', { path, ...page });
      expect(content.slice(content.lastIndexOf('\tx') + 2)).toBe(note);
    }
  });

  test.each([
    ['a NUL as the last of the first 8 192 bytes', Buffer.from(`${'x'.repeat(8_191)}\0`), true],
    ['a NUL behind them', Buffer.from(`${'x'.repeat(8_192)}\0`), false],
    ['30 % control bytes', Buffer.from(`${'\u0001'.repeat(3)}${'x'.repeat(7)}`), false],
    ['more than 30 %', Buffer.from(`${'\u0001'.repeat(31)}${'x'.repeat(69)}`), true],
    ['more than 30 % of the last control byte', Buffer.from(`${'\u007f'.repeat(31)}${'x'.repeat(69)}`), true],
    ['control characters of text only', Buffer.from('\t\r\f\u001b\b\n'), false],
    ['control bytes behind the first 8 192', Buffer.from('x'.repeat(8_192) + '\u0001'.repeat(8_192)), false],
  ])('%s', async (_, bytes, isBinary) => {
    using workspace = createWorkspace();
    workspace.write('file', bytes);

    expect((await workspace.call('read_file', { path: 'file' })).is_error).toBe(isBinary);
  });
});

describe('list_dir', () => {
  test.each([
    [500, ''],
    [501, '\n\n(cut at 500 entries; list a directory below or use `glob` to see the rest)'],
  ])('%i entries', async (count, note) => {
    using workspace = createWorkspace();
    const names = Array.from({ length: count }, (_, index) => `f${String(index).padStart(3, '0')}`);
    for (const name of names) writeFileSync(join(workspace.root, name), '');

    const output = await workspace.call('list_dir', {});

    expect(output.content).toBe(
      `./\n${names
        .slice(0, 500)
        .map((name) => `  ${name}`)
        .join('\n')}${note}`,
    );
    expect(output.metadata).toEqual({ path: '.', entries: 500, truncated: count > 500 });
  });
});

describe('glob', () => {
  test.each([
    [2_000, ''],
    [2_001, '\n\n(cut at 2000 of 2001 files; narrow the pattern or the path)'],
  ])('%i files', async (count, note) => {
    using workspace = createWorkspace();
    for (let index = 0; index < count; index += 1) writeFileSync(join(workspace.root, `f${index}`), '');

    const output = await workspace.call('glob', { pattern: '*' });

    expect(output.content.split('\n').filter((line) => line.startsWith('f'))).toHaveLength(2_000);
    expect(output.content.endsWith(note)).toBe(true);
    expect(output.metadata).toEqual({ matches: count, truncated: count > 2_000 });
  });
});

describe('grep', () => {
  const note = '\n\n(cut at 30000 characters; narrow the pattern, the path or the glob to see the rest)';

  /** A file `a` of 300 lines whose matches fill 30 000 characters, newlines between them included. */
  function fill(workspace: Workspace): void {
    const lines = Array.from({ length: 300 }, (_, index) => {
      const front = `a:${index + 1}:`;
      return 'n'.repeat((index === 299 ? 100 : 99) - front.length);
    });
    workspace.write('a', lines.join('\n'));
  }

  test('an output of exactly 30 000 characters is complete', async () => {
    using workspace = createWorkspace();
    fill(workspace);

    const output = await workspace.call('grep', { pattern: 'n', output_mode: 'content' });

    expect(output.content).toHaveLength(30_000);
    expect(output.metadata).toMatchObject({ matches: 300, truncated: false });
  });

  test('one more match is told, in the same file or another', async () => {
    for (const [file, more] of [
      ['b', 'n'],
      ['a', '\nn'],
    ] as const) {
      using workspace = createWorkspace();
      fill(workspace);
      writeFileSync(join(workspace.root, file), more, { flag: 'a' });

      const output = await workspace.call('grep', { pattern: 'n', output_mode: 'content' });

      expect(output.content).toHaveLength(30_000 + note.length);
      expect(output.content.endsWith(note)).toBe(true);
      expect(output.metadata).toMatchObject({ truncated: true });
    }
  });

  test.each([
    [500, 'x', ''],
    [501, 'x', '…'],
    [500, '😀', ''],
    [501, '😀', '…'],
  ])('a line of %i times %s', async (count, character, mark) => {
    using workspace = createWorkspace();
    workspace.write('a', `before ${character.repeat(count)}\n`.replace('before ', ''));

    expect((await workspace.call('grep', { pattern: '.', output_mode: 'content' })).content).toBe(
      `a:1:${character.repeat(500)}${mark}`,
    );
  });

  test('a file of 10 MiB is searched, a larger one is not', async () => {
    using workspace = createWorkspace();
    truncateSync(workspace.write('limit', `needle\n${'x'.repeat(8_192)}`), 10 * 1_024 * 1_024);
    truncateSync(workspace.write('over', `needle\n${'x'.repeat(8_192)}`), 10 * 1_024 * 1_024 + 1);

    expect((await workspace.call('grep', { pattern: 'needle' })).content).toBe(
      'limit\n\n(1 files over 10 MiB were skipped)',
    );
  });
});

describe('edit_file', () => {
  test.each([
    [8_000, false],
    [8_001, true],
  ])('a diff of %i characters', async (count, isCut) => {
    using workspace = createWorkspace();
    // What is there besides: two lines of names, the place, three signs and three newlines.
    const rest = '--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+'.length;
    const text = 'b'.repeat(count - rest);
    workspace.write('f', 'a\n');

    const { content } = await workspace.call('edit_file', { path: 'f', old_string: 'a', new_string: text });
    const diff = content.slice(content.indexOf('\n\n') + 2);

    expect(diff.length).toBeLessThanOrEqual(8_000);
    expect(/\n\[\.\.\. 61 characters omitted \.\.\.\]\n/.test(diff)).toBe(isCut);
    expect(diff.startsWith('--- a/f\n+++ b/f\n')).toBe(true);
    expect(diff.endsWith('bbb')).toBe(true);
  });
});

describe('the output of a command', () => {
  const kib64 = 65_536;
  /** Of characters with four bytes, so that the limit of bytes comes first. */
  const wide = (count: number): string => '😀'.repeat(count);

  test.each([
    ['30 000 characters', 'x'.repeat(30_000), 'x'.repeat(30_000)],
    [
      '30 001 characters',
      'x'.repeat(30_001),
      `${'x'.repeat(15_000)}\n\n[... 1 characters omitted ...]\n\n${'x'.repeat(15_000)}`,
    ],
    ['30 000 characters of two units', wide(30_000), wide(30_000)],
    ['blanks beyond 30 000 characters', `${'x'.repeat(30_000)} \n\t\n`, 'x'.repeat(30_000)],
    [
      '128 KiB',
      wide(kib64 / 2),
      `${wide(15_000)}\n\n[... ${kib64 / 2 - 30_000} characters omitted ...]\n\n${wide(15_000)}`,
    ],
    [
      'more than 64 KiB from each end, with little left of the last',
      `${wide(kib64 / 4)}mid${'\n'.repeat(kib64)}`,
      `${wide(kib64 / 4)}\n[... 3 bytes omitted ...]`,
    ],
  ])('%s', (_, output, shown) => {
    const collector = createOutputCollector();
    collector.add(Buffer.from(output));

    expect(collector.text()).toBe(shown);
  });
});
