import { describe, expect, test } from 'vitest';
import { checkCommand } from '../../src/tools/shell-policy.ts';

const options = { root: '/srv/project', network: false };

function chain(count: number, part: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => part(index)).join('');
}

// Without a bound each of these takes minutes or ends in a stack overflow; the test itself has the time limit of the runner.
describe('a line that is made to keep the policy busy', () => {
  test.each<[string, string]>([
    ['directories that may or may not have been entered', chain(60, (index) => `cd a${index}; `)],
    ['loops in loops that move on', `${'for x in a; do '.repeat(12)}cd b; ${'done; '.repeat(12)}`],
    [
      'loops in loops with other directories',
      `${chain(12, (index) => `for x in a; do cd b${index}; `)}${'done; '.repeat(12)}`,
    ],
    ['a sum of tens of thousands', `echo $((${'1+'.repeat(30_000)}1))`],
    ['a sum in a here-document', `cat <<E\n$((${'x?1:'.repeat(12_000)}1))\nE`],
    ['brackets', `${'('.repeat(30_000)}`],
    ['open substitutions', '$('.repeat(20_000)],
    ['git that goes down and down', `git ${'-C a '.repeat(15_000)}status`],
    ['many paths in many directories', `${chain(4, (index) => `cd a${index}; `)}rm ${'a '.repeat(30_000)}`],
    ['many copies in many directories', `${chain(4, (index) => `cd a${index}; `)}cp ${'a '.repeat(30_000)}`],
    ['many outputs in many directories', `${chain(4, (index) => `cd a${index}; `)}x ${'-oa '.repeat(15_000)}`],
    [
      'many start paths in many directories',
      `${chain(4, (index) => `cd a${index}; `)}find ${'a '.repeat(30_000)} -delete`,
    ],
    ['commands that evaluate commands', `${'eval '.repeat(10_000)}ls`],
  ])('is refused: %s', (_, command) => {
    expect(checkCommand(command, options)).toEqual({ allow: false, sentence: expect.stringMatching(/^\S.*\.$/s) });
  });

  test.each<[string, string]>([
    ['thousands of words', `ls ${'a '.repeat(30_000)}`],
    ['thousands of paths that are deleted', `rm ${'a/b '.repeat(15_000)}`],
    [
      'variables built from variables',
      `a0=1; ${chain(40, (index) => `a${index + 1}=$a${index}$a${index}; `)}echo $((a40))`,
    ],
    ['a few directories', 'cd a; cd b; cd c; ls'],
    ['a name with many stars', `find . -name '${'*?'.repeat(60)}!' -delete`],
    ['a path with many stars', `find . -path '${'*[a-z]'.repeat(30)}!' -delete`],
  ])('and one that only looks like it is allowed: %s', (_, command) => {
    expect(checkCommand(command, options).allow).toBe(true);
  });
});
