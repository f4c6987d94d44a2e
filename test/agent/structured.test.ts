import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createOutputChecker } from '../../src/agent/output-schema.ts';
import { runStructured, type StructuredPorts } from '../../src/agent/structured.ts';
import type { AgentOutcome, AgentStop } from '../../src/protocol/agent.ts';
import { EngineError } from '../../src/protocol/error.ts';
import { type Message, userText } from '../../src/protocol/message.ts';
import type { CompletionRequest } from '../../src/protocol/model.ts';

const schema = z.object({ status: z.string(), files: z.array(z.string()) });
const good = '{"status": "done", "files": ["a.ts"]}';
const value = { status: 'done', files: ['a.ts'] };
const usage = { input_tokens: 10, output_tokens: 5, cache_read_tokens: 1, cache_write_tokens: 2 };
const job = { role: 'tester', model: 'm', message: 'go', hint: 'HINT' };

function toOutcome(text: string, stop: AgentStop = { reason: 'completed' }): AgentOutcome {
  const answer: Message = { role: 'assistant', content: [{ type: 'text', text }] };
  return { role: 'tester', stop, final_text: text, messages: [answer], steps: 2, tool_calls: 3, usage };
}

/** Ports that answer from two lists and write down what they were asked. */
function createPorts(sessions: readonly AgentOutcome[], aux: readonly (string | Error)[] = []) {
  const runs: { message: string; history: readonly Message[] | undefined }[] = [];
  const requests: CompletionRequest[] = [];
  const ports: StructuredPorts<z.infer<typeof schema>> = {
    async run(message, history) {
      runs.push({ message, history });
      const outcome = sessions[runs.length - 1];
      if (outcome === undefined) throw new Error('one session too many');
      return outcome;
    },
    async completeAux(request) {
      requests.push(request);
      const answer = aux[requests.length - 1];
      if (typeof answer !== 'string') throw answer ?? new Error('one call too many');
      return {
        message: { role: 'assistant', content: [{ type: 'text', text: answer }] },
        stop_reason: 'end_turn',
        usage,
        model: 'm',
      };
    },
    check: createOutputChecker(schema).check,
  };
  return { ports, runs, requests };
}

test('a good answer needs no further call, whatever the stop', async () => {
  const outcome = toOutcome(`done\n\`\`\`json\n${good}\n\`\`\``, { reason: 'cancelled' });
  const { ports, runs, requests } = createPorts([outcome]);

  const result = await runStructured(ports, job);

  expect(result).toEqual({ ok: true, value, outcome });
  expect(runs).toEqual([{ message: 'go', history: undefined }]);
  expect(requests).toEqual([]);
});

test('the repair call is plain, cold and holds hint and text; it is no step and its tokens are counted apart', async () => {
  const { ports, runs, requests } = createPorts([toOutcome('status: done')], [good]);

  const result = await runStructured(ports, job);

  expect(result).toEqual({ ok: true, value, outcome: { ...toOutcome('status: done'), aux_usage: usage } });
  expect(runs).toHaveLength(1);
  const [request] = requests;
  expect(request).toMatchObject({ model: 'm', tools: [], max_tokens: 8_192, temperature: 0 });
  expect(request).not.toHaveProperty('thinking_budget');
  expect(request?.system).toContain('JSON');
  expect(request?.messages).toEqual([userText(expect.stringMatching(/HINT[^]*status: done$/) as string)]);
});

describe('the resume names', () => {
  const notFound = 'no JSON object or array found in the output';
  const wrongShape = /^JSON does not match the expected shape: status: .+/;

  test.each([
    ['the first error when the repair finds nothing', 'x', ['still nothing'], notFound],
    ['the first error when the repair fails', 'x', [new EngineError('server_error', '500')], notFound],
    ['the shape error of the repair', 'x', ['{"status": 1}'], wrongShape],
    ['the shape error of the answer', '{"status": 1}', ['nothing'], wrongShape],
    ['a missing document for a blank answer, which is not repaired', ' \n', [], notFound],
  ])('%s', async (_name, text, aux, error) => {
    const { ports, runs, requests } = createPorts([toOutcome(text), toOutcome(good)], aux);

    const result = await runStructured(ports, job);

    expect(result).toMatchObject({ ok: true, value, outcome: { steps: 4, tool_calls: 6, final_text: good } });
    expect(result.outcome.usage).toEqual({
      input_tokens: 20,
      output_tokens: 10,
      cache_read_tokens: 2,
      cache_write_tokens: 4,
    });
    expect(requests).toHaveLength(aux.length);
    expect(runs[1]?.history).toEqual(toOutcome(text).messages);
    const named = /^Your previous answer was not valid JSON: (.*)\. Return only JSON\.$/.exec(runs[1]?.message ?? '');
    expect(named?.[1]).toMatch(error);
  });
});

test('after one resume it gives up, with the summed outcome', async () => {
  const { ports, requests } = createPorts([toOutcome('a'), toOutcome('[1]', { reason: 'max_steps' })], ['b']);

  const result = await runStructured(ports, job);

  expect(requests).toHaveLength(1);
  expect(result.outcome).toMatchObject({ stop: { reason: 'max_steps' }, steps: 4, aux_usage: usage });
  expect(result).toMatchObject({
    ok: false,
    error: {
      kind: 'invalid_request',
      message: expect.stringMatching(
        /^agent `tester` did not produce valid structured output after a retry: JSON does not match the expected shape: /,
      ) as string,
    },
  });
});

test('a cancelled run makes no repair call and no resume', async () => {
  const { ports, runs, requests } = createPorts([toOutcome('no json', { reason: 'cancelled' })]);

  const result = await runStructured(ports, job);

  expect(result).toMatchObject({ ok: false, error: { kind: 'cancelled', message: 'agent run was cancelled' } });
  expect([runs.length, requests.length]).toEqual([1, 0]);
});

test('a run cancelled during the repair is cancelled', async () => {
  const { ports, runs } = createPorts([toOutcome('no json')], [new EngineError('cancelled', 'x')]);

  const result = await runStructured(ports, job);

  expect(result).toMatchObject({ ok: false, error: { kind: 'cancelled', message: 'agent run was cancelled' } });
  expect(runs).toHaveLength(1);
});

test('a failed run keeps its kind and code', async () => {
  const stop = { reason: 'error', kind: 'other', message: 'gone', code: 'worker_exited' } as const;
  const { ports } = createPorts([toOutcome('', stop)]);

  const result = await runStructured(ports, job);

  expect(result).toMatchObject({
    ok: false,
    error: { kind: 'other', code: 'worker_exited', message: 'agent `tester` failed: gone' },
  });
});

test('the value is typed by the schema', async () => {
  const { ports } = createPorts([toOutcome(good)]);

  const result = await runStructured(ports, job);

  expectTypeOf(result)
    .extract<{ ok: true }>()
    .toHaveProperty('value')
    .toEqualTypeOf<{ status: string; files: string[] }>();
});

test('a run that is itself a resume starts from its history', async () => {
  const { ports, runs } = createPorts([toOutcome(good)]);

  await runStructured(ports, { ...job, history: [userText('before')] });

  expect(runs).toEqual([{ message: 'go', history: [userText('before')] }]);
});
