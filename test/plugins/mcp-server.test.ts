import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { isRunning, openStage } from './support.ts';

const server = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

test('an MCP server of stdio works unchanged as a plugin', async () => {
  await using stage = await openStage();

  const [record] = await stage.host.load([
    { name: 'everything', command: [process.execPath, server, 'stdio'], required: true },
  ]);
  const echoed = await stage.call('echo', { message: 'hello' });
  const [first, second] = await Promise.all([
    stage.call('get-sum', { a: 1, b: 2 }),
    stage.call('get-sum', { a: 20, b: 22 }),
  ]);
  const image = await stage.call('get-tiny-image');
  const broken = await stage.call('get-sum', { a: 'x' });
  const { pid = 0 } = stage.host.status()[0] ?? {};
  await stage.host.stop();

  expect(record).toMatchObject({ name: 'everything', capabilities: { tools: true, agents: false, hooks: false } });
  expect(record?.version).toMatch(/\d/);
  expect(echoed).toEqual({ content: 'Echo: hello', is_error: false });
  expect([first.content, second.content]).toEqual([
    expect.stringContaining('3') as string,
    expect.stringContaining('42') as string,
  ]);
  expect(image.content).toContain('[image content omitted]');
  expect(broken.is_error).toBe(true);
  expect(isRunning(pid)).toBe(false);
  expect(stage.messages('warn')).toEqual([]);
});
