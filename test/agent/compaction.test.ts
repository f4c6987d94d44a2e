import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyCompaction, planCompaction } from '../../src/agent/compaction.ts';
import { estimateTokens } from '../../src/agent/estimate.ts';
import { type Message, toolUsesOf, userText } from '../../src/protocol/message.ts';

const policy = { atPercent: 75, keepMessages: 4 };

/** A task, then as many steps of one call and its result, `size` characters each. */
function toTranscript(steps: number, size = 2_000): readonly Message[] {
  const messages: Message[] = [userText('the task')];
  for (let step = 1; step <= steps; step += 1) {
    const id = `c${step}`;
    messages.push({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'read', input: { step } }] });
    const content = `${step}:`.padEnd(size, 'x');
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content, is_error: false }] });
  }
  return messages;
}

function plan(messages: readonly Message[], window: number, keepMessages = policy.keepMessages) {
  const estimate = estimateTokens('', messages, []);
  return planCompaction({ messages, estimate, window }, 'm', { ...policy, keepMessages });
}

test('nothing is compacted below the threshold, at it something is', () => {
  const messages = toTranscript(10);
  const state = (estimate: number) => ({ messages, estimate, window: 10_000 });

  expect(planCompaction(state(7_499), 'm', policy)).toBeUndefined();
  expect(planCompaction(state(7_500), 'm', policy)).toBeDefined();
});

test('the older part is what the summary call gets; the rest stays as it is', () => {
  const messages = toTranscript(10);

  const made = plan(messages, 6_000);

  expect(made?.cut).toBe(17);
  const text = JSON.stringify(made?.request.messages);
  expect(text).toContain('[USER] the task');
  expect(text).toContain('8:xxx');
  expect(text).not.toContain('9:xxx');
});

test('the summary joins the first user message, so that turns alternate', () => {
  const messages = toTranscript(10);
  const made = plan(messages, 6_000);
  if (made === undefined) throw new Error('a plan was expected');

  const compacted = applyCompaction(messages, made, 'NOTES');

  expect(compacted[0]?.content).toEqual([
    { type: 'text', text: 'the task' },
    { type: 'text', text: expect.stringMatching(/^Summary of the earlier part[^]*\nNOTES$/) as string },
  ]);
  expect(compacted.slice(1)).toEqual(messages.slice(17));
  expect(messages[0]).toEqual(userText('the task'));
});

test('a second compaction puts its summary in place of the first', () => {
  const messages = toTranscript(10);
  const made = plan(messages, 6_000);
  if (made === undefined) throw new Error('a plan was expected');
  const once = [...applyCompaction(messages, made, 'FIRST NOTES'), ...toTranscript(10).slice(1)];

  const again = plan(once, 6_000);
  if (again === undefined) throw new Error('a plan was expected');
  const twice = applyCompaction(once, again, 'SECOND NOTES');

  expect(JSON.stringify(again.request.messages)).toContain('FIRST NOTES');
  expect(twice[0]?.content).toHaveLength(2);
  expect(JSON.stringify(twice[0])).not.toContain('FIRST NOTES');
});

describe('no plan is made', () => {
  test('when the older part is no larger than its summary may be', () => {
    expect(plan(toTranscript(4, 1_000), 10)).toBeUndefined();
  });

  test('when everything is among the kept messages', () => {
    expect(plan(toTranscript(2, 40_000), 10, 8)).toBeUndefined();
  });

  test('when the transcript does not start with the user', () => {
    expect(plan(toTranscript(10).slice(1), 10)).toBeUndefined();
  });
});

test('no call is ever separated from its results, whatever is kept', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 40 }), (steps, keep) => {
      const messages = toTranscript(steps);
      const made = plan(messages, 10, keep);
      if (made === undefined) return;

      const compacted = applyCompaction(messages, made, 'n');

      expect(compacted.length).toBe(messages.length - (made.cut - 1));
      expect(messages.length - made.cut).toBeGreaterThanOrEqual(Math.max(2, keep));
      for (const [index, message] of compacted.entries()) {
        expect(message.role).toBe(index % 2 === 0 ? 'user' : 'assistant');
        const answers = compacted[index + 1]?.content.flatMap((block) => (block.type === 'tool_result' ? [block] : []));
        if (message.role !== 'assistant') continue;
        expect(answers?.map((answer) => answer.tool_use_id)).toEqual(toolUsesOf(message).map((call) => call.id));
      }
    }),
    { numRuns: 200, seed: 3 },
  );
});
