import { expect, test } from 'vitest';
import { Cancellation, signalSource, withLazySignal } from '../../src/protocol/cancellation.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createHooks } from '../../src/bus/hooks.ts';
import { createRandomIds, type CallId, type RunId } from '../../src/protocol/ids.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { defaultPermissions, type Tool, type ToolContext } from '../../src/protocol/tool.ts';
import { createApprovals } from '../../src/tools/approvals.ts';
import { type CallLimit, CallLimits } from '../../src/tools/call-limit.ts';
import { createToolDispatch } from '../../src/tools/dispatch.ts';

function contextOf(limit: CallLimit): ToolContext {
  return withLazySignal({
    workspace_root: '/w',
    permissions: defaultPermissions,
    agent: 'a',
    call: '0123456789ab' as CallId,
    [signalSource]: limit,
  });
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

test('a call that has ended hears nothing of the end of its run, the others do', () => {
  const run = new Cancellation();
  const limits = new CallLimits(run);
  const told: number[] = [];
  const calls = [0, 1, 2, 3].map((number) => {
    const limit = limits.open(0);
    limit.listen({ onCancelled: () => void told.push(number) });
    return limit;
  });

  calls[1]?.[Symbol.dispose]();
  calls[3]?.[Symbol.dispose]();
  run.cancel(new Error('enough'));
  run.cancel(new Error('again'));

  expect(new Set(told)).toEqual(new Set([0, 2]));
  expect(calls[0]?.signal.reason).toMatchObject({ message: 'enough' });
});

test('the signal is one, in copies of the context too, and aborts with the reason of the run', () => {
  const run = new Cancellation();
  const context = contextOf(new CallLimits(run).open(0));
  const copy = { ...context };
  const reason = new Error('enough');

  run.cancel(reason);

  expect(copy.signal).toBe(context.signal);
  expect(copy.signal.reason).toBe(reason);
});

test('a signal that is looked at after the end has aborted', () => {
  const run = new Cancellation();
  const limit = new CallLimits(run).open(0);

  run.cancel(new Error('enough'));

  expect(limit.signal.reason).toBe(run.reason);
  expect(() => limit.throwIfCancelled()).toThrow('enough');
});

test('the time of a call counts from the start of its clock and ends this call only', async () => {
  const run = new Cancellation();
  const limit = new CallLimits(run).open(5);
  const ended = new Promise<void>((resolve) => limit.listen({ onCancelled: () => resolve() }));

  limit.startClock();
  await ended;

  expect(limit.hasTimedOut).toBe(true);
  expect(limit.signal.reason).toMatchObject({ name: 'AbortError', message: 'timed out after 5 ms' });
  expect(run.isCancelled).toBe(false);
});

test('a call that waits for a worker thread has its time from the moment it begins', async () => {
  let begin: ((context: ToolContext) => void) | undefined;
  const beginning = new Promise<ToolContext>((resolve) => (begin = resolve));
  const tool: Tool = {
    name: 'queued',
    description: '',
    input_schema: { type: 'object' },
    timeout_ms: 20,
    runs_in: 'thread',
    call: (_input, context) => {
      begin?.(context);
      return new Promise((_, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
      });
    },
  };
  const run = new Cancellation();
  const callTool = createToolDispatch(
    {
      run: 'r' as RunId,
      role: 'a',
      subtask: null,
      tools: new Map([['queued', tool]]),
      workspaceRoot: '/w',
      permissions: defaultPermissions,
      maxOutputChars: 1_000,
      toolTimeoutMs: 0,
      cancelGraceMs: 1_000,
      approvals: createApprovals({ approver: undefined, publish: () => {} }),
      cancellation: run,
    },
    {
      hooks: createHooks({ logger: silentLogger }),
      clock: systemClock,
      newId: createRandomIds(),
      logger: silentLogger,
      publish: () => {},
    },
  );
  const timersBefore = countTimers();
  const calling = callTool({ name: 'queued', input: {} });
  const context = await beginning;
  expect(countTimers()).toBe(timersBefore);

  context.onStarted?.();

  expect(countTimers()).toBe(timersBefore + 1);
  expect(await calling).toEqual({
    content: 'Tool `queued` timed out after 20 ms and was stopped.',
    is_error: true,
  });
});
