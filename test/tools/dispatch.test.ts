import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHooks, type Hooks } from '../../src/bus/hooks.ts';
import type { BusEvent } from '../../src/bus/events.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { Cancellation } from '../../src/protocol/cancellation.ts';
import { EngineError } from '../../src/protocol/error.ts';
import { createRandomIds, type RunId } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { defaultPermissions, type Tool, type ToolContext } from '../../src/protocol/tool.ts';
import { type Approver, createApprovals } from '../../src/tools/approvals.ts';
import { createToolDispatch, type DispatchSettings } from '../../src/tools/dispatch.ts';
import { createRunRules, parseRules, type RuleSet } from '../../src/tools/rules.ts';

interface Stage {
  readonly call: (
    name: string,
    input?: JsonObject,
  ) => Promise<{ readonly content: string; readonly is_error: boolean }>;
  readonly events: readonly BusEvent[];
  readonly hooks: Hooks;
  readonly approvals: ReturnType<typeof createApprovals>;
  abort(): void;
}

interface StageOptions extends Partial<DispatchSettings> {
  readonly approver?: Approver;
  readonly approvalTimeoutMs?: number;
  readonly ruleSet?: RuleSet;
}

function openStage(tools: readonly Tool[], options: StageOptions = {}): Stage {
  const { approver, approvalTimeoutMs, ruleSet, ...settings } = options;
  const events: BusEvent[] = [];
  const publish = (event: BusEvent): void => void events.push(structuredClone(event));
  const hooks = createHooks({ logger: silentLogger });
  const cancellation = new Cancellation();
  const approvals = createApprovals({ approver, timeoutMs: approvalTimeoutMs, publish });
  const call = createToolDispatch(
    {
      run: 'run' as RunId,
      role: 'worker',
      subtask: null,
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      workspaceRoot: tmpdir(),
      permissions: defaultPermissions,
      maxOutputChars: 100_000,
      toolTimeoutMs: 600_000,
      cancelGraceMs: 20,
      approvals,
      rules: createRunRules([parseRules(ruleSet ?? {}, 'test')], 'worker'),
      cancellation,
      ...settings,
    },
    { hooks, clock: systemClock, newId: createRandomIds(), logger: silentLogger, publish },
  );
  return {
    call: (name, input = {}) => call({ name, input }),
    events,
    hooks,
    approvals,
    abort: () => cancellation.cancel(new EngineError('cancelled', 'the run was cancelled')),
  };
}

function tool(name: string, call: Tool['call'], more: Partial<Tool> = {}): Tool {
  return { name, description: '', input_schema: { type: 'object' }, call, ...more };
}

const types = (stage: Stage): readonly string[] => stage.events.map((event) => event.type);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('what a handler gives back', () => {
  test.each([
    ['text', 'text'],
    [undefined, ''],
    [null, ''],
    [{ content: null }, ''],
    [{ content: { a: 1 }, is_error: true }, '{"a":1}'],
    [[1, { a: 'b' }], '[1,{"a":"b"}]'],
    [false, 'false'],
    ['a\ud800b', 'a\ufffdb'],
  ])('%j becomes %j', async (value, content) => {
    const stage = openStage([tool('t', () => value)]);

    expect((await stage.call('t')).content).toBe(content);
  });

  test('a value JSON cannot hold, and what is thrown but no Error, is a crash; an Error is a failure', async () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const stage = openStage([
      tool('loops', () => loop),
      tool('big', () => 1n),
      tool('text', () => {
        // eslint-disable-next-line no-throw-literal, typescript/only-throw-error
        throw 'boom';
      }),
      tool('nothing', () => Promise.reject(undefined)),
      tool('error', () => Promise.reject(new Error('no disk'))),
    ]);

    expect((await stage.call('loops')).content).toMatch(/^Tool `loops` crashed: /);
    expect((await stage.call('big')).content).toMatch(/^Tool `big` crashed: /);
    expect((await stage.call('text')).content).toBe('Tool `text` crashed: boom');
    expect((await stage.call('nothing')).content).toBe('Tool `nothing` crashed: unknown error');
    expect(await stage.call('error')).toEqual({ content: 'Tool `error` failed: no disk', is_error: true });
  });

  test('a handler may change its input without touching the event or the next call', async () => {
    const seen: unknown[] = [];
    const stage = openStage([
      tool('t', (input) => {
        seen.push(structuredClone(input));
        (input as { list: number[] }).list.push(9);
        return 'ok';
      }),
    ]);
    const input = { list: [1] };

    await stage.call('t', input);
    await stage.call('t', input);

    expect(seen).toEqual([{ list: [1] }, { list: [1] }]);
    expect(stage.events[0]).toMatchObject({ type: 'tool_called', input: { list: [1] } });
  });
});

describe('calls that never reach a tool', () => {
  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', ''])(
    'the name `%s` is unknown (AG18)',
    async (name) => {
      const stage = openStage([tool('t', () => 'never')]);

      expect(await stage.call(name)).toEqual({
        content: `Unknown tool \`${name}\`. Available tools: t.`,
        is_error: true,
      });
      expect(types(stage)).toEqual(['tool_called', 'tool_returned']);
    },
  );

  test('arguments that could not be read reach no rule, hook, approver or tool (AG12)', async () => {
    const asked: string[] = [];
    const stage = openStage([tool('t', () => 'never', { needs_approval: true })], {
      ruleSet: { deny: ['t'] },
      approver: () => {
        asked.push('approver');
        return { approved: true };
      },
    });
    stage.hooks.beforeTool('h', () => void asked.push('hook'));

    const { content } = await stage.call('t', { _raw: '{"path": "a' });

    expect(content).toMatch(/^Tool `t` was not executed: the arguments of this call were not valid JSON/);
    expect(asked).toEqual([]);
  });

  test('order: rules, hooks, approval, validation, tool', async () => {
    const seen: string[] = [];
    const note = (what: string) => (): void => void seen.push(what);
    const stage = openStage(
      [
        tool('t', note('tool'), {
          needs_approval: true,
          validate: () => {
            seen.push('validation');
            return { ok: true, value: {} };
          },
        }),
      ],
      {
        approver: () => {
          seen.push('approval');
          return { approved: true };
        },
      },
    );
    stage.hooks.beforeTool('h', note('hook'));
    stage.hooks.afterTool('h', note('after'));

    await stage.call('t');

    expect(seen).toEqual(['hook', 'approval', 'validation', 'tool', 'after']);
  });
});

describe('rules', () => {
  test('refuse in the words of a hook named `rules`, before any hook, and `after_tool` is skipped', async () => {
    const seen: string[] = [];
    const stage = openStage([tool('t', () => void seen.push('tool'))], { ruleSet: { deny: ['t'] } });
    stage.hooks.beforeTool('h', () => void seen.push('before'));
    stage.hooks.afterTool('h', () => void seen.push('after'));

    const { content, is_error } = await stage.call('t');

    expect({ content, is_error }).toEqual({
      content:
        'The call to `t` was blocked by a policy hook: rules: denied by the rule `t`. Do not repeat this call; choose another approach.',
      is_error: true,
    });
    expect(seen).toEqual([]);
  });

  test('ask with the rule as the reason, and a hook still refuses what they would ask about', async () => {
    const stage = openStage([tool('t', () => 'done')], {
      ruleSet: { ask: ['t'] },
      approver: () => ({ approved: false, comment: 'not today' }),
    });

    expect((await stage.call('t')).content).toBe(
      'The call to `t` was not approved: not today. Do not repeat this call; choose another approach.',
    );
    expect(stage.events[1]).toMatchObject({ type: 'tool_approval_requested', reason: 'asked for by the rule `t`' });

    stage.hooks.beforeTool('h', () => ({ abort: 'never' }));
    expect((await stage.call('t')).content).toContain('policy hook: h: never');
  });

  test('allow answers for a tool that needs approval, never for a hook that asks', async () => {
    const stage = openStage([tool('t', () => 'done', { needs_approval: true })], { ruleSet: { allow: ['t'] } });

    expect(await stage.call('t')).toEqual({ content: 'done', is_error: false });

    stage.hooks.beforeTool('h', () => ({ ask: 'sure?' }));
    expect((await stage.call('t')).content).toContain('was not approved: no approver is configured');
  });

  test('an `always` answers the same question until the run ends, not another one, and never against `deny`', async () => {
    let asked = 0;
    const stage = openStage([tool('t', () => 'done', { needs_approval: true })], {
      ruleSet: { ask: ['t(a*)'], deny: ['t(never)'] },
      approver: () => {
        asked += 1;
        return { approved: true, always: true };
      },
    });
    stage.hooks.beforeTool('h', () => ({ ask: 'sure?' }));

    await stage.call('t', { x: 'a1' });
    await stage.call('t', { x: 'a1' });
    expect(asked).toBe(1);
    await stage.call('t', { x: 'a2' });
    expect(asked).toBe(2);
    expect((await stage.call('t', { x: 'never' })).content).toContain('denied by the rule `t(never)`');
    expect(stage.events.filter((event) => event.type === 'tool_approval_resolved')).toMatchObject([
      { approved: true, comment: 'always: t({"x":"a1"})' },
      { approved: true, comment: 'always: t({"x":"a2"})' },
    ]);
  });

  test('an `always` with a rule answers for what the rule means; one that cannot be read is no approval', async () => {
    const answers = [
      { approved: true, always: 't(x=a*)' },
      { approved: true, always: 't(' },
    ];
    const stage = openStage([tool('t', () => 'done', { needs_approval: true })], {
      approver: () => answers.shift() ?? { approved: false },
    });

    expect((await stage.call('t', { x: 'a1', y: 1 })).content).toBe('done');
    expect((await stage.call('t', { x: 'a2', y: 2 })).content).toBe('done');
    expect((await stage.call('t', { x: 'b' })).content).toContain('not approved: the approver failed: ');
  });
});

describe('approvals', () => {
  const guarded = tool('t', () => 'done', { needs_approval: true });

  async function waitingCalls(stage: Stage, inputs: readonly JsonObject[]) {
    const running = inputs.map((input) => stage.call('t', input));
    while (stage.approvals.waiting().length < inputs.length) await turn();
    return { running, waiting: stage.approvals.waiting() };
  }

  test('are given by call id in any order, once each', async () => {
    const stage = openStage([guarded], { approver: 'bus' });
    const { running, waiting } = await waitingCalls(stage, [{ n: 1 }, { n: 2 }, { n: 3 }]);
    const [one, two, three] = waiting.map(({ call }) => call);
    if (one === undefined || two === undefined || three === undefined) throw new Error('three calls wait');

    stage.approvals.decide(three, { approved: true });
    stage.approvals.decide(one, { approved: false, comment: 'no' });
    expect(() => stage.approvals.decide(three, { approved: true })).toThrow(`no call \`${three}\` of this run waits`);
    stage.approvals.decide(two, { approved: true });

    const results = await Promise.all(running);
    expect(results.map(({ is_error: isError }) => isError)).toEqual([true, false, false]);
    expect(stage.approvals.waiting()).toEqual([]);
  });

  test('that name other arguments than those of the call are refused, and the question stays', async () => {
    const stage = openStage([guarded], { approver: 'bus' });
    const { running, waiting } = await waitingCalls(stage, [{ n: 1 }, { n: 2 }]);
    const [one, two] = waiting;
    if (one === undefined || two === undefined) throw new Error('two calls wait');
    expect(one.hash).not.toBe(two.hash);

    expect(() => stage.approvals.decide(one.call, { approved: true }, two.hash)).toThrow('other arguments');
    stage.approvals.decide(one.call, { approved: true }, one.hash);
    stage.approvals.decide(two.call, { approved: true });

    expect((await Promise.all(running)).every(({ is_error: isError }) => !isError)).toBe(true);
  });

  test('may come from elsewhere while a callback is asked, which is told so', async () => {
    let told: AbortSignal | undefined;
    const stage = openStage([guarded], {
      approver: (_request, signal) => {
        told = signal;
        return new Promise(() => {});
      },
    });
    const { running, waiting } = await waitingCalls(stage, [{}]);

    stage.approvals.decide(waiting[0]?.call ?? ('' as never), { approved: true, comment: 'from the panel' });

    expect(await running[0]).toMatchObject({ is_error: false });
    expect(told?.aborted).toBe(true);
    expect(stage.events).toContainEqual(
      expect.objectContaining({ type: 'tool_approval_resolved', approved: true, comment: 'from the panel' }),
    );
  });

  test.each([
    ['an approver that throws', () => Promise.reject(new Error('no terminal')), 'the approver failed: no terminal'],
    ['an answer that is none', () => undefined as never, 'the approver failed: '],
    ['an answer that is only truthy', () => ({ approved: 'yes' }) as never, 'refused'],
  ])('%s is no approval', async (_what, approver, comment) => {
    const stage = openStage([guarded], { approver });

    expect((await stage.call('t')).content).toContain(`was not approved: ${comment}`);
    expect(stage.events.at(-2)).toMatchObject({ type: 'tool_approval_resolved', approved: false });
  });

  test('that do not come in time are refusals, and the time does not count as the call’s', async () => {
    const stage = openStage([guarded], { approver: 'bus', approvalTimeoutMs: 20, toolTimeoutMs: 5 });

    expect((await stage.call('t')).content).toContain('was not approved: no decision within 20 ms');

    const patient = openStage([guarded], {
      approver: async () => {
        await systemClock.sleep(30);
        return { approved: true };
      },
      toolTimeoutMs: 5,
    });
    expect(await patient.call('t')).toEqual({ content: 'done', is_error: false });
  });

  test('end with the run: the call is cancelled and the question is gone', async () => {
    const stage = openStage([guarded], { approver: 'bus' });
    const { running } = await waitingCalls(stage, [{}]);

    stage.abort();

    expect(await running[0]).toEqual({ content: 'Tool `t` was cancelled.', is_error: true });
    expect(stage.approvals.waiting()).toEqual([]);
    expect(types(stage)).toEqual(['tool_called', 'tool_approval_requested', 'tool_returned']);
  });
});

describe('hooks that do not answer (AG16)', () => {
  const odd: readonly (readonly [string, () => unknown])[] = [
    ['throws', () => Promise.reject(new Error('down'))],
    ['answers a text', () => 'yes'],
    ['answers another decision', () => ({ allow: true })],
    ['answers a wrong reason', () => ({ abort: 5 })],
  ];

  test.each(odd)('a hook that %s refuses each of 20 parallel calls', async (_what, hook) => {
    let executed = 0;
    const stage = openStage([tool('t', () => void (executed += 1))]);
    stage.hooks.beforeTool('h', hook as never);

    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => stage.call('t', { n })));

    expect(results.every(({ content }) => content.includes('policy hook: h: hook failed: '))).toBe(true);
    expect(executed).toBe(0);
  });

  test('a hook past its time refuses, and its late consent changes nothing', async () => {
    let executed = 0;
    const stage = openStage([tool('t', () => void (executed += 1))]);
    let consent = (): void => {};
    stage.hooks.register({
      name: 'slow',
      timeoutMs: 10,
      beforeTool: () => new Promise<undefined>((resolve) => (consent = () => resolve(undefined))),
    });

    const { content } = await stage.call('t');
    consent();
    await turn();

    expect(content).toContain('policy hook: slow: hook failed: no answer within 10 ms');
    expect(executed).toBe(0);
  });
});

describe('time and cancellation', () => {
  const hangs = (seen: ToolContext[]): Tool =>
    tool('hangs', (_input, context) => {
      seen.push(context);
      return new Promise(() => {});
    });

  test('a call past its time is told to end, then abandoned, and says so', async () => {
    const seen: ToolContext[] = [];
    const stage = openStage([hangs(seen)], { toolTimeoutMs: 10 });

    const result = await stage.call('hangs');

    expect(result.content).toBe('Tool `hangs` timed out after 10 ms and was stopped.');
    expect(seen[0]?.signal.aborted).toBe(true);
    expect(stage.events.at(-1)).toMatchObject({ type: 'tool_returned', timed_out: true, is_error: true });
  });

  test.each<[string, () => Promise<void> | undefined]>([
    ['from its first line', () => undefined],
    ['after it waited', turn],
  ])('a loop that holds the thread ends in time when it asks, %s', async (_, wait) => {
    const busy = tool('busy', (_input, context) => {
      const loop = (): never => {
        for (;;) context.throwIfCancelled?.();
      };
      const waiting = wait();
      return waiting === undefined ? loop() : waiting.then(loop);
    });
    const stage = openStage([busy], { toolTimeoutMs: 10 });

    expect((await stage.call('busy')).content).toBe('Tool `busy` timed out after 10 ms and was stopped.');
    expect(stage.events.at(-1)).toMatchObject({ type: 'tool_returned', timed_out: true });
  });

  test('the tool’s own limit wins over the run’s, and 0 is none', async () => {
    const stage = openStage([tool('t', () => systemClock.sleep(30).then(() => 'late but fine'), { timeout_ms: 0 })], {
      toolTimeoutMs: 5,
    });

    expect((await stage.call('t')).content).toBe('late but fine');
  });

  test('a cancelled call that settles in its grace keeps its result, one that rejects or hangs is cancelled', async () => {
    const started: (() => void)[] = [];
    const waitFor =
      (settle: (context: ToolContext) => unknown): Tool['call'] =>
      (_input, context) =>
        new Promise((resolve, reject) => {
          started.push(() => {});
          context.signal.addEventListener('abort', () => {
            const value = settle(context);
            if (value instanceof Error) reject(value);
            else if (value !== undefined) resolve(value);
          });
        });
    const stage = openStage([
      tool(
        'finishes',
        waitFor(() => 'finished anyway'),
      ),
      tool(
        'obeys',
        waitFor(({ signal }) => signal.reason),
      ),
      tool(
        'fails',
        waitFor(() => new Error('broke while stopping')),
      ),
      tool(
        'ignores',
        waitFor(() => undefined),
      ),
    ]);
    const names = ['finishes', 'obeys', 'fails', 'ignores'];
    const running = names.map((name) => stage.call(name));
    while (started.length < names.length) await turn();

    stage.abort();

    expect((await Promise.all(running)).map(({ content }) => content)).toEqual([
      'finished anyway',
      'Tool `obeys` was cancelled.',
      'Tool `fails` failed: broke while stopping',
      'Tool `ignores` was cancelled.',
    ]);
    expect(types(stage).filter((type) => type === 'tool_returned')).toHaveLength(4);
  });
});

describe('long outputs', () => {
  test('are cut between characters and saved whole, and the preview is of what the model sees (AG13)', async () => {
    const root = await mkdtemp(join(tmpdir(), 'vibe-dispatch-'));
    try {
      const text = '😀'.repeat(600);
      const stage = openStage([tool('t', () => text)], { maxOutputChars: 100, workspaceRoot: root });

      const { content } = await stage.call('t');

      const [name] = await readdir(join(root, '.vibe/tool-output'));
      expect(
        content.startsWith(`${'😀'.repeat(100)}\n\n[Output truncated: showing the first 100 of 600 characters.`),
      ).toBe(true);
      expect(await readFile(join(root, '.vibe/tool-output', name ?? ''), 'utf8')).toBe(text);
      expect(stage.events.at(-1)).toMatchObject({ output_chars: 600 });
      const returned = stage.events.at(-1);
      expect(returned?.type === 'tool_returned' && returned.preview.isWellFormed()).toBe(true);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });

  test.each([
    [100, 100, false, 'x'.repeat(100)],
    [101, 100, true, `${'x'.repeat(100)}\n[vibe: output cut to the first 100 of 101 characters]\n`],
    [101, 101, true, 'x'.repeat(101)],
  ])('%i characters with a trace of %i: cut %s', async (count, maxChars, isCut, traced) => {
    const root = await mkdtemp(join(tmpdir(), 'vibe-dispatch-'));
    try {
      const trace = { dir: join(root, 'trace'), reference: 'trace//', maxChars };
      const stage = openStage([tool('t', () => 'x'.repeat(count))], {
        maxOutputChars: 100,
        workspaceRoot: root,
        trace,
      });

      const { content } = await stage.call('t');

      const returned = stage.events.at(-1);
      const call = returned?.type === 'tool_returned' ? returned.call : '';
      expect(content.startsWith('x'.repeat(100))).toBe(true);
      expect(content.length > 100).toBe(isCut);
      expect(returned).toMatchObject({ output_file: `trace/${call}.txt`, output_chars: count });
      expect(await readFile(join(trace.dir, `${call}.txt`), 'utf8')).toBe(traced);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});
