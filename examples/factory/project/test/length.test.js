import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toMetres } from 'units';

test('a mile is 1609.344 metres', () => {
  assert.equal(toMetres(1, 'mi'), 1609.344);
});

test('an unknown unit is refused', () => {
  assert.throws(() => toMetres(1, 'cubit'), RangeError);
});
