import { EventEmitter, once } from 'node:events';
import { expect, test } from 'vitest';
import { createPlugin } from '../../src/plugins/server.ts';
import { inMemoryPlugin } from '../../src/testing/memory-plugin.ts';
import { openStage } from '../plugins/support.ts';

test('a plugin in memory offers its tools, agents and hook like a process does', async () => {
  const plugin = createPlugin({ name: 'own', version: '3.1.0' })
    .tool({ name: 'where', execute: (_input, call) => call.context?.workspace_root })
    .agent({ role: 'helper', system_prompt: 'Help.' })
    .beforeTool(({ tool }) => (tool === 'where' ? undefined : { abort: 'only where' }));
  await using stage = await openStage();

  const records = await stage.host.load([inMemoryPlugin('mem', plugin)]);

  expect(records).toMatchObject([{ name: 'mem', version: '3.1.0', tool_names: ['where'], native: false }]);
  expect(await stage.call('where')).toEqual({ content: '/ws', is_error: false });
  expect([...stage.agents.keys()]).toEqual(['helper']);
  expect(await stage.ask('bash')).toEqual({ kind: 'abort', hook: 'mem', reason: 'only where' });
  expect(stage.host.status()).toMatchObject([{ state: 'ready', pid: undefined }]);
});

test('a call that is given up aborts the handler in memory', async () => {
  const handler = new EventEmitter();
  const plugin = createPlugin({ name: 'slow' }).tool({
    name: 'wait',
    execute: (_input, { signal }) => {
      handler.emit('begun');
      signal.addEventListener('abort', () => handler.emit('aborted'));
      return once(signal, 'abort');
    },
  });
  await using stage = await openStage();
  await stage.host.load([inMemoryPlugin('slow', plugin)]);
  const control = new AbortController();
  const begun = once(handler, 'begun');
  const aborted = once(handler, 'aborted');

  const call = stage.call('wait', {}, control.signal);
  await begun;
  control.abort();

  await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
  await aborted;
});

test('stopping the host ends the plugin, which may be connected again', async () => {
  const plugin = createPlugin({ name: 'p' }).tool({ name: 'echo', execute: (input) => JSON.stringify(input) });

  for (const word of ['once', 'twice']) {
    await using stage = await openStage();
    await stage.host.load([inMemoryPlugin('p', plugin)]);
    expect(await stage.call('echo', { word })).toEqual({ content: `{"word":"${word}"}`, is_error: false });
    await stage.host.stop();
    expect(await stage.event('plugin_exited')).toMatchObject({ plugin: 'p', code: 0, signal: null });
    expect(plugin.log('info', 'nobody listens')).toBe(false);
  }
});

test('a plugin that fails while it serves has crashed: what it threw is its last line', async () => {
  await using stage = await openStage();
  const broken = { serve: () => Promise.reject(new Error('no database')) };

  await expect(stage.host.load([inMemoryPlugin('broken', broken)])).rejects.toMatchObject({
    kind: 'plugin',
    data: { exit_code: 1, stderr_tail: ['no database'] },
  });
});

test('a plugin that never ends loses its pipes', async () => {
  await using stage = await openStage({ timeouts: { shutdownGrace: 20 } });
  const plugin = createPlugin({ name: 'p' }).tool({ name: 't', execute: () => 'done' });
  const stubborn = {
    serve: async (streams: Parameters<typeof plugin.serve>[0]) => {
      await plugin.serve(streams);
      await new Promise(() => {});
    },
  };
  await stage.host.load([inMemoryPlugin('stubborn', stubborn)]);
  expect(await stage.call('t')).toEqual({ content: 'done', is_error: false });

  await stage.host.stop();

  expect(await stage.event('plugin_exited')).toMatchObject({ code: null, signal: 'SIGKILL' });
});
