import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { grep, grepShare, spreadGrep } from '../../src/tools/grep.ts';
import type { GrepInput } from '../../src/tools/grep-search.ts';
import { createLineMatcher } from '../../src/tools/line-matcher.ts';
import { requiredLiteral } from '../../src/tools/literal.ts';
import { createWorkspace } from './workspace.ts';

/** What the contract says and nothing more: each line on its own. */
function matchNaively(pattern: string, flags: string, text: string): string[] {
  const regex = new RegExp(pattern, flags);
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => line.replace(/\r$/, '')).filter((line) => regex.test(line));
}

function matchFast(pattern: string, isCaseInsensitive: boolean, text: string): string[] {
  const found: string[] = [];
  createLineMatcher(pattern, isCaseInsensitive).search(
    Buffer.from(text),
    (source, start, end) => found.push(source.line(start, end)) > 0,
    () => {},
  );
  return found;
}

describe('lines', () => {
  const text = [
    'const a = 1;',
    'export function todo(x) {}',
    '',
    '  return a + b;\r',
    'naïve café €5',
    'TODO: x',
    'aaa\r',
    'tab\there',
    'last',
  ].join('\n');

  test.each([
    'a',
    'todo\\(',
    '^$',
    '^\\s*return',
    'a$',
    'function\\s+\\w+',
    '[^a-z]$',
    'é €',
    '(?<!n)a',
    'x|b',
    'a*',
    '\\bx\\b',
    '^.{3}$',
    '(a)\\1',
    '\\t',
    'return.*b;$',
    '[a-c]+\\s',
    'ca(f|g)é',
    'l{0}ast',
    'a{2,}',
    '.',
    '\\u{20ac}',
    'x?t',
  ])('%s finds what a search of each line finds', (pattern) => {
    for (const ends of [text, `${text}\n`, text.replaceAll('\n', '\r\n')]) {
      expect(matchFast(pattern, false, ends)).toEqual(matchNaively(pattern, 'u', ends));
      expect(matchFast(pattern, true, ends)).toEqual(matchNaively(pattern, 'iu', ends));
    }
  });

  test('any pattern made of these parts finds what a search of each line finds', () => {
    const part = fc.constantFrom(
      'a',
      'b',
      'ab',
      '€',
      '.',
      '\\s',
      '\\w',
      '[ab]',
      '[^a]',
      '^',
      '$',
      '(?:a|b)',
      '\\b',
      '(?=b)',
      'a?',
      'b+',
      '.*',
      'a{2}',
      ' ',
    );
    const pattern = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''));
    const line = fc
      .array(fc.constantFrom('a', 'b', ' ', '€', '\t', '\r', 'c'), { maxLength: 8 })
      .map((parts) => parts.join(''));
    const lines = fc.array(line, { maxLength: 8 }).map((parts) => parts.join('\n'));

    fc.assert(
      fc.property(pattern, fc.boolean(), lines, (expression, isCaseInsensitive, content) => {
        expect(matchFast(expression, isCaseInsensitive, content)).toEqual(
          matchNaively(expression, isCaseInsensitive ? 'iu' : 'u', content),
        );
      }),
      { numRuns: 3_000, seed: 7 },
    );
  });
});

describe('the text every match holds', () => {
  test.each([
    ['foo', 'foo', true],
    ['foo\\(bar', 'foo(bar', true],
    ['foo|bar', '', false],
    ['(foo|bar)baz', 'baz', false],
    ['fo+bar', 'bar', false],
    ['colou?r', 'colo', false],
    ['a{3}bc', 'bc', false],
    ['^import .* from', 'import ', false],
    ['[abc]def[ghi]', 'def', false],
    ['x\\d+yz', 'yz', false],
    ['\\u0041bc', '', false],
    ['(?!no)yes', 'yes', false],
    ['a\\', '', false],
  ])('of %s', (pattern, text, isWhole) => {
    expect(requiredLiteral(pattern)).toEqual({ text, isWhole });
  });
});

describe('the tool', () => {
  test('long lines are cut, the count of a file is of its lines', async () => {
    using workspace = createWorkspace();
    workspace.write('a.txt', `${'x'.repeat(600)} x\nx x x\n`);

    expect((await workspace.call('grep', { pattern: 'x', output_mode: 'content' })).content).toBe(
      `a.txt:1:${'x'.repeat(500)}…\na.txt:2:x x x`,
    );
    expect((await workspace.call('grep', { pattern: 'x', output_mode: 'count' })).content).toBe('a.txt:2');
  });

  test('a file in which control bytes abound is skipped, one with a few is not', async () => {
    using workspace = createWorkspace();
    workspace.write('bell.txt', `needle${'\u0007'.repeat(10)}`);
    workspace.write('escape.txt', 'needle \u001b[0m');

    expect((await workspace.call('grep', { pattern: 'needle' })).content).toBe('escape.txt');
  });

  test('a glob with a slash is about the path, also from the workspace root when a directory is named', async () => {
    using workspace = createWorkspace();
    workspace.write('src/a.ts', 'x');
    workspace.write('src/b.js', 'x');

    expect((await workspace.call('grep', { pattern: 'x', glob: 'src/*.ts' })).content).toBe('src/a.ts');
    expect((await workspace.call('grep', { pattern: 'x', glob: 'src/*.ts', path: 'src' })).content).toBe('src/a.ts');
    expect((await workspace.call('grep', { pattern: 'x', glob: '*.js', path: 'src' })).content).toBe('src/b.js');
  });
});

describe('a search shared out over threads', () => {
  const input: GrepInput = {
    pattern: 'needle',
    path: '.',
    output_mode: 'content',
    context: 1,
    case_insensitive: false,
  };

  function fill(workspace: ReturnType<typeof createWorkspace>, needles: number): void {
    const filler = `${'some words that fill the line\n'.repeat(20_000)}`;
    for (let index = 0; index < 12; index += 1) {
      const folder = ['a', 'a-b', 'a.c', 'b/c/d'][index % 4];
      workspace.write(`${folder}/f${index}.txt`, `${'needle\n'.repeat(needles)}${filler}needle ${index}\n`);
    }
  }

  test.each([
    [1, 'content'],
    [1, 'count'],
    [1, 'files'],
    [400, 'content'],
  ] as const)('gives what one thread gives: %i more matches a file, %s', async (needles, mode) => {
    using workspace = createWorkspace();
    fill(workspace, needles);
    const context = workspace.context();
    const shares: unknown[] = [];
    const request = { ...input, output_mode: mode };

    const spread = await spreadGrep(
      async (part) => {
        shares.push(part.share);
        return structuredClone(grepShare(part, context));
      },
      request,
      3,
    );

    expect(spread).toEqual(grep(request, context));
    expect(shares.length).toBe(mode === 'content' && needles === 400 ? 1 : 4);
  });
});
