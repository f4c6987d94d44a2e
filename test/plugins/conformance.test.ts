import path from 'node:path';
import { expect, test } from 'vitest';
import type { NativePlugin } from '../../src/plugins/native.ts';
import { defineAgent } from '../../src/protocol/agent.ts';
import { fixture, openStage, type Stage } from './support.ts';

const native: NativePlugin = {
  name: 'p',
  version: '1.0.0',
  register(registry) {
    registry.registerTool({
      name: 'shout',
      description: 'Says it louder.',
      input_schema: { type: 'object', properties: { text: { type: 'string' } } },
      is_mutating: false,
      call: (input) => Promise.resolve({ content: String(input['text']).toUpperCase(), is_error: false }),
    });
    registry.registerTool({
      name: 'refuse',
      description: 'Fails.',
      input_schema: { type: 'object' },
      is_mutating: true,
      call: () => Promise.resolve({ content: 'no', is_error: true }),
    });
    registry.registerAgent(defineAgent({ role: 'shouter', system_prompt: 'Shout.' }));
    registry.registerHooks({
      name: 'p',
      beforeTool: ({ tool }) => (tool === 'forbidden' ? { abort: 'not here' } : undefined),
    });
  },
};

const ways: readonly [string, (stage: Stage) => Promise<void>][] = [
  ['in this process', (stage) => Promise.resolve(stage.host.addNative(native))],
  [
    'in a process of its own',
    async (stage) => {
      const command = [process.execPath, '--import', 'tsx', fixture('conformance.ts')];
      await stage.host.load([{ name: 'p', command, cwd: path.join(import.meta.dirname, '../..'), required: true }]);
    },
  ],
];

test.each(ways)('a plugin %s looks the same from outside', async (_name, load) => {
  await using stage = await openStage();
  await load(stage);

  const listed = stage.tools.list().map(({ name, description, input_schema, is_mutating, owner }) => ({
    name,
    description,
    input_schema,
    is_mutating,
    owner,
  }));
  expect(listed).toEqual([
    {
      name: 'shout',
      description: 'Says it louder.',
      input_schema: { type: 'object', properties: { text: { type: 'string' } } },
      is_mutating: false,
      owner: 'p',
    },
    { name: 'refuse', description: 'Fails.', input_schema: { type: 'object' }, is_mutating: true, owner: 'p' },
  ]);
  expect(stage.host.records()).toMatchObject([
    {
      name: 'p',
      version: '1.0.0',
      capabilities: { tools: true, agents: true, hooks: true },
      tool_names: ['shout', 'refuse'],
    },
  ]);
  expect([...stage.agents.values()]).toEqual([defineAgent({ role: 'shouter', system_prompt: 'Shout.' })]);
  expect(await stage.call('shout', { text: 'hey' })).toEqual({ content: 'HEY', is_error: false });
  expect(await stage.call('refuse')).toEqual({ content: 'no', is_error: true });
  expect(await stage.ask('forbidden')).toEqual({ kind: 'abort', hook: 'p', reason: 'not here' });
  expect(await stage.ask('shout')).toEqual({ kind: 'continue' });
});
