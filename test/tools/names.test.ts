import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeName, quotePath, toFsPath, unquotePath } from '../../src/tools/names.ts';

const names = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .filter((bytes) => !bytes.includes(0) && !bytes.includes(0x2f))
  .map((bytes) => Buffer.from(bytes));

test('any name comes back as the same bytes, also when it is no UTF-8', () => {
  fc.assert(
    fc.property(names, (bytes) => {
      expect(Buffer.from(toFsPath(decodeName(bytes))).equals(bytes)).toBe(true);
    }),
    { seed: 3, numRuns: 2_000 },
  );
});

test('any name is shown on one line as valid text and read back from there', () => {
  fc.assert(
    fc.property(names, (bytes) => {
      const name = decodeName(bytes);
      const shown = quotePath(name);

      expect(shown.isWellFormed() && !/\p{Cc}/u.test(shown)).toBe(true);
      expect(shown === name ? name : unquotePath(shown)).toBe(name);
    }),
    { seed: 3, numRuns: 2_000 },
  );
});

test.each(['plain', '"', '"open', '"a"b"', '"\\x"', '"\\9"'])('%j is no quoted path', (text) => {
  expect(unquotePath(text)).toBeUndefined();
});
