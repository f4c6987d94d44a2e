import { execFileSync } from 'node:child_process';
import { closeSync, openSync, truncateSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createWorkspace } from './workspace.ts';

test('characters that lie across the pieces a file is read in stay whole', async () => {
  using workspace = createWorkspace();
  const line = '€'.repeat(700);
  workspace.write('euro.txt', `${line}\n`.repeat(400));

  const output = await workspace.call('read_file', { path: 'euro.txt', limit: 10_000 });

  expect(output.content.split('\n').every((shown) => shown.endsWith(`\t${line}`))).toBe(true);
  expect(output.metadata).toMatchObject({ total_lines: 400, truncated: false });
});

test('bytes that are no UTF-8 become replacement characters, a mark at the start is dropped', async () => {
  using workspace = createWorkspace();
  workspace.write('odd.txt', Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0xff, 0x62, 0x0a]));

  expect((await workspace.call('read_file', { path: 'odd.txt' })).content).toBe('     1\ta\ufffdb');
});

test('a long line is cut between characters and counted in characters', async () => {
  using workspace = createWorkspace();
  workspace.write('long.txt', '𝔘'.repeat(2_500));

  const { content } = await workspace.call('read_file', { path: 'long.txt' });

  expect(content).toBe(`     1\t${'𝔘'.repeat(2_000)}… [line truncated, 2500 characters in total]`);
});

test('a line of exactly 2 000 characters before CRLF is not cut', async () => {
  using workspace = createWorkspace();
  workspace.write('edge.txt', `${'x'.repeat(2_000)}\r\n`);

  expect((await workspace.call('read_file', { path: 'edge.txt' })).content).toBe(`     1\t${'x'.repeat(2_000)}`);
});

test.each([
  [{ offset: 0 }, 'offset'],
  [{ limit: 10_001 }, 'limit'],
  [{ limit: 1.5 }, 'limit'],
])('the input %j is refused', async (input, field) => {
  using workspace = createWorkspace();

  const output = await workspace.call('read_file', { path: 'a.txt', ...input });

  expect(output.content).toMatch(new RegExp(`^Invalid input for \`read_file\`: ${field}: .*\\.$`));
});

test('reading a large file takes memory for a page only; a sparse one of 20 GiB is refused by its first bytes', async () => {
  using workspace = createWorkspace();
  const file = workspace.write('large.txt', '');
  const fd = openSync(file, 'w');
  const block = Buffer.alloc(1_048_576, 'x');
  for (let count = 0; count < 96; count += 1) writeSync(fd, block);
  closeSync(fd);
  const sparse = workspace.write('sparse.bin', '');
  truncateSync(sparse, 20 * 1_024 ** 3);
  const before = process.memoryUsage().rss;

  const large = await workspace.call('read_file', { path: 'large.txt' });
  const empty = await workspace.call('read_file', { path: 'sparse.bin' });
  const found = await workspace.call('grep', { pattern: 'xyz' });

  expect(large.content).toContain('[line truncated, 100663296 characters in total]');
  expect(empty.content).toContain('looks like a binary file');
  expect(found.content).toBe('No matches for `xyz`.\n\n(2 files over 10 MiB were skipped)');
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1_048_576);
});

describe.skipIf(process.platform === 'win32')('what is no regular file', () => {
  test('a pipe, a socket and a device are refused at once, walkers pass over them', async () => {
    using workspace = createWorkspace();
    execFileSync('mkfifo', [join(workspace.root, 'pipe')]);
    workspace.link('to-pipe', 'pipe');
    const server = createServer().listen(join(workspace.root, 'socket'));
    workspace.write('a.txt', 'needle');
    const permissions = { extra_read_paths: ['/dev', '/proc'] };

    for (const path of ['pipe', 'to-pipe', 'socket', '/dev/zero']) {
      const output = await workspace.call('read_file', { path }, { permissions });
      expect(output.content).toBe(`\`${path}\` is not a regular file and cannot be read.`);
    }
    expect((await workspace.call('read_file', { path: '/proc/self/status' }, { permissions })).content).toMatch(
      /^Access denied: /,
    );
    expect((await workspace.call('grep', { pattern: 'needle' })).content).toBe('a.txt');
    expect((await workspace.call('glob', { pattern: '**' })).content).toBe('a.txt');
    expect((await workspace.call('write_file', { path: 'pipe', content: 'x' })).content).toBe(
      '`pipe` is not a regular file and cannot be written.',
    );
    server.close();
  });
});
