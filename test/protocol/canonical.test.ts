import { expect, test } from 'vitest';
import { canonicalHash, canonicalJson } from '../../src/protocol/canonical.ts';

test('values that differ only in the order of their keys have one spelling', () => {
  const left = { b: [{ y: 1, x: null }], a: 'text', 10: true, 9: false };
  const right = { 9: false, 10: true, a: 'text', b: [{ x: null, y: 1 }] };

  expect(canonicalJson(left)).toBe('{"10":true,"9":false,"a":"text","b":[{"x":null,"y":1}]}');
  expect(canonicalJson(right)).toBe(canonicalJson(left));
});

test('`__proto__` from outside is a key like any other, and what is absent leaves no trace', () => {
  const value = JSON.parse('{"__proto__":{"x":1},"a":1}') as object;

  expect(canonicalJson({ ...value, gone: undefined })).toBe(canonicalJson(value));
  expect(canonicalJson(value)).toBe('{"__proto__":{"x":1},"a":1}');
  expect(canonicalJson([undefined])).toBe('[null]');
});

test('the hash is SHA-256 of the UTF-8 text, so another program finds the same', () => {
  // printf '{"a":"\303\251"}' | sha256sum
  expect(canonicalHash({ a: 'é' })).toBe('b3a092a6af48807fa9482b2ee140105575daa26d5b24b3c0e60a7e2dee6683b1');
});
