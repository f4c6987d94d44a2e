import { describe, expect, test } from 'vitest';
import { isToolAllowed, matchesAny, toToolName } from '../../src/mcp/names.ts';
import { nameTools } from '../../src/mcp/tool-list.ts';

describe('tool names (mcp-host 5.1, 18, MP5)', () => {
  test.each([
    ['fs', 'read.file', 'mcp__fs__read_file'],
    ['my-db', 'q uery/äö', 'mcp__my-db__q_uery___'],
    ['github', 'a'.repeat(51), `mcp__github__${'a'.repeat(51)}`],
    ['github', 'a'.repeat(52), `mcp__github__${'a'.repeat(42)}_f09861a7`],
    [
      'github',
      'list_pull_requests_for_a_repository_with_filters_and_sorting',
      'mcp__github__list_pull_requests_for_a_repository_with_f_dcc63b57',
    ],
  ])('%s / %s', (server, name, expected) => {
    expect(toToolName(server, name)).toBe(expected);
    expect(toToolName(server, name).length).toBeLessThanOrEqual(64);
  });

  test('of two tools whose names come out alike the later in list order is left out, and both are named', () => {
    const schema = { inputSchema: { type: 'object' } };
    const list = nameTools(
      's',
      [
        { name: 'a.b', ...schema },
        { name: 'a/b', ...schema },
        { name: 'a.b', ...schema },
      ],
      [],
    );

    expect(list.tools.map((tool) => tool.qualified_name)).toEqual(['mcp__s__a_b']);
    expect(list.rejected).toEqual([
      { name: 'a/b', reason: 'name_collision', other: 'a.b' },
      { name: 'a.b', reason: 'duplicate' },
    ]);
  });
});

describe('patterns', () => {
  test.each([
    ['*', 'anything', true],
    ['read_*', 'read_file', true],
    ['read_*', 'write_file', false],
    ['*file', 'read_file', true],
    ['r?ad', 'read', true],
    ['r?ad', 'rad', false],
    ['a*b*c', 'a--b--c', true],
    ['a*b*c', 'a--c--b', false],
    ['', 'a', false],
    ['a.c', 'abc', false],
    ['[a]', 'a', false],
    ['💡?', '💡💡', true],
  ])('%j against %j', (pattern, name, expected) => {
    expect(matchesAny([pattern], name)).toBe(expected);
  });

  test('a hostile pattern ends at once', () => {
    expect(matchesAny([`${'*a'.repeat(50)}b`], 'a'.repeat(5_000))).toBe(false);
  });

  test('deny wins, an empty allow lets all through', () => {
    expect(isToolAllowed({ allow: [], deny: [] }, 'x')).toBe(true);
    expect(isToolAllowed({ allow: ['y*'], deny: [] }, 'x')).toBe(false);
    expect(isToolAllowed({ allow: ['x'], deny: ['x'] }, 'x')).toBe(false);
  });
});
