import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { EngineOptions } from '../../src/engine/options.ts';
import type { NativePlugin } from '../../src/plugins/native.ts';
import { defineAgent } from '../../src/protocol/agent.ts';
import { inMemoryPlugin } from '../../src/testing/memory-plugin.ts';
import { createSquad, helper, lead } from '../fixtures/plugins/squad.ts';
import { createDrillEngine, soldier, startDrill, toMessage } from './drill.ts';
import { describePlacements } from './placements.ts';

const native: NativePlugin = {
  name: 'squad',
  register(registry) {
    for (const name of ['whisper', 'shout']) {
      registry.registerTool({
        name,
        description: '',
        input_schema: { type: 'object' },
        call: (input) => `heard ${JSON.stringify(input)}`,
      });
    }
    registry.registerAgent(defineAgent(helper));
    registry.registerAgent(defineAgent(lead));
    registry.registerHooks({
      name: 'squad',
      beforeTool: ({ tool }) => (tool === 'shout' ? { abort: 'be quiet' } : undefined),
    });
  },
};
const program = fileURLToPath(new URL('../fixtures/plugins/squad-program.ts', import.meta.url));

/** The same plugin in the three ways it may come. */
const kinds: readonly (readonly [string, EngineOptions])[] = [
  ['in this process', { nativePlugins: [native] }],
  ['in memory', { plugins: [inMemoryPlugin('squad', createSquad())] }],
  ['of its own', { plugins: [{ name: 'squad', command: [process.execPath, '--import', 'tsx', program] }] }],
];

describePlacements('what a plugin brings', (_open, placed) => {
  test.each(kinds)('its tool answers and its hook refuses: a plugin %s', async (_kind, options) => {
    await using engine = await createDrillEngine({ ...placed, ...options });
    const calls = ['whisper', 'shout'].map((name) => ({ name, input: { text: 'hush' } }));

    const { messages } = await startDrill(engine, { steps: 1, calls }).outcome;

    expect(messages[2]?.content).toMatchObject([
      { content: 'heard {"text":"hush"}', is_error: false },
      { content: expect.stringContaining('squad: be quiet') as string, is_error: true },
    ]);
  });

  test.each(kinds)('its agents delegate to each other and hand off: a plugin %s', async (_kind, options) => {
    await using engine = await createDrillEngine({ ...placed, ...options });
    expect(engine.agents.get('lead')).toMatchObject({ delegates: ['helper'], handoffs: ['medic'] });
    expect(engine.agents.get('helper')).not.toHaveProperty('delegates');

    const run = engine.run(
      'lead',
      toMessage({ steps: 1, calls: [{ name: 'helper', input: { task: toMessage({ text: 'helped' }) } }] }),
    );
    const handing = engine.run(
      'lead',
      toMessage({ steps: 1, calls: [{ name: 'hand_off', input: { role: 'medic', message: 'Bandage.' } }] }),
    );

    expect((await run.outcome).messages[2]?.content).toMatchObject([{ content: 'helped', is_error: false }]);
    expect(run.children().map(({ role }) => role)).toEqual(['helper']);
    expect((await handing.outcome).handoff).toEqual({ role: 'medic', message: 'Bandage.' });
  });

  test('its process ends while a run calls it: the call is an error, the run goes on', async () => {
    const odd = fileURLToPath(new URL('../fixtures/plugins/odd.mjs', import.meta.url));
    await using engine = await createDrillEngine({
      ...placed,
      plugins: [{ name: 'odd', command: [process.execPath, odd, 'tools=die'] }],
    });

    const outcome = await engine.run(soldier, toMessage({ steps: 1, calls: [{ name: 'die', input: { code: 3 } }] }))
      .outcome;

    expect(outcome.stop).toEqual({ reason: 'completed' });
    expect(outcome.messages[2]?.content).toMatchObject([{ is_error: true }]);
  });
});
