import { describe, expect, test } from 'vitest';
import type { PluginDeclaration } from '../../src/plugins/declaration.ts';
import type { PluginHostOptions } from '../../src/plugins/host.ts';
import { isRunning, odd, openStage, openThings, type Stage } from './support.ts';

const short = { timeouts: { default: 5_000, toolCall: 5_000, shutdownGrace: 200, termGrace: 200 } };
const restarting = { policy: 'on-failure', max: 3, firstDelayMs: 10, longestDelayMs: 20 } as const;

const plugin = (name: string, ...behaviours: readonly string[]): PluginDeclaration => ({
  name,
  command: odd(...behaviours),
});

async function pidOf(stage: Stage): Promise<number> {
  return Number((await stage.call('pid')).content);
}

async function messageOf(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => 'no error',
    (error: unknown) => (error as Error).message,
  );
}

describe('loading', () => {
  test.each([
    ['a missing program', { command: ['no-such-program-anywhere'] }, 'no such file or directory (ENOENT)'],
    ['a folder as program', { command: ['/tmp'] }, 'permission denied (EACCES)'],
    ['a working directory that is missing', { command: ['node'], cwd: 'nowhere' }, 'ENOENT'],
    ['an empty command', { command: [] }, 'plugin `p` has an empty command'],
  ])('%s skips an optional plugin and stops a required one (PL4)', async (_name, declaration, reason) => {
    await using stage = await openStage(short);
    const broken = { name: 'p', ...declaration };

    expect(await stage.host.load([broken])).toEqual([]);
    expect(stage.messages('warn')).toEqual([expect.stringContaining(reason)]);
    expect(stage.host.status()).toMatchObject([
      { name: 'p', state: 'failed', lastError: expect.stringContaining(reason) as string },
    ]);
    await expect(stage.host.load([{ ...broken, required: true }])).rejects.toMatchObject({
      kind: 'plugin',
      message: expect.stringMatching(/^required plugin `p` failed to start: /) as string,
    });
  });

  test('a bare name that is not found logs the PATH it was looked up on (PL9)', async () => {
    await using stage = await openStage({ ...short, environment: { PATH: '/one:/two' } });

    await stage.host.load([{ name: 'p', command: ['no-such-program-anywhere'] }]);

    expect(stage.logs.find((line) => line.fields['path'] !== undefined)?.fields).toMatchObject({ path: '/one:/two' });
  });

  test('a plugin that exits while it starts is reported with what it said', async () => {
    await using stage = await openStage(short);

    await stage.host.load([plugin('p', 'early-exit=7')]);

    expect(stage.messages('warn')).toEqual([
      expect.stringMatching(
        /^skipping plugin `p`: Plugin: (plugin `p` (closed its output|is closed|stopped accepting input)|cannot write to plugin `p`: .+)$/,
      ),
    ]);
    expect(stage.logs.find((line) => line.message === 'plugin exited: exit code 7')?.fields).toMatchObject({ code: 7 });
  });

  test('a required failure stops what earlier loads brought and frees their names', async () => {
    await using stage = await openStage(short);
    await stage.host.load([plugin('a')]);
    const pid = await pidOf(stage);

    await expect(stage.host.load([{ name: 'b', command: [], required: true }])).rejects.toThrow('required plugin `b`');

    expect(isRunning(pid)).toBe(false);
    expect(stage.host.records()).toEqual([]);
    expect(await stage.host.load([plugin('a')])).toMatchObject([{ name: 'a' }]);
    expect(stage.messages('warn')).toEqual([]);
  });

  test('loads that are asked for at once run one after the other', async () => {
    await using stage = await openStage(short);

    const [, second] = await Promise.all([stage.host.load([plugin('a')]), stage.host.load([plugin('a'), plugin('b')])]);

    expect(second.map((record) => record.name)).toEqual(['a', 'b']);
    expect(stage.messages('warn')).toContain('plugin `a` declared twice; ignoring duplicate');
  });

  test('many plugins at once do not look like a leak to Node', async () => {
    await using stage = await openStage(short);
    const warnings: string[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', onWarning);

    const records = await stage.host.load(Array.from({ length: 12 }, (_, index) => plugin(`p${index}`, 'tools=')));
    await new Promise(setImmediate);
    process.off('warning', onWarning);

    expect(records).toHaveLength(12);
    expect(warnings).toEqual([]);
  });

  test('a stop during a load gives the start up and leaves nothing', async () => {
    await using stage = await openStage(short);
    const loading = stage.host.load([plugin('p', 'silent')]);
    await new Promise((resolve) => setTimeout(resolve, 100));

    await stage.host.stop();

    expect(await loading).toEqual([]);
    expect(stage.messages('warn')).toEqual(['skipping plugin `p`: Plugin: plugin `p` is closed']);
  });

  test('after a stop the same plugin can be loaded again, with one hook and no override', async () => {
    await using stage = await openStage(short);
    await stage.host.load([plugin('p', 'hook')]);
    await stage.host.stop();
    expect(await stage.ask('x')).toMatchObject({
      kind: 'abort',
      reason: 'hook plugin unavailable: plugin `p` is closed',
    });

    await stage.host.load([plugin('p', 'hook')]);

    expect(stage.hooks.names()).toEqual(['p']);
    expect(await stage.ask('x')).toEqual({ kind: 'continue' });
    expect(await stage.ask('forbidden')).toEqual({ kind: 'abort', hook: 'p', reason: 'not here' });
    expect(stage.messages('warn').filter((message) => message.startsWith('tool'))).toEqual([]);
  });

  test.each([
    [{ timeouts: { default: 0 } }, 'timeouts.default'],
    [{ timeouts: { hook: Number.NaN } }, 'timeouts.hook'],
    [{ timeouts: { toolCall: 2 ** 31 } }, 'timeouts.toolCall'],
    [{ timeouts: { listing: '5' as unknown as number } }, 'timeouts.listing'],
    [{ restart: { max: -1 } }, 'restart.max'],
    [{ maxLineBytes: 0.5 }, 'maxLineBytes'],
    [{ stderr: { perSecond: 0 } }, 'stderr.perSecond'],
  ] satisfies [Partial<PluginHostOptions>, string][])(
    'the figure %j is refused by name (FR11)',
    async (options, name) => {
      await expect(openStage(options)).rejects.toMatchObject({
        kind: 'config',
        message: expect.stringContaining(name) as string,
      });
    },
  );
});

describe('hooks fail closed (AG16)', () => {
  test('for each of twenty parallel calls, whatever goes wrong', async () => {
    await using stage = await openStage({ timeouts: { ...short.timeouts, hook: 150 } });
    await stage.host.load([plugin('g', 'hook')]);

    const slow = await Promise.all(Array.from({ length: 20 }, () => stage.ask('slow')));
    const crashed = await Promise.all(Array.from({ length: 20 }, () => stage.ask('crash')));

    expect(new Set(slow.map((decision) => JSON.stringify(decision)))).toEqual(
      new Set([
        JSON.stringify({
          kind: 'abort',
          hook: 'g',
          reason: 'hook plugin unavailable: plugin `g` did not answer `hooks/before_tool` within 0.15s',
        }),
      ]),
    );
    expect(crashed.filter((decision) => decision.kind !== 'abort')).toEqual([]);
  });
});

describe('a plugin that dies', () => {
  test('fails what is pending with its exit and last words, later calls at once (FR8)', async () => {
    await using stage = await openStage(short);
    await stage.host.load([plugin('p')]);
    const hanging = stage.call('hang').catch((error: unknown) => error);
    const dying = stage.call('die', { code: 5 }).catch((error: unknown) => error);

    expect(await hanging).toMatchObject({
      kind: 'plugin',
      code: 'closed',
      message: 'plugin `p` closed its output',
      data: { exit_code: 5, signal: null },
    });
    expect(await dying).toMatchObject({ message: 'plugin `p` closed its output' });
    expect(await messageOf(stage.call('echo'))).toBe('plugin `p` is closed');
    expect(await stage.event('plugin_exited')).toMatchObject({ plugin: 'p', code: 5, signal: null });
    expect(stage.host.status()).toMatchObject([{ state: 'ended', lastError: 'ended with exit code 5' }]);
  });

  test('while a large request is on its way fails that call and nothing else (PL4)', async () => {
    await using stage = await openStage(short);
    await stage.host.load([plugin('p'), plugin('q', 'tools=other')]);

    const large = messageOf(stage.call('die', { code: 1, text: 'x'.repeat(4_000_000) }));

    expect(await large).toMatch(
      /^(plugin `p` (closed its output|stopped accepting input)|cannot write to plugin `p`: .+)$/,
    );
    expect(await stage.call('other', { text: 'fine' })).toEqual({ content: 'fine', is_error: false });
  });

  test('by closing its output is stopped', async () => {
    await using stage = await openStage(short);
    await stage.host.load([plugin('p')]);
    const pid = await pidOf(stage);

    expect(await messageOf(stage.call('close'))).toBe('plugin `p` closed its output');
    await stage.event('plugin_exited');

    expect(isRunning(pid)).toBe(false);
  });

  test('comes back when its declaration says so, under the same tools and hook', async () => {
    await using stage = await openStage({ ...short, restart: { ...restarting, policy: 'never' } });
    await stage.host.load([{ ...plugin('p', 'hook'), restart: 'on-failure' }]);
    const pid = await pidOf(stage);

    await messageOf(stage.call('die', { code: 1 }));
    expect(await stage.event('plugin_restarted')).toEqual({ type: 'plugin_restarted', plugin: 'p', restarts: 1 });

    expect(await pidOf(stage)).not.toBe(pid);
    expect(await stage.ask('forbidden')).toMatchObject({ reason: 'not here' });
    expect(stage.hooks.names()).toEqual(['p']);
    expect(stage.messages('warn').filter((message) => message.includes('overrides'))).toEqual([]);
  });

  test('again and again is given up, and starts again when it is asked to (PL3)', async () => {
    await using stage = await openStage({ ...short, restart: restarting });
    await stage.host.load([plugin('p', 'hook')]);
    for (let restarts = 1; restarts <= 3; restarts += 1) {
      await messageOf(stage.call('die', { code: 1 }));
      while (stage.host.status()[0]?.restarts !== restarts || stage.host.status()[0]?.state !== 'ready') {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    await messageOf(stage.call('die', { code: 1 }));

    expect(await stage.event('plugin_gave_up')).toEqual({ type: 'plugin_gave_up', plugin: 'p', restarts: 3 });
    expect(stage.messages('warn')).toContain('plugin `p` keeps failing; giving up after 3 restarts');
    expect(await stage.ask('x')).toMatchObject({ kind: 'abort' });
    expect(stage.host.status()).toMatchObject([{ state: 'failed' }]);

    await stage.host.restart('p');
    expect(await stage.ask('x')).toEqual({ kind: 'continue' });
    expect(stage.hooks.names()).toEqual(['p']);
  });

  test('is not started again after a stop that comes meanwhile', async () => {
    await using stage = await openStage({
      ...short,
      restart: { ...restarting, firstDelayMs: 60_000, longestDelayMs: 60_000 },
    });
    await stage.host.load([plugin('p')]);
    await messageOf(stage.call('die', { code: 1 }));
    await stage.event('plugin_exited');

    await stage.host.stop();

    expect(stage.events.filter((event) => event.type !== 'plugin_started' && event.type !== 'plugin_exited')).toEqual(
      [],
    );
  });
});

describe('a plugin that does not listen (PL6)', () => {
  test('lets calls time out on time, skips what was not begun and is stopped within the limits', async () => {
    await using stage = await openStage({ timeouts: { ...short.timeouts, toolCall: 300 } });
    await stage.host.load([plugin('p', 'stay')]);
    const pid = await pidOf(stage);
    await stage.call('stop-reading');

    const calls = Array.from({ length: 5 }, () => messageOf(stage.call('echo', { text: 'x'.repeat(1_000_000) })));

    expect(new Set(await Promise.all(calls))).toEqual(new Set(['plugin `p` did not answer `tools/call` within 0.3s']));
    await stage.host.stop();
    expect(isRunning(pid)).toBe(false);
    expect(stage.messages('debug')).toContain('killing plugin');
  });

  test('is dead when too much waits for it', async () => {
    await using stage = await openStage({ ...short, limits: { maxQueuedBytes: 3_000_000 } });
    await stage.host.load([plugin('p')]);
    await stage.call('stop-reading');

    const calls = Array.from({ length: 5 }, () => messageOf(stage.call('echo', { text: 'x'.repeat(1_000_000) })));

    const closed = 'plugin `p` is closed';
    expect(await Promise.all(calls)).toEqual([
      closed,
      closed,
      'cannot write to plugin `p`: more than 3000000 bytes are waiting',
      closed,
      closed,
    ]);
  });

  test('is dead when one write is stuck', async () => {
    await using stage = await openStage({ ...short, limits: { stallMs: 150 } });
    await stage.host.load([plugin('p')]);
    await stage.call('stop-reading');

    expect(await messageOf(stage.call('echo', { text: 'x'.repeat(1_000_000) }))).toBe(
      'cannot write to plugin `p`: a write was stuck for 0.15s',
    );
  });
});

test.each(['flood-lines', 'flood-line'])(
  '%s on stderr is drained and the answer still arrives (PL5)',
  async (flood) => {
    await using stage = await openStage({ timeouts: { ...short.timeouts, default: 25_000 } });

    await stage.host.load([plugin('p', flood)]);

    expect(await stage.call('echo', { text: 'hello' })).toEqual({ content: 'hello', is_error: false });
    await stage.host.stop();
    const lines = stage.messages('debug').filter((message) => message.startsWith('[p] '));
    expect(lines.length).toBeLessThan(2_000);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(8_192 + '[p] '.length);
  },
);

describe('tools that change', () => {
  test('follow the order of the declarations, whoever changes last', async () => {
    await using stage = await openStage(short);
    stage.tools.register({
      name: 'shared',
      description: 'built in',
      input_schema: { type: 'object' },
      call: () => 'x',
    });
    const descriptions = (): string[] => stage.tools.list().map((tool) => `${tool.name} ${tool.description}`);
    await stage.host.load([plugin('a', 'name=a', 'tools=shared,change'), plugin('b', 'name=b', 'tools=shared,only')]);
    expect(descriptions()).toEqual(['shared b', 'change a', 'only b']);

    await stage.call('change', { tools: ['shared', 'change', 'new'] });
    await stage.event('plugin_tools_changed', 'a');

    expect(descriptions()).toEqual(['shared b', 'change a', 'new a', 'only b']);
    expect(stage.messages('warn')).toEqual([
      'tool `shared` overrides an already registered tool',
      'tool `shared` overrides an already registered tool',
    ]);
  });

  test('give back what they had replaced', async () => {
    await using stage = await openStage(short);
    const builtIn = { name: 'shared', description: 'built in', input_schema: { type: 'object' }, call: () => 'x' };
    stage.tools.register(builtIn);
    await stage.host.load([plugin('a', 'tools=shared,change')]);
    expect(stage.tools.get('shared')?.owner).toBe('a');

    await stage.call('change', { tools: ['change'] });
    await stage.event('plugin_tools_changed');

    expect(stage.tools.get('shared')).toBe(builtIn);
  });

  test('do not take back a name that the embedder gave to another tool since', async () => {
    await using stage = await openStage(short);
    await stage.host.load([plugin('a', 'tools=shared,change')]);
    const own = { name: 'shared', description: 'mine', input_schema: { type: 'object' }, call: () => 'x' };
    stage.tools.register(own);

    await stage.call('change', { tools: ['shared', 'change', 'new'] });
    await stage.event('plugin_tools_changed');

    expect(stage.tools.get('shared')).toBe(own);
    expect(stage.tools.get('new')?.owner).toBe('a');
  });
});

describe('in-process plugins', () => {
  test('precede remote ones also when they are added later', async () => {
    await using stage = await openStage(short);
    await stage.host.load([plugin('p', 'name=remote', 'tools=shared', 'agents')]);

    stage.host.addNative({
      name: 'n',
      register(registry) {
        registry.registerTool({ name: 'shared', description: 'native', input_schema: {}, call: () => 'native' });
        registry.registerTool({ name: 'own', description: 'native', input_schema: {}, call: () => 'native' });
        registry.registerAgent({ ...stage.agents.get('odd_agent')!, system_prompt: 'native' });
      },
    });

    expect(stage.tools.get('shared')?.owner).toBe('p');
    expect(stage.tools.get('own')?.owner).toBe('n');
    expect(stage.agents.get('odd_agent')?.system_prompt).toBe('remote');
    expect(stage.host.records().map((record) => record.name)).toEqual(['n', 'p']);
  });

  test('one that fails to register contributes nothing and is listed', async () => {
    await using stage = await openStage(short);

    stage.host.addNative({
      name: 'n',
      register(registry) {
        registry.registerTool({ name: 'half', description: '', input_schema: {}, call: () => '' });
        throw new Error('no database');
      },
    });

    expect(stage.messages('warn')).toEqual(['native plugin `n` failed to register: Other: no database']);
    expect(stage.tools.list()).toEqual([]);
    expect(stage.host.records()).toMatchObject([{ name: 'n', version: '0.0.0', native: true, tool_names: [] }]);
  });
});

test('plugins see what they inherit but no key of a provider (PL10)', async () => {
  await using stage = await openStage({
    ...short,
    environment: { ...process.env, PROVIDER_KEY: 'secret', PLAIN: 'plain' },
    secretNames: ['PROVIDER_KEY'],
  });
  await stage.host.load([{ ...plugin('p'), env: { OWN: 'own' } }]);

  const seen = await Promise.all(
    ['PROVIDER_KEY', 'PLAIN', 'OWN'].map(async (name) => (await stage.call('env', { name })).content),
  );

  expect(seen).toEqual(['unset', 'plain', 'own']);
});

test.skipIf(process.platform === 'win32')('nothing is left of a plugin that started others (PL1)', async () => {
  await using stage = await openStage(short);
  await stage.host.load([plugin('p', 'child', 'tools=child,pid')]);
  const pids = [await pidOf(stage), Number((await stage.call('child')).content)];
  expect(pids.filter(isRunning)).toEqual(pids);

  await stage.host.stop();

  expect(pids.filter(isRunning)).toEqual([]);
});

test('two hundred failing starts leave no process, descriptor or handle (PL11)', { timeout: 180_000 }, async () => {
  const kinds: readonly PluginDeclaration[] = [
    { name: 'missing', command: ['no-such-program-anywhere'] },
    plugin('silent', 'silent'),
    plugin('garbage', 'garbage'),
    plugin('early', 'early-exit=1'),
    plugin('after', 'exit-after-init=0'),
  ];
  await using stage = await openStage({ timeouts: { default: 300, shutdownGrace: 50, termGrace: 50 } });
  await stage.host.load(kinds);
  await stage.host.stop();
  const before = await openThings();

  for (let round = 0; round < 10; round += 1) {
    const twenty = Array.from({ length: 4 }, () => kinds).flat();
    await stage.host.load(twenty.map((kind, index) => ({ ...kind, name: `${kind.name}-${round}-${index}` })));
  }
  await stage.host.stop();

  expect(await openThings()).toEqual(before);
  expect(stage.host.records()).toEqual([]);
});

test('the children of a host stand in the ledger while they run', async () => {
  const running = new Set<number>();
  await using stage = await openStage({
    ...short,
    ledger: { add: (pid) => void running.add(pid), remove: (pid) => void running.delete(pid) },
  });

  await stage.host.load([plugin('p'), plugin('broken', 'early-exit=1')]);
  expect([...running]).toEqual([await pidOf(stage)]);
  await stage.host.stop();

  expect(running.size).toBe(0);
});
