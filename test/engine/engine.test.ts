import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import type { EngineOptions, RunOptions } from '../../src/engine/options.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { describePlacements } from './placements.ts';
import { calling, deferred, openTestEngine, resultsOf, toolNamed, worker } from './support.ts';

describe('what is asked for wrongly is refused by name', () => {
  test('an unknown agent, with the known ones', async () => {
    await using stage = await openTestEngine([], { agents: [worker, { ...worker, role: 'scout' }] });

    for (const role of ['constructor', '__proto__', 'toString', 'nobody', '']) {
      expect(() => stage.engine.run(role, 'go')).toThrow(
        expect.objectContaining({
          kind: 'config',
          code: 'not_found',
          message: `unknown agent \`${role}\` (known: worker, scout)`,
        }) as Error,
      );
    }
    await using empty = await openTestEngine([]);
    expect(() => empty.engine.run('x', 'go')).toThrow('unknown agent `x` (known: none)');
  });

  test('an unknown provider or phase, with the configured ones', async () => {
    await using engine = await createEngine({
      bare: true,
      model: 'demo/x',
      config: { providers: { demo: { kind: 'mock' } }, phases: { plan: { thinking: 'low' } } },
    });

    expect(() => engine.run(worker, 'go', { model: 'constructor/x' })).toThrow(
      'unknown provider `constructor` for model `constructor/x` (configured: demo)',
    );
    expect(() => engine.run(worker, 'go', { phase: 'toString' })).toThrow(
      'unknown phase `toString` (configured: plan)',
    );
  });

  test.each<[keyof RunOptions, number, string]>([
    ['contextWindow', 0, 'from 1'],
    ['maxToolOutputChars', 0, 'from 1'],
    ['maxProviderRetries', -1, 'from 0'],
    ['retryBaseDelayMs', Number.NaN, 'from 0'],
    ['maxParallelTools', 1.5, 'from 1'],
    ['toolTimeoutMs', Number.POSITIVE_INFINITY, 'from 0'],
    ['cancelGraceMs', 2 ** 31, 'from 0'],
    ['approvalTimeoutMs', 0, 'from 1'],
  ])('the option `%s` = %s', async (name, value, range) => {
    await using stage = await openTestEngine([]);

    expect(() => stage.engine.run(worker, 'go', { [name]: value })).toThrow(
      expect.objectContaining({
        kind: 'config',
        message: expect.stringMatching(
          new RegExp(`^option \`${name}\` must be a whole number ${range} to \\d+, not `),
        ) as string,
      }) as Error,
    );
    expect(stage.engine.runs()).toEqual([]);
    expect(stage.envelopes).toEqual([]);
  });

  test.each<[EngineOptions, string]>([
    [{ tools: [toolNamed(' ', () => '')] }, 'a tool needs a name'],
    [{ agents: [{ ...worker, role: ' ' }] }, 'an agent needs a role'],
    [{ config: { providers: { x: { kind: 'nope' } } } }, 'provider `x` has unknown kind `nope`'],
    [{ bare: false, root: '/nonexistent/folder' }, "the engine's root `/nonexistent/folder` is not a folder"],
  ])('engine options %#', async (options, message) => {
    await expect(createEngine({ bare: true, ...options })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining(message) as string,
    });
  });

  test('a run id that is in use, and not once that run has ended', async () => {
    const asked = deferred();
    await using stage = await openTestEngine([{ text: 'late', delay_ms: 3_600_000 }, { text: 'done' }], {
      onRequest: () => asked.resolve(),
    });
    const first = stage.engine.run(worker, 'go', { runId: 'mine' });
    await asked.promise;

    expect(() => stage.engine.run(worker, 'go', { runId: 'mine' })).toThrow('run `mine` is already active');
    expect(() => stage.engine.run(worker, 'go', { runId: '' })).toThrow('option `runId` must not be empty');
    await first.cancel();

    const again = stage.engine.run(worker, 'go', { runId: 'mine' });
    expect((await again.outcome).stop).toEqual({ reason: 'completed' });
    // numbers never go back under one id
    const numbers = stage.envelopes.flatMap(({ event, seq }) => ('run' in event && seq !== undefined ? [seq] : []));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });
});

describe('closing', () => {
  test('with runs in every state ends them all, and no actor, listener or timer is left', async () => {
    const reached = deferred();
    const script = [
      calling(['hangs']),
      calling(['asks']),
      { text: 'late', delay_ms: 3_600_000 },
      { error: { kind: 'rate_limited', message: 'later', retry_after_ms: 60_000 } },
    ];
    let started = 0;
    const note = (): void => {
      started += 1;
      if (started === script.length) reached.resolve();
    };
    const provider = createScriptedProvider({ script });
    const engine = await createEngine({
      bare: true,
      provider,
      cancelGraceMs: 5,
      approver: 'bus',
      tools: [
        toolNamed('hangs', () => {
          note();
          return new Promise(() => {});
        }),
        toolNamed('asks', () => 'never', { needs_approval: true }),
      ],
    });
    engine.bus.on('tool_approval_requested', note);
    engine.bus.on('retrying', note);
    const runs = script.map(() => engine.run(worker, 'go'));
    while (provider.remaining() > 0) await new Promise((resolve) => setImmediate(resolve));
    note(); // the third waits for its model
    await reached.promise;
    expect(engine.actors().filter(({ kind }) => kind === 'run')).toHaveLength(script.length);

    await engine.close();

    for (const run of runs) expect((await run.outcome).stop).toMatchObject({ reason: 'cancelled' });
    expect(engine.runs()).toEqual([]);
    expect(engine.actors()).toEqual([]);
    expect(engine.bus.stats().listeners).toBe(2);
    expect(() => engine.run(worker, 'go')).toThrow(expect.objectContaining({ code: 'engine_closed' }) as Error);
    await engine.close();
  });

  test('publishes exactly one end for each start', async () => {
    const engine = await createEngine({
      bare: true,
      provider: createScriptedProvider({ script: Array.from({ length: 20 }, () => ({ text: 'x', delay_ms: 1000 })) }),
    });
    const counts = { started: 0, finished: 0 };
    engine.bus.on('agent_started', () => void (counts.started += 1));
    engine.bus.on('agent_finished', () => void (counts.finished += 1));
    for (let index = 0; index < 20; index += 1) engine.run(worker, 'go');
    await new Promise((resolve) => setImmediate(resolve));

    await engine.close();

    expect(counts.finished).toBe(counts.started);
    expect(counts.started).toBeGreaterThan(0);
  });
});

describePlacements('the loop', (open) => {
  test('a retry repeats the model call alone: finished tools do not run again (AG15)', async () => {
    let executed = 0;
    const failing = { error: { kind: 'server_error', message: 'down' } };
    await using stage = await open([calling(['t']), failing, failing, { text: 'done' }], {
      tools: [toolNamed('t', () => void (executed += 1), { is_mutating: true })],
      retryBaseDelayMs: 0,
    });

    const outcome = await stage.engine.run(worker, 'go').outcome;

    expect(outcome).toMatchObject({ stop: { reason: 'completed' }, steps: 2 });
    expect(executed).toBe(1);
    expect(stage.of('retrying').map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(stage.requests[2]).toEqual(stage.requests[1]);
    expect(stage.requests[3]).toEqual(stage.requests[1]);
  });

  test('a mutating call that ran out of time is not made again by itself (AG15)', async () => {
    let executed = 0;
    await using stage = await open([calling(['t']), { text: 'done' }], {
      tools: [
        toolNamed(
          't',
          () => {
            executed += 1;
            return new Promise(() => {});
          },
          { is_mutating: true },
        ),
      ],
      toolTimeoutMs: 5,
      cancelGraceMs: 5,
    });

    await stage.engine.run(worker, 'go').outcome;

    expect(executed).toBe(1);
    expect(resultsOf(stage.requests[1])).toEqual(['Tool `t` timed out after 5 ms and was stopped.']);
  });

  test.each([
    ['that calls tools for ever', calling(['t', {}])],
    ['that calls tools that do not exist', calling(['nope', {}])],
    ['whose calls are vetoed', calling(['vetoed', {}])],
    ['whose arguments are broken', { tool_calls: [{ id: 'c', name: 't', arguments: '{"a":' }] }],
  ])('a model %s is stopped by `max_steps` (AG17)', async (_what, entry) => {
    await using stage = await open(
      Array.from({ length: 12 }, () => entry),
      {
        tools: [toolNamed('t', () => 'ok'), toolNamed('vetoed', () => 'never')],
      },
    );
    stage.engine.hooks.beforeTool('h', ({ tool }) => (tool === 'vetoed' ? { abort: 'no' } : undefined));

    const outcome = await stage.engine.run({ ...worker, max_steps: 10 }, 'go').outcome;

    expect(outcome).toMatchObject({ stop: { reason: 'max_steps' }, steps: 10 });
    expect(stage.requests).toHaveLength(10);
  });

  test('the same call with the same result five times in a row is one warning, never a stop (AG17)', async () => {
    const script = [...Array.from({ length: 12 }, () => calling(['t'])), { text: 'done' }];
    await using stage = await open(script, { tools: [toolNamed('t', () => 'ok')] });

    const outcome = await stage.engine.run(worker, 'go').outcome;

    expect(outcome.stop).toEqual({ reason: 'completed' });
    expect(stage.of('log')).toEqual([
      {
        type: 'log',
        run: expect.any(String) as string,
        level: 'warn',
        message: 'agent `worker` made the same call to `t` 5 times in a row with the same result',
      },
    ]);
  });

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'tools, variables and roles named `%s` are ordinary names (AG18)',
    async (name) => {
      await using stage = await open([calling([name]), calling(['t']), { text: 'done' }], {
        tools: [toolNamed('t', () => 'ok')],
      });

      const outcome = await stage.engine.run(
        { ...worker, role: name, system_prompt: `a {{${name}}} {{mine}} b` },
        'go',
        { vars: { mine: `{{${name}}} $& $'` } },
      ).outcome;

      expect(outcome).toMatchObject({ role: name, stop: { reason: 'completed' } });
      expect(stage.requests[0]?.system).toBe(`a  {{${name}}} $& $' b`);
      expect(resultsOf(stage.requests[1])).toEqual([`Unknown tool \`${name}\`. Available tools: t.`]);
    },
  );

  test('1 000 calls under one signal leave its listeners as they were (BU6)', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const controller = new AbortController();
    const seen = new Set<number>();
    const perStep = 40;
    const step = calling(...Array.from({ length: perStep }, (_, n) => ['t', { n }] as const));
    await using stage = await open([...Array.from({ length: 25 }, () => step), { text: 'done' }], {
      maxParallelTools: perStep,
      tools: [
        toolNamed('t', async (_input, { signal }) => {
          signal.addEventListener('abort', () => {}, { once: true });
          await Promise.resolve();
          seen.add(getEventListeners(controller.signal, 'abort').length);
        }),
      ],
    });
    stage.engine.hooks.beforeTool('slow', () => Promise.resolve(undefined));

    const outcome = await stage.engine.run(worker, 'go', { signal: controller.signal }).outcome;
    await new Promise((resolve) => setImmediate(resolve));

    process.off('warning', onWarning);
    expect(outcome.tool_calls).toBe(1000);
    expect(seen).toEqual(new Set([1]));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    expect(warnings).toEqual([]);
  });
});
