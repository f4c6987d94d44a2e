import { expect, test } from 'vitest';
import { createHooks } from '../../src/bus/hooks.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import type { BeforeToolAnswer, BeforeToolCall } from '../../src/protocol/hook.ts';
import type { CallId } from '../../src/protocol/ids.ts';
import { defaultPermissions } from '../../src/protocol/tool.ts';

function callOf(tool: string, signal = new AbortController().signal): BeforeToolCall {
  const call = '0123456789ab' as CallId;
  return {
    tool,
    input: {},
    context: { workspace_root: '/w', permissions: defaultPermissions, agent: 'a', call, signal },
  };
}

test('hooks run in registration order and the first abort wins', async () => {
  const hooks = createHooks({ logger: silentLogger });
  hooks.beforeTool('a', () => ({ abort: 'no' }));
  hooks.beforeTool('b', () => {
    throw new Error('must not run');
  });

  expect(await hooks.runBeforeTool(callOf('bash'))).toEqual({ kind: 'abort', hook: 'a', reason: 'no' });
});

test('an ask stands unless a later hook aborts', async () => {
  const hooks = createHooks({ logger: silentLogger });
  hooks.beforeTool('a', () => ({ ask: 'sure?' }));
  const off = hooks.beforeTool('b', () => ({ abort: 'never' }));

  expect(await hooks.runBeforeTool(callOf('bash'))).toEqual({ kind: 'abort', hook: 'b', reason: 'never' });
  off();
  expect(await hooks.runBeforeTool(callOf('bash'))).toEqual({ kind: 'ask', hook: 'a', reason: 'sure?' });
});

test.each<[string, () => unknown]>([
  ['a text', () => 'yes'],
  ['true', () => true],
  ['an array', () => []],
  ['an unknown object', () => ({ decision: 'allow' })],
  ['an abort without reason', () => ({ abort: undefined })],
  ['a rejection', () => Promise.reject(new Error('down'))],
  [
    'a throw',
    () => {
      throw new Error('down');
    },
  ],
])('a hook that answers %s refuses the call', async (_what, answer) => {
  const hooks = createHooks({ logger: silentLogger });
  hooks.beforeTool('strict', () => answer() as BeforeToolAnswer);

  expect(await hooks.runBeforeTool(callOf('bash'))).toMatchObject({ kind: 'abort', hook: 'strict' });
});

test('a hook that does not answer in time refuses, for each of 20 parallel calls', async () => {
  const hooks = createHooks({ logger: silentLogger, timeoutMs: 20 });
  hooks.beforeTool('slow', () => new Promise<void>(() => {}));

  const decisions = await Promise.all(
    Array.from({ length: 20 }, async () => await hooks.runBeforeTool(callOf('bash'))),
  );

  for (const decision of decisions) {
    expect(decision).toEqual({ kind: 'abort', hook: 'slow', reason: 'hook failed: no answer within 20 ms' });
  }
});

test('a cancelled call stops waiting for its hook', async () => {
  const hooks = createHooks({ logger: silentLogger });
  hooks.beforeTool('slow', () => new Promise<void>(() => {}));
  const cancel = new AbortController();
  const deciding = hooks.runBeforeTool(callOf('bash', cancel.signal));

  cancel.abort(new Error('cancelled'));

  expect(await deciding).toMatchObject({ kind: 'abort', reason: 'hook failed: cancelled' });
});

test('a failing after_tool is ignored, a failing augment_prompt rejects with kind plugin', async () => {
  const hooks = createHooks({ logger: silentLogger });
  const seen: string[] = [];
  hooks.afterTool('a', () => {
    throw new Error('x');
  });
  hooks.afterTool('b', ({ output }) => void seen.push(output.content));
  hooks.augmentPrompt('c', () => Promise.reject(new Error('no index')));

  await hooks.runAfterTool(callOf('t'), { content: 'out', is_error: false });

  expect(seen).toEqual(['out']);
  const augmenting = hooks.runAugmentPrompt('coder', { title: '', description: '' }, new AbortController());
  await expect(augmenting).rejects.toMatchObject({ kind: 'plugin' });
});
