import { applyPatch } from 'diff';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeEdit } from '../../src/tools/edit-diff.ts';

test('a change in the middle of a long replacement shows only what differs', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\n';

  expect(describeEdit('x', before, 'a\nb\nc\nd\ne\nf\ng', 'a\nb\nc\nD\ne\nf\ng')).toBe(
    '--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+D\n e\n f\n g',
  );
});

test.each([
  ['first and last line', 'x\n1\n2\n3\n4\n5\n6\n7\nx\n', 'x', 'y'],
  ['removal of a line', 'a\nx\nb\n', 'x\n', ''],
  ['a line joined to the next', 'a\nx\nb\nc\n', 'x\n', 'y'],
  ['no newline at the end', 'a\nx', 'x', 'y\n'],
  ['the newline at the end taken away', 'a\nx\n', 'x\n', 'x'],
  ['all of it', 'x', 'x', ''],
  ['several on one line', 'x x x\nb\nx\n', 'x', 'yy\n'],
])('the diff of %s applies', (_, before, oldText, newText) => {
  const diff = describeEdit('f', before, oldText, newText);

  expect(applyPatch(before, `${diff}\n`)).toBe(before.replaceAll(oldText, () => newText));
});

test('any diff applies', () => {
  const text = fc.array(fc.constantFrom('a', 'b', '\n', 'c\n', 'ab'), { maxLength: 40 }).map((parts) => parts.join(''));
  const piece = fc
    .array(fc.constantFrom('a', 'b', '\n', 'c'), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join(''));

  fc.assert(
    fc.property(text, piece, fc.oneof(piece, fc.constant('')), (before, oldText, newText) => {
      fc.pre(before.includes(oldText) && oldText !== newText);
      const after = before.split(oldText).join(newText);
      fc.pre(after !== before);
      expect(applyPatch(before, `${describeEdit('f', before, oldText, newText)}\n`)).toBe(after);
    }),
    { numRuns: 3_000, seed: 11 },
  );
});
