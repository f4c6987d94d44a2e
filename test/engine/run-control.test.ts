import { expect, test } from 'vitest';
import type { EngineError } from '../../src/protocol/error.ts';
import { describePlacements } from './placements.ts';
import { calling, deferred, resultsOf, toolNamed, worker } from './support.ts';

/** A tool that says when it was reached and goes on when told. */
function gatedTool() {
  const reached = deferred();
  const goOn = deferred<unknown>();
  const tool = toolNamed('gate', () => {
    reached.resolve();
    return goOn.promise;
  });
  return { tool, reached: reached.promise, goOn: goOn.resolve };
}

describePlacements('cancel', (open) => {
  test('hard: what is in flight is aborted, what waits is not started, every call is answered', async () => {
    const gate = gatedTool();
    await using stage = await open([calling(['gate'], ['gate'], ['gate']), { text: 'never' }], {
      tools: [{ ...gate.tool, is_mutating: true }],
      cancelGraceMs: 10,
    });
    const run = stage.engine.run(worker, 'go');
    await gate.reached;

    await run.cancel();

    const outcome = await run.outcome;
    expect(outcome.stop).toEqual({ reason: 'cancelled' });
    expect(outcome).toMatchObject({ steps: 1, tool_calls: 3 });
    expect(outcome.messages.at(-1)?.content).toEqual([
      { type: 'tool_result', tool_use_id: 'c1', content: 'Tool `gate` was cancelled.', is_error: true },
      { type: 'tool_result', tool_use_id: 'c2', content: 'Tool call was not executed.', is_error: true },
      { type: 'tool_result', tool_use_id: 'c3', content: 'Tool call was not executed.', is_error: true },
    ]);
    expect(stage.of('tool_called')).toHaveLength(1);
    expect(stage.of('tool_returned')).toHaveLength(1);
    expect(stage.requests).toHaveLength(1);
  });

  test('cooperative: the step completes with all its calls, and no further model call starts', async () => {
    const gate = gatedTool();
    await using stage = await open([calling(['gate'], ['gate']), { text: 'never' }], {
      tools: [{ ...gate.tool, is_mutating: true }],
    });
    const run = stage.engine.run(worker, 'go');
    await gate.reached;

    const ended = run.cancel({ mode: 'cooperative' });
    gate.goOn('fine');
    await ended;

    expect((await run.outcome).stop).toEqual({ reason: 'cancelled' });
    expect(stage.of('tool_returned').map(({ is_error }) => is_error)).toEqual([false, false]);
    expect(stage.requests).toHaveLength(1);
  });

  test('the caller’s signal is a hard cancel, also when it aborted before', async () => {
    await using stage = await open([{ text: 'never' }]);
    const before = AbortSignal.abort(new Error('changed my mind'));

    const outcome = await stage.engine.run(worker, 'go', { signal: before }).outcome;

    expect(outcome).toMatchObject({ stop: { reason: 'cancelled' }, steps: 0 });
    expect(stage.of('agent_finished')).toHaveLength(1);
  });

  test('during a model call: no partial message is kept, and the step does not count', async () => {
    const asked = deferred();
    await using stage = await open([{ text: 'late', delay_ms: 3_600_000 }], {
      onRequest: () => asked.resolve(),
    });
    const run = stage.engine.run(worker, 'go');
    await asked.promise;

    await run.cancel();

    expect(await run.outcome).toMatchObject({ stop: { reason: 'cancelled' }, steps: 0, messages: [{ role: 'user' }] });
  });

  test('of a run that has ended resolves at once', async () => {
    await using stage = await open([{ text: 'done' }]);
    const run = stage.engine.run(worker, 'go');
    await run.outcome;

    await expect(run.cancel()).resolves.toBeUndefined();
    await expect(run.cancel({ mode: 'cooperative' })).resolves.toBeUndefined();
  });

  test('a cancelled transcript goes on with `history`', async () => {
    const gate = gatedTool();
    await using stage = await open([calling(['gate']), { text: 'welcome back' }], {
      tools: [gate.tool],
      cancelGraceMs: 1,
    });
    const run = stage.engine.run(worker, 'go');
    await gate.reached;
    await run.cancel();
    const { messages } = await run.outcome;

    const again = await stage.engine.run(worker, 'go on', { history: messages }).outcome;

    expect(again.stop).toEqual({ reason: 'completed' });
    expect(resultsOf(stage.requests[1])).toEqual(['Tool `gate` was cancelled.']);
  });
});

describePlacements('steering', (open) => {
  test('joins the next turn behind the results, as one event', async () => {
    const gate = gatedTool();
    await using stage = await open([calling(['gate']), { text: 'done' }], { tools: [gate.tool] });
    const run = stage.engine.run(worker, 'go');
    await gate.reached;

    run.steer('Skip the appendix.');
    gate.goOn('ok');
    await run.outcome;

    expect(stage.requests[1]?.messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'ok', is_error: false },
        { type: 'text', text: 'Skip the appendix.' },
      ],
    });
    expect(stage.of('run_steered')).toEqual([{ type: 'run_steered', run: run.id, text: 'Skip the appendix.' }]);
  });

  test('that arrives with the last answer is answered too; after the end it is refused', async () => {
    await using stage = await open([{ text: 'done' }, { text: 'done again' }], {
      onRequest: () => {
        if (stage.requests.length === 1) run.steer('One more thing.');
      },
    });
    const run = stage.engine.run(worker, 'go');

    const outcome = await run.outcome;

    expect(outcome).toMatchObject({ final_text: 'done again', steps: 2, stop: { reason: 'completed' } });
    expect(() => run.steer('too late')).toThrow(expect.objectContaining({ code: 'not_found' }) as EngineError);
  });

  test.each(['agent_started', 'agent_text', 'tool_returned'] as const)(
    'by an observer of `%s` is answered or refused, and never comes after the end',
    async (type) => {
      const say = toolNamed('say', () => 'said');
      await using stage = await open([calling(['say']), { text: 'one' }, { text: 'two' }], { tools: [say] });
      const accepted: string[] = [];
      const off = stage.engine.bus.on(type, () => {
        off();
        try {
          run.steer('And now?');
          accepted.push('And now?');
        } catch (error) {
          expect(error).toMatchObject({ code: 'not_found' });
        }
      });
      const run = stage.engine.run(worker, 'go');

      const { messages } = await run.outcome;
      await new Promise((resolve) => setImmediate(resolve));

      const joined = messages.flatMap(({ role, content }) =>
        role === 'user' ? content.flatMap((block) => (block.type === 'text' ? [block.text] : [])) : [],
      );
      expect(joined).toEqual(['go', ...accepted]);
      expect(stage.of('run_steered').map(({ text }) => text)).toEqual(accepted);
      const types = stage.envelopes.flatMap(({ event }) => ('run' in event ? [event.type] : []));
      expect(types.at(-1)).toBe('agent_finished');
    },
  );
});

describePlacements('approval through the handle', (open) => {
  const deploy = toolNamed('deploy', (input) => `deployed ${JSON.stringify(input)}`, { needs_approval: true });

  test('approve and deny by call id, in any order; what waits is listed with its hash and rule', async () => {
    await using stage = await open(
      [calling(['deploy', { to: 'a' }], ['deploy', { to: 'b' }], ['deploy', { to: 'c' }]), { text: 'done' }],
      { tools: [deploy], approver: 'bus' },
    );
    const run = stage.engine.run(worker, 'go');
    const seen: string[] = [];
    for await (const { event } of run.events({ from: 1 })) {
      if (event.type !== 'tool_approval_requested') continue;
      seen.push(event.call);
      if (seen.length === 3) break;
    }
    const waiting = run.waiting();
    expect(waiting.map(({ call }) => call)).toEqual(seen);
    expect(waiting[0]).toMatchObject({
      tool: 'deploy',
      input: { to: 'a' },
      role: 'worker',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      rule: 'deploy({"to":"a"})',
    });
    const [one = '', two = '', three = ''] = seen;

    await run.approve(three);
    await run.deny(one, 'not on a Friday');
    await expect(run.approve(two, { hash: waiting[0]?.hash ?? '' })).rejects.toMatchObject({
      kind: 'invalid_request',
    });
    await run.approve(two.toUpperCase(), { hash: waiting[1]?.hash ?? '', comment: 'fine' });
    await expect(run.approve(two)).rejects.toMatchObject({ kind: 'invalid_request', code: 'not_found' });
    await run.outcome;

    expect(resultsOf(stage.requests[1])).toEqual([
      'The call to `deploy` was not approved: not on a Friday. Do not repeat this call; choose another approach.',
      'deployed {"to":"b"}',
      'deployed {"to":"c"}',
    ]);
    expect(stage.of('tool_approval_resolved').map(({ approved, comment }) => [approved, comment])).toEqual([
      [true, null],
      [false, 'not on a Friday'],
      [true, 'fine'],
    ]);
    expect(run.waiting()).toEqual([]);
    await expect(run.approve(one)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('an approval with `always` is not asked again in this run, and is in the next', async () => {
    await using stage = await open(
      [calling(['deploy']), calling(['deploy']), { text: 'done' }, calling(['deploy']), { text: 'done' }],
      {
        tools: [deploy],
        approver: ({ call }) => {
          approved.push(call);
          return { approved: true, always: true };
        },
      },
    );
    const approved: string[] = [];

    await stage.engine.run(worker, 'go').outcome;
    expect(approved).toHaveLength(1);
    await stage.engine.run(worker, 'again').outcome;
    expect(approved).toHaveLength(2);
  });

  test('a bad call id or rule is the caller’s error, and the question stays open', async () => {
    await using stage = await open([calling(['deploy']), { text: 'done' }], {
      tools: [deploy],
      approver: 'bus',
    });
    const run = stage.engine.run(worker, 'go');
    const asked = new Promise<string>((resolve) => {
      stage.engine.bus.on('tool_approval_requested', ({ event }) => resolve(event.call));
    });
    const call = await asked;

    await expect(run.approve('nonsense')).rejects.toThrow('invalid call id `nonsense`: expected 12 hex digits');
    await expect(run.approve('0123456789ab')).rejects.toMatchObject({ code: 'not_found' });
    await expect(run.approve(call, { always: 'deploy(' })).rejects.toMatchObject({ kind: 'config' });
    await run.approve(call);

    expect((await run.outcome).stop).toEqual({ reason: 'completed' });
  });

  test('a cancelled run takes its questions back', async () => {
    await using stage = await open([calling(['deploy']), { text: 'never' }], {
      tools: [deploy],
      approver: 'bus',
    });
    const run = stage.engine.run(worker, 'go');
    await new Promise((resolve) => stage.engine.bus.on('tool_approval_requested', resolve));

    await run.cancel();

    expect((await run.outcome).stop).toEqual({ reason: 'cancelled' });
    expect(run.waiting()).toEqual([]);
    expect(stage.of('tool_returned')).toHaveLength(1);
  });
});
