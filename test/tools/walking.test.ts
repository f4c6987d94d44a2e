import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createWorkspace } from './workspace.ts';

test('ignore files of parent directories count, nearer ones win, and a directory asked for by name is searched', async () => {
  using workspace = createWorkspace();
  workspace.write('.gitignore', '*.log\n/build/\n');
  workspace.write('app/.gitignore', '!keep.log\n');
  workspace.write('app/keep.log', 'needle');
  workspace.write('app/drop.log', 'needle');
  workspace.write('build/out.txt', 'needle');
  workspace.write('app/build/in.txt', 'needle');

  expect((await workspace.call('grep', { pattern: 'needle' })).content).toBe('app/build/in.txt\napp/keep.log');
  expect((await workspace.call('grep', { pattern: 'needle', path: 'app' })).content).toBe(
    'app/build/in.txt\napp/keep.log',
  );
  expect((await workspace.call('grep', { pattern: 'needle', path: 'build' })).content).toBe('build/out.txt');
  expect((await workspace.call('grep', { pattern: 'needle', path: 'app/drop.log' })).content).toBe('app/drop.log');
});

test('rules of a repository around the workspace count', async () => {
  using workspace = createWorkspace();
  mkdirSync(join(workspace.root, '.git'));
  workspace.write('.gitignore', 'packages/app/secret.txt\n');
  workspace.write('packages/app/secret.txt', 'needle');
  workspace.write('packages/app/open.txt', 'needle');
  const context = workspace.context({ workspace_root: join(workspace.root, 'packages/app') });
  const { glob } = await import('../../src/tools/glob.ts');

  expect(glob({ pattern: '*', path: '.' }, context).content).toBe('open.txt');
});

test('WK10: link loops are not followed and each directory is seen once', async () => {
  using workspace = createWorkspace();
  workspace.write('a/b/file.txt', 'needle');
  workspace.link('a/b/up', '../..');
  workspace.link('a/self', 'self');

  expect((await workspace.call('grep', { pattern: 'needle' })).content).toBe('a/b/file.txt');
  expect((await workspace.call('list_dir', { depth: 10 })).content).toBe(
    './\n  a/\n    b/\n      file.txt\n      up\n    self',
  );
});

test('files come in the order of their whole paths', async () => {
  using workspace = createWorkspace();
  for (const path of ['a/x', 'a-b', 'a.txt', 'ab', 'A']) workspace.write(path, 'needle');

  expect((await workspace.call('grep', { pattern: 'needle' })).content.split('\n')).toEqual([
    'A',
    'a-b',
    'a.txt',
    'a/x',
    'ab',
  ]);
});

test('files of the same time come by path', async () => {
  using workspace = createWorkspace();
  for (const path of ['b/x', 'c', 'a', 'b-x', 'B']) utimesSync(workspace.write(path, ''), 1_000, 1_000);
  utimesSync(workspace.write('new', ''), 1_001, 1_001);

  expect((await workspace.call('glob', { pattern: '**' })).content).toBe('new\nB\na\nb-x\nb/x\nc');
});

test('long results are cut with a note', async () => {
  using workspace = createWorkspace();
  for (let index = 0; index < 2_100; index += 1) writeFileSync(join(workspace.root, `f${index}.txt`), 'needle\n');

  const listed = await workspace.call('list_dir', {});
  const globbed = await workspace.call('glob', { pattern: '*.txt' });
  const found = await workspace.call('grep', { pattern: 'needle', output_mode: 'content' });

  expect(listed.content).toContain('\n\n(cut at 500 entries;');
  expect(listed.content.split('\n')).toHaveLength(503);
  expect(globbed.content).toContain('\n\n(cut at 2000 of 2100 files;');
  expect(globbed.metadata).toEqual({ matches: 2_100, truncated: true });
  expect(found.content).toContain('\n\n(cut at 30000 characters;');
  expect(found.content.length).toBeLessThan(30_200);
  expect(found.metadata).toMatchObject({ truncated: true });
});

test('glob gives the same from several threads as from one, whatever they share', async () => {
  using workspace = createWorkspace();
  for (let index = 0; index < 300; index += 1) {
    workspace.write(`part-${index % 7}/src/area-${index % 45}/file-${index}.ts`, '');
    workspace.write(`part-${index % 7}/top-${index}.ts`, '');
  }
  for (let index = 0; index < 90; index += 1) workspace.write(`flat-${index}/x.ts`, '');
  workspace.write('.gitignore', 'area-3/\n/part-2/src\n');
  workspace.write('part-1/.gitignore', '!area-3/\ntop-1*\n');
  const context = workspace.context();
  const { glob, globShare, spreadGlob } = await import('../../src/tools/glob.ts');

  for (const pattern of ['**/*.ts', 'part-*/**', 'part-1/src/**/*5.ts', 'flat-*/*']) {
    const input = { pattern, path: '.' };
    const calls: unknown[] = [];
    const spread = await spreadGlob(
      async (part) => {
        calls.push(part.share);
        return structuredClone(globShare(part, context));
      },
      input,
      3,
    );

    expect(spread).toEqual(glob(input, context));
    expect(spread.metadata?.['matches']).toBeGreaterThan(0);
    if (pattern === '**/*.ts') expect(calls.length).toBe(4);
  }
});

test('a directory that a nearer ignore file takes back is looked into', async () => {
  using workspace = createWorkspace();
  workspace.write('.gitignore', 'build/\n/docs/*\n!/docs/kept\n');
  workspace.write('app/.gitignore', '!build/\n');
  workspace.write('a/.gitignore', '**/deep/*.txt\n');
  for (const file of [
    'app/build/x',
    'lib/build/x',
    'docs/kept/x',
    'docs/other/x',
    'docs/y',
    'a/b/deep/n.txt',
    'a/n.txt',
  ]) {
    workspace.write(file, 'needle');
  }

  expect((await workspace.call('grep', { pattern: 'needle' })).content).toBe('a/n.txt\napp/build/x\ndocs/kept/x');
});

test('WK10: a directory of 100 000 entries is listed up to the stated limits', { timeout: 120_000 }, async () => {
  using workspace = createWorkspace();
  const count = 100_000;
  for (let index = 0; index < count; index += 1) writeFileSync(join(workspace.root, `f${index}`), '');

  expect((await workspace.call('glob', { pattern: '**' })).metadata).toEqual({ matches: count, truncated: true });
  expect((await workspace.call('list_dir', {})).content).toContain('(cut at 500 entries;');
});

test('WK10: patterns that could explode find what they mean', async () => {
  using workspace = createWorkspace();
  const deep = Array.from({ length: 60 }, () => 'd').join('/');
  workspace.write(`${deep}/leaf.txt`, '');
  const stars = Array.from({ length: 12 }, () => '**/d').join('/');
  const braces = Array.from({ length: 12 }, () => '{d,e,{d,f}}').join('/');

  expect((await workspace.call('glob', { pattern: `${stars}/**/*.txt` })).content).toBe(`${deep}/leaf.txt`);
  expect((await workspace.call('glob', { pattern: `${braces}/**/*.txt` })).content).toBe(`${deep}/leaf.txt`);
});

test('WK10: a deep tree ends at a stated level', async () => {
  using workspace = createWorkspace();
  const deep = join(workspace.root, ...Array.from({ length: 230 }, () => 'd'));
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, 'file.txt'), 'needle');

  const note = '\n\n(cut at 200 levels of directories)';
  expect((await workspace.call('grep', { pattern: 'needle' })).content).toBe(`No matches for \`needle\`.${note}`);
  expect((await workspace.call('glob', { pattern: '**/file.txt' })).content).toBe(
    `No files matched \`**/file.txt\`.${note}`,
  );
});

describe.skipIf(process.platform !== 'linux')('WK12: names that are hard to show', () => {
  const cases: readonly (readonly [string, Buffer, string])[] = [
    ['a line break', Buffer.from('two\nlines.txt'), '"two\\nlines.txt"'],
    ['bytes that are no UTF-8', Buffer.from([0x62, 0xff, 0x64]), '"b\\377d"'],
    ['a leading dash', Buffer.from('-rf'), '-rf'],
    ['quotes', Buffer.from('"quoted" \'name\''), '"\\"quoted\\" \'name\'"'],
    ['an escape sequence', Buffer.from('\u001b[31mred'), '"\\033[31mred"'],
  ];

  test.each(cases)('%s: listed on one line and usable as listed', async (_, bytes, shown) => {
    using workspace = createWorkspace();
    writeFileSync(Buffer.concat([Buffer.from(`${workspace.root}/`), bytes]), 'needle');

    expect((await workspace.call('list_dir', {})).content).toBe(`./\n  ${shown}`);
    expect((await workspace.call('glob', { pattern: '*' })).content).toBe(shown);
    expect((await workspace.call('grep', { pattern: 'needle' })).content).toBe(shown);
    expect((await workspace.call('read_file', { path: shown })).content).toBe('     1\tneedle');
    expect((await workspace.call('edit_file', { path: shown, old_string: 'needle', new_string: 'x' })).is_error).toBe(
      false,
    );
    expect((await workspace.call('grep', { pattern: 'x', path: shown })).content).toBe(shown);
  });
});

describe('glob', () => {
  const files = ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/deep/er/d.js', '.hidden/e.ts', 'lib/f.tsx'];
  test.each([
    ['*.ts', ['a.ts']],
    ['**/*.ts', ['.hidden/e.ts', 'a.ts', 'src/b.ts', 'src/deep/c.ts']],
    ['src/**', ['src/b.ts', 'src/deep/c.ts', 'src/deep/er/d.js']],
    ['src/*/*', ['src/deep/c.ts']],
    ['{src,lib}/*.{ts,tsx}', ['lib/f.tsx', 'src/b.ts']],
    ['{src/deep,lib}/*', ['lib/f.tsx', 'src/deep/c.ts']],
    ['src/deep/c.ts', ['src/deep/c.ts']],
    ['./src/*.ts', ['src/b.ts']],
    ['src/**/d.*', ['src/deep/er/d.js']],
    ['**/?.ts*', ['.hidden/e.ts', 'a.ts', 'lib/f.tsx', 'src/b.ts', 'src/deep/c.ts']],
    ['**/d*', ['src/deep/er/d.js']],
    ['*/[bf].*', ['lib/f.tsx', 'src/b.ts']],
  ])('%s', async (pattern, expected) => {
    using workspace = createWorkspace();
    for (const file of files) workspace.write(file, '');

    const { content } = await workspace.call('glob', { pattern });

    expect(content.split('\n').sort()).toEqual(expected);
  });

  test.each(['/etc/*', 'a/../../*', '{..,a}/*', 'C:\\*'])('%s is refused', async (pattern) => {
    using workspace = createWorkspace();

    expect((await workspace.call('glob', { pattern })).content).toMatch(/^The glob pattern must be relative/);
  });
});
