import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createWorkspace, type Workspace } from './workspace.ts';

async function list(workspace: Workspace, path = '.'): Promise<readonly string[]> {
  const { content } = await workspace.call('glob', { pattern: '**', path });
  return content.startsWith('No files matched') ? [] : content.split('\n').sort();
}

describe('ignore files', () => {
  test.each([
    ['a byte order mark in front', { '.gitignore': '\ufeff*.log\n', 'a.log': '' }, ['.gitignore']],
    ['line ends of Windows', { '.gitignore': '*.log\r\n/b\r\n', 'a.log': '', b: '', 'c/b': '' }, ['.gitignore', 'c/b']],
    ['an anchor', { '.gitignore': '/a\n', a: '', 'b/a': '' }, ['.gitignore', 'b/a']],
    ['a slash in the middle', { '.gitignore': 'b/a\n', 'b/a': '', 'c/b/a': '' }, ['.gitignore', 'c/b/a']],
    ['a directory only', { '.gitignore': 'a/\n', a: '', 'b/a/x': '' }, ['.gitignore', 'a']],
    ['what is taken back', { '.gitignore': '*\n!.gitignore\n!keep\n', keep: '', x: '' }, ['.gitignore', 'keep']],
    [
      'nothing is taken back below what is left out',
      { '.gitignore': 'a/\n!a/keep\n', 'a/keep': '', b: '' },
      ['.gitignore', 'b'],
    ],
    ['a comment and an escape', { '.gitignore': '# a\n\\#b\n', a: '', '#b': '' }, ['.gitignore', 'a']],
    [
      'a file far below a directory that was taken back',
      { '.gitignore': '*/a\nx/**/y\n', 'b/.gitignore': '!a\n', 'b/a/c/d': '' },
      ['.gitignore', 'b/.gitignore', 'b/a/c/d'],
    ],
  ])('%s', async (_, files, expected) => {
    using workspace = createWorkspace();
    for (const [path, text] of Object.entries(files)) workspace.write(path, text);

    expect(await list(workspace)).toEqual([...expected].sort());
  });

  test('a repository inside has rules of its own only, from wherever the search starts', async () => {
    using workspace = createWorkspace();
    workspace.write('.gitignore', '*.log\n/out\n');
    mkdirSync(join(workspace.root, 'module/.git'), { recursive: true });
    workspace.write('module/a.log', '');
    workspace.write('module/.gitignore', '*.tmp\n');
    workspace.write('module/b.tmp', '');
    workspace.write('tree/.git', 'gitdir: elsewhere');
    workspace.write('tree/a.log', '');
    workspace.write('out/x', '');

    const below = ['module/.gitignore', 'module/a.log', 'tree/.git', 'tree/a.log'];
    expect(await list(workspace)).toEqual(['.gitignore', ...below]);
    expect([...(await list(workspace, 'module')), ...(await list(workspace, 'tree'))]).toEqual(below);
  });

  test('a start that a nearer file took back keeps the rules above it', async () => {
    using workspace = createWorkspace();
    workspace.write('.gitignore', 'build/\n*.log\n');
    workspace.write('app/.gitignore', '!build/\n');
    workspace.write('app/build/a.log', '');
    workspace.write('app/build/b.txt', '');

    expect(await list(workspace)).toEqual(['.gitignore', 'app/.gitignore', 'app/build/b.txt']);
    expect(await list(workspace, 'app/build')).toEqual(['app/build/b.txt']);
  });

  test('one that is a link, a pipe or larger than 1 MiB has no say', async () => {
    using workspace = createWorkspace();
    workspace.write('rules', '*.log\n');
    workspace.link('.gitignore', 'rules');
    workspace.write('big/.gitignore', `*.log\n${'#'.repeat(1_048_576)}`);
    workspace.write('big/a.log', '');
    workspace.write('a.log', '');

    expect(await list(workspace)).toEqual(['a.log', 'big/.gitignore', 'big/a.log', 'rules']);
  });
});

test('any tree shows what git would take in', { timeout: 120_000 }, async () => {
  const lines =
    `a;b;*.log;/a;/b/;a/;b/;a/b;a/*;*/a;**/b;a/**;/a/*/b;!a;!b;!c.log;!/a/b;*;!*/;!*.txt;/*;!/a;a/**/b;[ab];[!a];?;
    \\!x;# c;;  ;a ;a\\ b;a b;.h;!.h;**/;/;//a;*.l?g;**/a/**;a**;**b;/**/c.log;!a/;!**/;d.*;{a,b};A`.split(/;\n?/);
  const rules = fc
    .array(fc.constantFrom(...lines), { minLength: 1, maxLength: 4 })
    .map((some) => `${some.join('\n')}\n`);
  const name = fc.constantFrom('a', 'b', 'c.log', 'd.txt', '.h', 'a b');
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  const place = fc
    .array(fc.constantFrom('a', 'b'), { maxLength: 2 })
    .map((names) => [...names, '.gitignore'].join('/'));
  let compared = 0;

  await fc.assert(
    fc.asyncProperty(
      fc.array(path, { minLength: 4, maxLength: 12 }),
      rules,
      fc.array(fc.tuple(place, rules), { maxLength: 2 }),
      async (files, top, more) => {
        using workspace = createWorkspace();
        const write = (at: string, text: string): void => {
          try {
            workspace.write(at, text);
          } catch {
            // a name that is a file already cannot be a directory too
          }
        };
        for (const file of files) write(file, '');
        write('.gitignore', top);
        for (const [at, text] of more) write(at, text);
        execFileSync('git', ['init', '-q'], { cwd: workspace.root });
        const told = execFileSync(
          'git',
          ['-c', 'core.excludesFile=/dev/null', 'ls-files', '-z', '-o', '--exclude-standard'],
          {
            cwd: workspace.root,
            encoding: 'utf8',
          },
        );
        const expected = told.split('\0').filter((file) => file !== '');
        compared += expected.length;

        expect(await list(workspace)).toEqual(expected.sort());
      },
    ),
    { numRuns: 60, seed: 11 },
  );

  expect(compared).toBeGreaterThan(100);
});
