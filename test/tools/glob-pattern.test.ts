import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createGlobPattern } from '../../src/tools/glob-pattern.ts';

test.each([
  ['app/(shop)/*.tsx', 'app/(shop)/page.tsx', true],
  ['app/(shop)/*.tsx', 'app/shop/page.tsx', false],
  ['*(1).txt', 'copy (1).txt', true],
  ['a|b', 'a', false],
  ['[ab]+', 'aa', false],
  ['src/**', 'src/a/b', true],
  ['src/**', 'src', false],
  ['**/test/**', 'a/test', false],
  ['[!a].ts', 'b.ts', true],
  ['[!a].ts', 'a.ts', false],
  ['*.{ts,tsx}', 'x.tsx', true],
  ['{a,b/**}/c', 'b/x/y/c', true],
  ['*', '.hidden', true],
  ['!*.ts', 'a.js', true],
  ['\\*', '*', true],
])('%s, asked for %s: %s', (pattern, path, expected) => {
  expect(createGlobPattern(pattern).matches(path)).toBe(expected);
});

test('a pattern that is too long to be read is refused', () => {
  expect(() => createGlobPattern('a'.repeat(70_000))).toThrow(/^Invalid glob pattern: /);
});

/** What the contract says and nothing more: braces choose, segments match one by one. */
function matchesNaively(pattern: string, path: string): boolean {
  return chooseBraces(pattern).some((chosen) => matchSegments(chosen.split('/'), path.split('/')));
}

function chooseBraces(pattern: string): string[] {
  const found = /\{([^{}]*)\}/.exec(pattern);
  if (found === null) return [pattern];
  const [whole, choices = ''] = found;
  const [front, back] = [pattern.slice(0, found.index), pattern.slice(found.index + whole.length)];
  return choices.split(',').flatMap((choice) => chooseBraces(front + choice + back));
}

function matchSegments([pattern, ...patterns]: string[], names: string[]): boolean {
  const [name, ...others] = names;
  if (pattern === undefined) return name === undefined;
  if (pattern !== '**') return name !== undefined && matchName(pattern, name) && matchSegments(patterns, others);
  if (patterns.length === 0) return name !== undefined;
  return matchSegments(patterns, names) || (name !== undefined && matchSegments([pattern, ...patterns], others));
}

function matchName(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  if (pattern.startsWith('*')) {
    return matchName(pattern.slice(1), name) || (name !== '' && matchName(pattern, name.slice(1)));
  }
  const one = /^(?:\[(!?)([^\]]+)\]|.)/.exec(pattern);
  const [whole = '', negation, set] = one ?? [];
  const first = name[0];
  if (first === undefined) return false;
  const isFine = set === undefined ? whole === '?' || whole === first : set.includes(first) !== (negation === '!');
  return isFine && matchName(pattern.slice(whole.length), name.slice(1));
}

describe('any pattern', () => {
  const parts = 'a|b|ab|*|?|.a|(a)|[ab]|[!a]|{a,b}|a{b,.a}|{a,b*}|*.b|+|@|$|^|-|('.split('|');
  const names = 'a|b|ab|abb|.a|.ab|(a)|a.b|+|@|$|^|a+|-|(|a(|ba'.split('|');
  const segment = fc.oneof(
    { weight: 1, arbitrary: fc.constant('**') },
    {
      weight: 4,
      arbitrary: fc
        .array(fc.constantFrom(...parts), { minLength: 1, maxLength: 2 })
        .map((texts) => texts.join('').replace('**', '*')),
    },
  );
  const pattern = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join('/'));
  const path = fc
    .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
    .map((segments) => segments.join('/'));

  test('matches what its parts say, and never below a directory it rules out', () => {
    let matched = 0;
    fc.assert(
      fc.property(pattern, path, (text, name) => {
        const glob = createGlobPattern(text);
        const expected = matchesNaively(text, name);
        expect(glob.matches(name)).toBe(expected);
        if (!expected) return;
        matched += 1;
        const above = [...name.matchAll(/\//g)].map((slash) => name.slice(0, slash.index));
        expect(above.filter((folder) => !glob.mayMatchBelow(folder))).toEqual([]);
      }),
      { numRuns: 20_000, seed: 5 },
    );
    expect(matched).toBeGreaterThan(1_000);
  });
});
