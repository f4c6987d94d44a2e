import { expect, test } from 'vitest';
import { type ContinuationPorts, runWithContinuation } from '../../src/agent/continuation.ts';
import type { AgentOutcome, AgentStop } from '../../src/protocol/agent.ts';
import { EngineError } from '../../src/protocol/error.ts';
import { addUsage, type Message, userText } from '../../src/protocol/message.ts';
import type { CompletionRequest } from '../../src/protocol/model.ts';

const usage = { input_tokens: 10, output_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0 };
const full = { reason: 'context_window' } as const;
const job = { role: 'tester', model: 'm', message: 'Implement X' };

function toOutcome(text: string, stop: AgentStop): AgentOutcome {
  const messages: Message[] = [userText(`asked ${text}`), { role: 'assistant', content: [{ type: 'text', text }] }];
  return { role: 'tester', stop, final_text: text, messages, steps: 1, tool_calls: 2, usage };
}

function createPorts(sessions: readonly AgentOutcome[], summaries: readonly (string | Error)[]) {
  const messages: string[] = [];
  const requests: CompletionRequest[] = [];
  const published: string[] = [];
  const warnings: string[] = [];
  const ports: ContinuationPorts = {
    async run(message) {
      messages.push(message);
      const outcome = sessions[messages.length - 1];
      if (outcome === undefined) throw new Error('one session too many');
      return outcome;
    },
    async completeAux(request) {
      requests.push(request);
      const text = summaries[requests.length - 1];
      if (typeof text !== 'string') throw text ?? new Error('one summary too many');
      return {
        message: { role: 'assistant', content: [{ type: 'text', text }] },
        stop_reason: 'end_turn',
        usage,
        model: 'm',
      };
    },
    publishInfo: (message) => published.push(message),
    logger: { warn: (message) => warnings.push(message) },
  };
  return { ports, messages, requests, published, warnings };
}

test('each full session is summarised alone, and the next starts from the original message', async () => {
  const sessions = [toOutcome('one', full), toOutcome('two', full), toOutcome('three', { reason: 'completed' })];
  const { ports, messages, requests, published } = createPorts(sessions, [' S1 \n', 'S2']);

  const outcome = await runWithContinuation(ports, {
    ...job,
    policy: { max_continuations: 2, summary_max_words: 100 },
  });

  expect(messages).toEqual([
    'Implement X',
    'Implement X\n\nSummary of your previous session:\nS1\n\nContinue where you left off.',
    'Implement X\n\nSummary of your previous session:\nS2\n\nContinue where you left off.',
  ]);
  expect(published).toEqual([
    'agent `tester` hit the context window; continuation 1/2',
    'agent `tester` hit the context window; continuation 2/2',
  ]);
  expect(outcome).toEqual({
    ...sessions[2],
    messages: sessions.flatMap((session) => session.messages),
    steps: 3,
    tool_calls: 6,
    usage: addUsage(usage, addUsage(usage, usage)),
    aux_usage: addUsage(usage, usage),
  });
  const texts = requests.map(({ messages: [only] }) => (only?.content[0]?.type === 'text' ? only.content[0].text : ''));
  expect(texts[0]).toContain('[USER] asked one\n[ASSISTANT] one\n');
  expect(texts[1]).toContain('[USER] asked two\n[ASSISTANT] two\n');
  expect(texts[1]).not.toContain('asked one');
  expect(requests.map((request) => request.max_tokens)).toEqual([456, 456]);
});

test('at the limit the run ends as it stands', async () => {
  const { ports, requests } = createPorts([toOutcome('one', full)], []);

  const outcome = await runWithContinuation(ports, { ...job, policy: { max_continuations: 0 } });

  expect(outcome).toEqual(toOutcome('one', full));
  expect(requests).toEqual([]);
});

test('other stops are not continued', async () => {
  const { ports, requests } = createPorts([toOutcome('one', { reason: 'max_steps' })], []);

  expect(await runWithContinuation(ports, job)).toEqual(toOutcome('one', { reason: 'max_steps' }));
  expect(requests).toEqual([]);
});

test('a summary that fails ends the run with what there is and is logged, not published', async () => {
  const { ports, published, warnings } = createPorts(
    [toOutcome('one', full)],
    [new EngineError('server_error', '500')],
  );

  expect(await runWithContinuation(ports, job)).toEqual(toOutcome('one', full));
  expect(published).toEqual([]);
  expect(warnings).toHaveLength(1);
});

test('a blank summary counts as failed, its tokens count all the same', async () => {
  const { ports } = createPorts([toOutcome('one', full)], [' \n']);

  expect(await runWithContinuation(ports, job)).toEqual({ ...toOutcome('one', full), aux_usage: usage });
});
