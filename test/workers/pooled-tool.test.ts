import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLogger } from '../../src/protocol/deps.ts';
import { isEngineError } from '../../src/protocol/error.ts';
import { createRandomIds } from '../../src/protocol/ids.ts';
import { defaultPermissions, type Tool, type ToolContext } from '../../src/protocol/tool.ts';
import { createBuiltinTools } from '../../src/tools/builtin.ts';
import { checkInput } from '../../src/tools/check-input.ts';
import { defineTool } from '../../src/tools/define.ts';
import { toPooledTool } from '../../src/workers/pooled-tool.ts';
import { createToolPool, type ToolPool } from '../../src/workers/tool-pool.ts';
import { leavesError, throwsCustom } from '../fixtures/tools/hostile.ts';
import { shout } from '../fixtures/tools/friendly.ts';

const ids = createRandomIds();
let pool: ToolPool;
let root: string;

beforeAll(() => {
  pool = createToolPool({ logger: silentLogger, threads: 2 });
  root = mkdtempSync(join(tmpdir(), 'vibe-pooled-'));
});

afterAll(async () => {
  await pool.close();
  rmSync(root, { recursive: true, force: true });
});

function contextOf(): ToolContext {
  const { signal } = new AbortController();
  return { workspace_root: root, permissions: defaultPermissions, agent: 'tester', call: ids.call(), signal };
}

async function callTool(tool: Tool, input: { readonly [key: string]: string }): Promise<unknown> {
  const context = contextOf();
  const checked = await checkInput(tool, input, context);
  return checked.ok ? await tool.call(checked.value, context) : checked.output;
}

test('a read-only tool with a module runs on a thread; its validator stays here and its defaults arrive there', async () => {
  const tool = toPooledTool(shout, pool);

  expect(tool.runs_in).toBe('thread');
  expect(await callTool(tool, { text: 'hi' })).toMatchObject({ content: 'HI' });
  expect(await callTool(tool, {})).toMatchObject({
    is_error: true,
    content: expect.stringMatching(/^Invalid input for `shout`: text: /),
  });
});

test('a mutating tool and one given as a closure stay on the main thread', () => {
  const input = { type: 'object' };
  const mutating = defineTool(import.meta.url, {
    name: 'm',
    description: '',
    input,
    mutating: true,
    execute: () => '',
  });
  const closure = defineTool({ name: 'c', description: '', input, execute: () => '' });

  expect(toPooledTool(mutating, pool)).toBe(mutating);
  expect(toPooledTool(closure, pool)).toBe(closure);
});

test('a tool that may run once at a time waits for itself, though threads are idle', async () => {
  const until = join(root, 'alone');
  const worker = { module: new URL('../fixtures/tools/hostile.ts', import.meta.url).href, export: 'waitsForFile' };
  const waits = { name: 'waits', description: '', input: { type: 'object' }, execute: () => '' };
  const free = toPooledTool(defineTool({ ...waits, worker }), pool);
  const alone = toPooledTool(defineTool({ ...waits, worker: { ...worker, max_at_once: 1 } }), pool);
  let begun = 0;
  const warmUp: unknown[] = [];
  await new Promise<void>((resolve) => {
    const onStarted = (): void => {
      begun += 1;
      if (begun === 2) resolve();
    };
    for (let call = 0; call < 2; call += 1)
      warmUp.push(free.call({ until: join(root, 'warm') }, { ...contextOf(), onStarted }));
  });
  writeFileSync(join(root, 'warm'), '');
  await Promise.all(warmUp);

  const calls = [1, 2].map(() => Promise.resolve(alone.call({ until }, contextOf())));
  const { busy, queued } = pool.stats();
  writeFileSync(until, '');

  expect({ busy, queued }).toEqual({ busy: 1, queued: 1 });
  expect(await Promise.all(calls)).toMatchObject([{ content: 'seen' }, { content: 'seen' }]);
});

test('an error arrives with name, message and own fields', async () => {
  const failure: unknown = await Promise.resolve(toPooledTool(throwsCustom, pool).call({}, contextOf())).catch(
    (error: unknown) => error,
  );

  expect(failure).toMatchObject({ name: 'RateError', message: 'too fast', code: 'E_RATE', data: { limit: 3 } });
  expect(isEngineError(failure)).toBe(false);
  expect(await callTool(toPooledTool(leavesError, pool), {})).toMatchObject({ content: 'returned' });
});

test('a pattern that never ends is an error result, other calls are undisturbed', async () => {
  writeFileSync(join(root, 'a.txt'), `${'a'.repeat(40)}!\n`);
  const tools = createBuiltinTools({ bash: { checkCommand: () => ({ allow: true }) } });
  const named = (name: string): Tool => toPooledTool(tools.find((tool) => tool.name === name) ?? shout, pool);
  const stuck = callTool(named('grep'), { pattern: '^(a+)+$' });

  const other = await callTool(named('read_file'), { path: 'a.txt' });
  const result = await stuck;

  expect(other).toMatchObject({ is_error: false });
  expect(result).toMatchObject({ is_error: true, content: expect.stringContaining('pattern took too long') });
});
