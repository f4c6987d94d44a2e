import { expect, test } from 'vitest';
import { parseMessage } from '../../src/protocol/jsonrpc.ts';

const nested = (depth: number): string => `{"jsonrpc":"2.0","id":1,"result":${'['.repeat(depth)}${']'.repeat(depth)}}`;

test('members that are only inherited do not exist', () => {
  const message = parseMessage('{"__proto__":{"jsonrpc":"2.0","method":"ping"},"id":1}');

  expect(message).toMatchObject({ kind: 'invalid', id: 1 });
});

test('keys that name prototypes are plain data and change none (FR10)', () => {
  const message = parseMessage('{"jsonrpc":"2.0","id":1,"result":{"__proto__":{"polluted":1},"constructor":{"a":1}}}');

  expect(Object.hasOwn((message as { result: object }).result, '__proto__')).toBe(true);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test('nesting of 256 levels passes, one more is refused and says which answer it was (FR9)', () => {
  expect(parseMessage(nested(255))).toMatchObject({ kind: 'response', id: 1 });
  expect(parseMessage(nested(256))).toEqual({
    kind: 'invalid',
    reason: 'no message',
    detail: 'nested deeper than 256 levels',
    id: 1,
    isAnswer: true,
  });
});

test('a hundred thousand levels neither overflow the stack nor pass', () => {
  expect(parseMessage(nested(100_000))).toMatchObject({ kind: 'invalid', isAnswer: true });
});

test('lone surrogates become U+FFFD in values and keys, pairs stay', () => {
  const message = parseMessage(
    '{"jsonrpc":"2.0","id":1,"result":{"a\\uD800":["\\ud800x","\\ud83d\\ude80","\\u00e9"],"__proto__":"\\udc00"}}',
  );

  const { result } = message as { result: Record<string, unknown> };
  expect(Object.entries(result)).toEqual([
    ['a\ufffd', ['\ufffdx', '🚀', 'é']],
    ['__proto__', '\ufffd'],
  ]);
});

test.each([
  ['1e3', 1000],
  ['1.0', 1],
  ['9007199254740991', 9_007_199_254_740_991],
])('a number written as %s is an id', (id, value) => {
  expect(parseMessage(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).toMatchObject({ kind: 'request', id: value });
});

test.each(['9007199254740993', '-1', '0.5', 'true', '[1]', '{}'])('%s is no id (FR5)', (id) => {
  const message = parseMessage(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);

  expect(message.kind).toBe('invalid');
  expect(message).not.toHaveProperty('id');
});
