import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { mergeConfig } from '../../src/config/merge.ts';
import { listValues } from '../../src/config/show.ts';
import { configSchema, defaultConfig } from '../../src/config/schema.ts';
import { parseTomlText } from '../../src/config/toml-file.ts';

let folder: string;
let root: string;
let configDir: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'config-')));
  root = path.join(folder, 'project');
  configDir = path.join(folder, 'user');
  await mkdir(path.join(root, '.vibe'), { recursive: true });
  await mkdir(configDir);
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const parse = (text: string): unknown => parseTomlText(text, 'c.toml', configSchema);

test('without files everything is empty and nothing needs trust', async () => {
  const loaded = await loadConfig({ root, configDir });

  expect(loaded).toEqual({ config: {}, restricted: {}, untrusted: [], layers: [] });
});

test('every table of the contract is accepted (contract README, decision 15)', () => {
  const text = `
    model = "anthropic/claude-sonnet-5"
    [phases.qa]
    model = "openai/gpt-5"
    thinking = "high"
    [providers.local]
    kind = "openai"
    api_key_env = "LOCAL_KEY"
    base_url = "http://localhost:8000/v1"
    default_model = "m"
    context_window = 32000
    stream = false
    extra = { reasoning = true, headers = { "x-team" = "a" } }
    [[plugins]]
    name = "todo"
    command = ["python3", "todo.py"]
    env = { A = "1" }
    cwd = "tools"
    required = true
    capabilities = ["tools"]
    restart = "on-failure"
    env_policy = "minimal"
    cancel = false
    [security]
    blocked_commands = ["docker"]
    allowed_commands = []
    command_timeout_secs = 60
    allow_network = true
    extra_read_paths = ["/usr/share"]
    sandbox = "auto"
    [rules]
    allow = ["bash(npm test*)"]
    ask = ["write_file(docs/**)"]
    deny = ["mcp__github__*"]
    [budget]
    max_tokens = 100000
    max_duration_secs = 600
    max_cost = 1.5
    [prices."anthropic/claude-sonnet-5"]
    input = 3
    output = 15
    cache_read = 0.3
    cache_write = 3.75
    [limits]
    max_parallel_tools = 4
    tool_timeout_ms = 0
  `;

  expect(parse(text)).toMatchObject({ prices: { 'anthropic/claude-sonnet-5': { cache_read: 0.3 } } });
});

test.each([
  ['modle = "x"', 'c.toml:1:1: unknown key `modle`'],
  ['\n\n[security]\n  allow_netwrok = true', 'c.toml:4:3: unknown key `allow_netwrok` in `security`'],
  [
    '[[plugins]]\nname = "a"\ncommand = ["x"]\n[[plugins]]\nname = "b"\ncommand = ["x"]\nversion = "1"',
    'c.toml:7:1: unknown key `version` in `plugins[1]`',
  ],
  [
    '[providers]\nlocal = { kind = "openai", "api-key" = "sk-1" }',
    'c.toml:2:28: unknown key `api-key` in `providers.local`',
  ],
  ['providers.x.y.z = 1', 'c.toml:1:13: unknown key `y` in `providers.x`'],
  ['model = 5', 'c.toml:1:1: `model`: expected string, received number'],
  ['model = "  "', 'c.toml:1:1: `model`: must not be blank'],
  ['[[plugins]]\ncommand = ["x"]', 'c.toml:1:3: `plugins[0].name` is missing'],
  [
    '[[plugins]]\nname = "a"\ncommand = [\n  "x",\n  # why\n  7,\n]',
    'c.toml:6:3: `plugins[0].command[1]`: expected string, received number',
  ],
  ['[limits]\ntool_timeout_ms = 2147483648', 'c.toml:2:1: `limits.tool_timeout_ms`:'],
  ['[limits]\ntool_timeout_ms = -1', 'c.toml:2:1: `limits.tool_timeout_ms`:'],
  ['[limits]\ncontext_window = 99999999999999999999', 'c.toml:2:1: `limits.context_window`:'],
  ['[budget]\nmax_cost = nan', 'c.toml:2:1: `budget.max_cost`:'],
  ['[security]\nsandbox = "maybe"', 'c.toml:2:1: `security.sandbox`: expected one of "auto"|"on"|"off"'],
  ['[prices."a/b"]\ninput = "3"', 'c.toml:2:1: `prices."a/b".input`: expected number'],
  ['text = """\n[security]\n"""\nmodel = 1', 'c.toml:1:1: unknown key `text` (and 1 more)'],
  ['model = "x\n', 'c.toml:1:11: TOML error: '],
  ['a = 1\na = 2', 'c.toml:2:1: TOML error: '],
])('%j is refused with its place', (text, message) => {
  expect(() => parse(text)).toThrow(message);
});

test('an error quotes no value of the file', () => {
  const broken = (): unknown => parse('[providers.a]\napi_key = "sk-secret-123456\n');

  expect(broken).toThrow('c.toml:2:');
  expect(broken).not.toThrow(/sk-secret/);
});

test('names that objects inherit are ordinary names (FR10)', () => {
  const config = parseTomlText('[providers.constructor]\nkind = "mock"', 'c.toml', configSchema);

  expect(Object.keys(config.providers ?? {})).toEqual(['constructor']);
  expect(() => parse('__proto__ = 1')).toThrow(/unknown key|TOML error/);
  expect(Object.hasOwn(Object.prototype, 'kind')).toBe(false);
});

test('the project wins key by key and can only add to what the user forbids', () => {
  const user = configSchema.parse({
    model: 'a/1',
    providers: { local: { kind: 'openai', api_key_env: 'KEY' } },
    security: { blocked_commands: ['docker'], allow_network: false },
    rules: { deny: ['bash'], allow: ['glob'] },
  });
  const project = configSchema.parse({
    model: 'b/2',
    providers: { local: { base_url: 'http://localhost:1/v1' }, other: { kind: 'mock' } },
    security: { blocked_commands: ['podman', 'docker'], command_timeout_secs: 5 },
    rules: { deny: [], allow: ['grep'] },
  });

  expect(mergeConfig(user, project)).toEqual({
    model: 'b/2',
    providers: {
      local: { kind: 'openai', api_key_env: 'KEY', base_url: 'http://localhost:1/v1' },
      other: { kind: 'mock' },
    },
    security: { blocked_commands: ['docker', 'podman'], allow_network: false, command_timeout_secs: 5 },
    rules: { deny: ['bash'], allow: ['grep'] },
  });
});

test('the rules of an agent are joined as those of all agents are, whatever its name', () => {
  const user = configSchema.parse({ rules: { ask: ['a'], agents: { coder: { deny: ['bash'], allow: ['glob'] } } } });
  const project = parseTomlText(
    '[rules.agents.coder]\ndeny = ["grep"]\nallow = ["ls"]\n[rules.agents.constructor]\nask = ["x"]',
    'c.toml',
    configSchema,
  );

  expect(mergeConfig(user, project).rules).toEqual({
    ask: ['a'],
    agents: { coder: { deny: ['bash', 'grep'], allow: ['ls'] }, constructor: { ask: ['x'] } },
  });
  expect(mergeConfig(project, {}).rules?.agents).toEqual({
    coder: { deny: ['grep'], allow: ['ls'] },
    constructor: { ask: ['x'] },
  });
  const shown = listValues([
    { source: 'user', config: user },
    { source: 'project', config: project },
  ]);
  expect(shown.map(({ table, key, sources }) => [table, key, sources.join()])).toEqual([
    ['[rules]', 'ask', 'user'],
    ['[rules.agents.coder]', 'allow', 'project'],
    ['[rules.agents.coder]', 'deny', 'user,project'],
    ['[rules.agents.constructor]', 'ask', 'project'],
  ]);
});

test('what starts programs, moves prompts or keys, spends or permits needs trust, the rest does not', async () => {
  await writeFile(path.join(configDir, 'config.toml'), 'model = "a/1"\n[security]\nallow_network = false\n');
  await writeFile(
    path.join(root, '.vibe', 'config.toml'),
    `model = "b/2"
[providers.evil]
base_url = "https://example.invalid"
[[plugins]]
name = "p"
command = ["x"]
required = true
[security]
allow_network = true
[rules]
allow = ["bash"]
[budget]
max_cost = 1000
[prices.m]
input = 0
[limits]
max_parallel_tools = 2
`,
  );

  const loaded = await loadConfig({ root, configDir });

  expect(loaded.restricted).toEqual({
    model: 'b/2',
    security: { allow_network: false },
    limits: { max_parallel_tools: 2 },
  });
  expect(loaded.config.security).toEqual({ allow_network: true });
  expect(loaded.untrusted).toEqual([
    { name: 'plugin `p`', required: true },
    { name: 'provider `evil`', required: false },
    { name: '[security]', required: false },
    { name: '[rules]', required: false },
    { name: '[budget]', required: false },
    { name: '[prices]', required: false },
  ]);
});

test('plugins belong to the project file only', async () => {
  await writeFile(path.join(configDir, 'config.toml'), '[[plugins]]\nname = "p"\ncommand = ["x"]\n');

  await expect(loadConfig({ root, configDir })).rejects.toThrow('config.toml:1:3: unknown key `plugins`');
});

test('a configuration file that is a folder is a storage error that names it', async () => {
  await mkdir(path.join(root, '.vibe', 'config.toml'));

  await expect(loadConfig({ root, configDir })).rejects.toMatchObject({ kind: 'storage' });
});

test('the defaults are themselves a valid configuration', () => {
  expect(configSchema.parse(defaultConfig)).toEqual(defaultConfig);
});
