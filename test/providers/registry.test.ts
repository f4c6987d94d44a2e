import { describe, expect, test } from 'vitest';
import { createProviders } from '../../src/providers/registry.ts';
import { openProvider, type ProviderKind } from '../../src/providers/provider.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { jsonOf, startModelServer } from './model-server.ts';
import { ask, testDeps } from './support.ts';

const answer = { model: 'm', choices: [{ finish_reason: 'stop', message: { content: 'ok' } }] };

describe('resolving a model', () => {
  const providers = createProviders(
    { local: { kind: 'openai', base_url: 'http://localhost:1/v1/', context_window: 4096 }, mock: {} },
    testDeps(),
  );

  test.each([
    ['local/qwen', undefined, 'local', 'qwen'],
    ['qwen', undefined, 'local', 'qwen'],
    ['qwen', 'mock', 'mock', 'qwen'],
    ['mock/', undefined, 'mock', ''],
    ['local/default', undefined, 'local', ''],
    ['default', 'mock', 'mock', ''],
    ['', undefined, 'local', ''],
    [undefined, undefined, 'local', ''],
    ['local/meta/llama', undefined, 'local', 'meta/llama'],
    [{ provider: 'mock', model: 'x' }, undefined, 'mock', 'x'],
  ])('%j with default provider %j', (text, usual, provider, model) => {
    const resolved = providers.resolve(text, usual);

    expect([resolved.provider.info().name, resolved.model]).toEqual([provider, model]);
    expect(resolved.contextWindow).toBe(provider === 'local' ? 4096 : undefined);
    expect(providers.resolve(text, usual).provider).toBe(resolved.provider);
  });

  test('an unknown provider is named with the configured ones', () => {
    expect(() => providers.resolve('x/y')).toThrow('unknown provider `x` for model `x/y` (configured: local, mock)');
    expect(() => providers.resolve({ provider: 'toString', model: 'y' })).toThrow('unknown provider `toString`');
  });
});

test('without any table there are anthropic, openai and ollama', () => {
  const env = { ANTHROPIC_API_KEY: 'sk-ant-1', OPENAI_API_KEY: ' ' };

  expect(createProviders(undefined, testDeps({ env })).list()).toEqual([
    {
      name: 'anthropic',
      kind: 'anthropic',
      default_model: 'claude-sonnet-5',
      context_window: undefined,
      base_url: undefined,
      has_key: true,
      key_variable: 'ANTHROPIC_API_KEY',
    },
    {
      name: 'openai',
      kind: 'openai',
      default_model: 'gpt-5',
      context_window: undefined,
      base_url: undefined,
      has_key: false,
      key_variable: 'OPENAI_API_KEY',
    },
    {
      name: 'ollama',
      kind: 'ollama',
      default_model: 'qwen3',
      context_window: undefined,
      base_url: undefined,
      has_key: undefined,
      key_variable: undefined,
    },
  ]);
});

test('the variables that keys come from are listed, set or not', () => {
  const providers = createProviders(
    {
      anthropic: {},
      work: { kind: 'openai', api_key_env: 'WORK_KEY' },
      given: { kind: 'openai', api_key: 'k-123456' },
    },
    testDeps(),
  );

  expect(providers.keyVariables()).toEqual(['ANTHROPIC_API_KEY', 'WORK_KEY', 'OPENAI_API_KEY']);
});

test('a key of the table wins over the variable, an empty one does not count, and the reference carries it', async () => {
  await using server = await startModelServer(jsonOf(answer));
  const env = { MINE: 'from-env', OPENAI_API_KEY: 'usual-key\n' };
  const table = { kind: 'openai', base_url: server.url };
  const providers = createProviders(
    {
      table: { ...table, api_key: 'from-table', api_key_env: 'MINE' },
      variable: { ...table, api_key: '', api_key_env: 'MINE' },
      usual: table,
    },
    testDeps({ env }),
  );

  for (const name of ['table', 'variable', 'usual']) {
    const { provider, ref } = providers.resolve(`${name}/m`);
    await provider.complete(ask('go'));
    await openProvider(ref ?? { name, kind: 'none', options: {} }, testDeps()).complete(ask('go'));
  }

  expect(server.requests.map((request) => request.headers.authorization)).toEqual([
    'Bearer from-table',
    'Bearer from-table',
    'Bearer from-env',
    'Bearer from-env',
    'Bearer usual-key',
    'Bearer usual-key',
  ]);
});

test('a registered provider takes part; it crosses to a thread only when it can tell itself as data', () => {
  const providers = createProviders({ mock: {} }, testDeps());
  const own = createScriptedProvider({ script: [], name: 'own', default_model: 'tiny' });

  providers.register('own', own, { contextWindow: 10 });

  expect(providers.resolve('own/x')).toEqual({ provider: own, model: 'x', contextWindow: 10, ref: own.ref?.() });
  const { ref: _ref, ...bound } = own;
  providers.register('bound', bound);
  expect(providers.resolve('bound/x').ref).toBeUndefined();
  expect(providers.names()).toEqual(['mock', 'own', 'bound']);
  expect(providers.list().at(1)).toMatchObject({ name: 'own', kind: 'object', default_model: 'tiny' });
});

test('what the environment decides travels with the reference', () => {
  const env = { ANTHROPIC_API_KEY: 'sk-ant-1', ANTHROPIC_WORKSPACE_ID: 'wrk_1' };
  const refOf = (extra: { [key: string]: string }) =>
    createProviders({ anthropic: { extra } }, testDeps({ env })).resolve('anthropic/').ref;

  expect(refOf({})?.options).toEqual({ api_key: 'sk-ant-1', extra: { workspace_id: 'wrk_1' } });
  expect(refOf({ workspace_id: 'mine' })?.options).toMatchObject({ extra: { workspace_id: 'mine' } });
});

test('a registered kind is made like a built-in one', () => {
  const kind: ProviderKind = {
    keyVariable: 'ECHO_KEY',
    ownKeys: ['volume'],
    open: (settings) =>
      createScriptedProvider({ script: [], name: `${settings.name}-${String(settings.own['volume'])}` }),
  };
  const deps = testDeps({ kinds: new Map([['echo', kind]]) });
  const providers = createProviders({ loud: { kind: 'echo', volume: 11 } }, deps);

  expect(providers.resolve('loud/').provider.info().name).toBe('loud-11');
  expect(providers.keyVariables()).toEqual(['ECHO_KEY']);
  expect(() => createProviders({ x: { kind: 'nope' } }, deps)).toThrow(
    'provider `x` has unknown kind `nope` (known kinds: anthropic, openai, ollama, mock, replay, echo)',
  );
});

test.each([
  [{ kind: 'y' }, 'provider `x` has unknown kind `y` (known kinds: anthropic, openai, ollama, mock, replay)'],
  [{}, 'provider `x` has unknown kind `x` (known kinds: anthropic, openai, ollama, mock, replay)'],
  [{ kind: 'openai', apikey: 'k' }, 'provider `x`: unknown key `apikey`'],
  [{ kind: 'openai', api_key: 'sk-secret\u00e9' }, 'provider `x`: the API key holds characters that cannot be sent'],
  [{ kind: 'openai', base_url: 'ftp://x' }, 'provider `x`: `base_url` must be an http or https URL'],
  [{ kind: 'openai', base_url: 'https://a:b@x' }, 'provider `x`: `base_url` must hold no user name'],
  [{ kind: 'openai', context_window: 0 }, 'provider `x`: `context_window` must be a whole number'],
  [{ kind: 'openai', stream: 'no' }, 'provider `x`: `stream` must be true or false'],
  [{ kind: 'openai', extra: { limits: { silence_ms: 0 } } }, 'provider `x`: `extra.limits.silence_ms` must be'],
  [{ kind: 'openai', extra: { limits: { silence_ms: 2 ** 31 } } }, 'provider `x`: `extra.limits.silence_ms` must be'],
  [{ kind: 'openai', extra: { limits: { quiet: 1 } } }, 'provider `x`: unknown key `extra.limits.quiet`'],
])('the table %j is refused', (table, message) => {
  expect(() => createProviders({ x: table }, testDeps())).toThrow(expect.objectContaining({ kind: 'config' }));
  expect(() => createProviders({ x: table }, testDeps())).toThrow(message);
});

test.each([
  ['anthropic', { thinking: 'deep' }, '`extra.thinking` must be "adaptive" or "budget", not "deep"'],
  ['openai', { reasoning: 'yes' }, '`extra.reasoning` must be true or false, not "yes"'],
  ['openai', { headers: { 'x-key': 'a\nb' } }, '`extra.headers`: the header `x-key` cannot be sent'],
])('the %s option %j is a configuration error', async (kind, extra, message) => {
  const use = async (): Promise<unknown> => {
    const { provider } = createProviders({ x: { kind, extra, api_key: 'k-123456' } }, testDeps()).resolve('x/');
    return await provider.complete(ask('go'));
  };

  await expect(use()).rejects.toMatchObject({ kind: 'config', message });
});
