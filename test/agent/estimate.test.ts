import { expect, test } from 'vitest';
import { estimateTokens, messageTokens, textTokens, toolsTokens } from '../../src/agent/estimate.ts';
import type { Message } from '../../src/protocol/message.ts';

const messages: readonly Message[] = [
  { role: 'user', content: [{ type: 'text', text: 'é€😀' }] },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'x'.repeat(99), name: 'read', input: { path: 'ä' } }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'y', content: 'abcde', is_error: true }] },
];

test('a running sum of the parts is the estimate of the whole', () => {
  const tools = [{ name: 'a', description: 'ü', input_schema: { type: 'object' } }];

  const parts = textTokens('abcde') + toolsTokens(tools) + messages.reduce((sum, each) => sum + messageTokens(each), 0);

  expect(parts).toBe(estimateTokens('abcde', messages, tools));
});

test('bytes of UTF-8 count, ids do not, each message is rounded up', () => {
  expect(messages.map(messageTokens)).toEqual([3, Math.ceil((4 + Buffer.byteLength('{"path":"ä"}')) / 4), 2]);
});

test('only what a model is offered counts of a tool', () => {
  const plain = { name: 'a', description: 'b', input_schema: { type: 'object' } };
  const rich = { ...plain, is_mutating: true, call: () => 'x', owner: 'plugin' };

  expect(toolsTokens([rich])).toBe(toolsTokens([plain]));
  expect(toolsTokens([])).toBe(1);
});
