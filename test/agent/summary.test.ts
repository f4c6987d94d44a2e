import { expect, test } from 'vitest';
import { readSummary, renderTranscript, toSummaryRequest } from '../../src/agent/summary.ts';
import { countCharacters } from '../../src/protocol/json.ts';
import { type Message, noUsage, userText } from '../../src/protocol/message.ts';

const results = (content: string, isError = false): Message => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'c', content, is_error: isError }],
});

test('cuts fall between code points', () => {
  const input = { s: '😀'.repeat(500) };

  const rendered = renderTranscript([
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 't', input }] },
    results('😀'.repeat(1_501), true),
  ]);

  expect(rendered.isWellFormed()).toBe(true);
  expect(rendered).toBe(`[ASSISTANT called t] {"s":"${'😀'.repeat(394)} […]\n[TOOL ERROR] ${'😀'.repeat(1_500)} […]\n`);
});

test('of a long transcript the last 300 000 characters remain, counted in code points', () => {
  const rendered = renderTranscript([userText('a'), userText('😀'.repeat(300_000))]);

  expect(rendered.startsWith('[… earlier part of the transcript omitted …]\n😀')).toBe(true);
  expect(countCharacters(rendered.slice(rendered.indexOf('\n') + 1))).toBe(300_000);
});

test('the request for notes is plain, names the limit and the sections, and holds the transcript', () => {
  const request = toSummaryRequest('m', [userText('do it')], 600);

  expect(Object.keys(request).sort()).toEqual(['max_tokens', 'messages', 'model', 'system', 'tools']);
  expect(request).toMatchObject({ model: 'm', tools: [], max_tokens: 1_456 });
  const text = request.messages.map(({ content }) => (content[0]?.type === 'text' ? content[0].text : '')).join('');
  for (const part of ['600 words', 'Goal', 'Done so far', 'Key findings', 'Problems', 'Next steps', '[USER] do it\n']) {
    expect(text).toContain(part);
  }
  expect(toSummaryRequest('m', [], 100_000).max_tokens).toBe(16_384);
});

test('notes are trimmed; blank ones are an error', () => {
  const response = (text: string) => ({
    message: { role: 'assistant' as const, content: [{ type: 'text' as const, text }] },
    stop_reason: 'end_turn' as const,
    usage: noUsage,
    model: 'm',
  });

  expect(readSummary(response(' x \n'))).toBe('x');
  expect(() => readSummary(response(' \n'))).toThrow('the summariser returned an empty summary');
});
