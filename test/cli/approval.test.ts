import { expect, test } from 'vitest';
import { createApprovalPrompt } from '../../src/cli/approval.ts';
import type { CallId, RunId } from '../../src/protocol/ids.ts';
import type { ApprovalRequest } from '../../src/tools/approvals.ts';

/** A terminal whose user answers when told to. */
function openTerminal() {
  const questions: { readonly text: string; answer(text: string): void }[] = [];
  let shown = '';
  return {
    questions,
    shown: () => shown,
    err: (text: string) => void (shown += text),
    ask: (text: string, signal?: AbortSignal) =>
      new Promise<string>((resolve) => {
        signal?.addEventListener('abort', () => resolve(''));
        questions.push({ text, answer: resolve });
      }),
  };
}

function request(command: string): ApprovalRequest {
  return {
    run: 'run' as RunId,
    call: '0123456789ab' as CallId,
    role: 'coder',
    tool: 'bash',
    input: { command },
    reason: null,
    hash: '',
    rule: `bash(${command})`,
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each([
  ['y', { approved: true }],
  ['YES ', { approved: true }],
  ['', { approved: false, comment: 'refused by the user' }],
  ['n', { approved: false, comment: 'refused by the user' }],
  ['no, not on a Friday', { approved: false, comment: 'not on a Friday' }],
  ['use npm instead', { approved: false, comment: 'use npm instead' }],
  ['a', { approved: true, always: true }],
  ['always', { approved: true, always: true }],
  ['a bash(npm test *)', { approved: true, always: 'bash(npm test *)' }],
])('the answer %j decides %j', async (answer, decision) => {
  const terminal = openTerminal();
  const deciding = createApprovalPrompt(terminal)(request('npm test'), new AbortController().signal);
  await turn();

  terminal.questions[0]?.answer(answer);

  expect(await deciding).toEqual(decision);
  expect(terminal.shown()).toContain('bash {"command":"npm test"}');
});

test('always says which rule it adds, and a rule that cannot be read is asked for again', async () => {
  const terminal = openTerminal();
  const deciding = createApprovalPrompt(terminal)(request('npm test'), new AbortController().signal);
  await turn();
  terminal.questions[0]?.answer('a bash(npm');
  await turn();
  await turn();

  terminal.questions[1]?.answer('a');

  expect(await deciding).toEqual({ approved: true, always: true });
  expect(terminal.shown()).toContain('`bash(npm` has no `)` at its end');
  expect(terminal.shown()).toContain('From now on in this run: bash(npm test)');
});

test('calls that ask at the same time are asked about one after the other', async () => {
  const terminal = openTerminal();
  const prompt = createApprovalPrompt(terminal);
  const first = prompt(request('one'), new AbortController().signal);
  const second = prompt(request('two'), new AbortController().signal);
  await turn();
  expect(terminal.questions).toHaveLength(1);

  terminal.questions[0]?.answer('y');
  expect(await first).toEqual({ approved: true });
  await turn();
  terminal.questions[1]?.answer('n');

  expect(await second).toMatchObject({ approved: false });
});

test('a question that was answered elsewhere is taken back and the next one asked', async () => {
  const terminal = openTerminal();
  const prompt = createApprovalPrompt(terminal);
  const answered = new AbortController();
  const first = prompt(request('one'), answered.signal);
  const second = prompt(request('two'), new AbortController().signal);
  await turn();

  answered.abort(new Error('answered'));

  await expect(first).rejects.toThrow('answered');
  await turn();
  terminal.questions[1]?.answer('y');
  expect(await second).toEqual({ approved: true });
});

test('what a model wrote cannot move the cursor or hide the question', async () => {
  const terminal = openTerminal();
  const deciding = createApprovalPrompt(terminal)(request('ls \u001b[2K\u202e'), new AbortController().signal);
  await turn();
  terminal.questions[0]?.answer('n');
  await deciding;

  expect(terminal.shown()).not.toContain('\u001b');
  expect(terminal.shown()).not.toContain('\u202e');
});
