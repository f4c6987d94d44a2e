import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadAgentOverrides } from '../../src/config/agent-overrides.ts';
import { defineAgent } from '../../src/protocol/agent.ts';

let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'agents-')));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const base = [defineAgent({ role: 'coder', system_prompt: '<!-- x -->P', max_steps: 300 })];

async function write(name: string, text: string | Uint8Array): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** The message of the first bad file, without its path. */
async function problemOf(text: string | Uint8Array): Promise<string> {
  const file = await write('x.toml', text);
  const error = await loadAgentOverrides(folder, base).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ kind: 'config', code: 'config_invalid' });
  const { message } = error as Error;
  expect(message.startsWith(`${file}: `)).toBe(true);
  return message.slice(file.length + 2);
}

test('each value tells the file it comes from, the newest first', async () => {
  const first = await write('1.toml', 'role = "coder"\nthinking = "max"\nmax_steps = 10\n');
  const second = await write('2.toml', 'role = "coder"\nmax_steps = 20\n');

  const [agent] = await loadAgentOverrides(folder, base);

  expect(agent?.spec).toEqual({ ...base[0], thinking: 'max', max_steps: 20 });
  expect(agent?.sources).toEqual(
    new Map([
      ['thinking', first],
      ['max_steps', second],
    ]),
  );
});

test('a prompt keeps its doc comment, from the file too, by relative or absolute path', async () => {
  const prompt = await write('p.md', '<!--\n- a: b\n-->\nHello {{a}}\r\n');
  await write('1.toml', 'role = "one"\nsystem_prompt_file = "./p.md"');
  await write('2.toml', `role = "two"\nsystem_prompt_file = '${prompt}'`);

  const agents = await loadAgentOverrides(folder, base);

  expect(agents.map(({ spec }) => spec.system_prompt)).toEqual(Array(2).fill('<!--\n- a: b\n-->\nHello {{a}}\r\n'));
});

test('without trust, files that read outside of the project are left out, the others hold', async () => {
  const agents = join(folder, 'project/.vibe/agents');
  await mkdir(agents, { recursive: true });
  await write('secret', 'key');
  await write('project/.vibe/agents/1.toml', 'role = "coder"\nsystem_prompt_file = "../../../secret"');
  await write('project/.vibe/agents/2.toml', 'role = "inner"\nsystem_prompt_file = "p.md"');
  await write('project/.vibe/agents/p.md', 'P');

  const untrusted = await loadAgentOverrides(agents, base, join(folder, 'project'));
  const trusted = await loadAgentOverrides(agents, base);

  expect(untrusted.map(({ spec }) => [spec.role, spec.system_prompt])).toEqual([['inner', 'P']]);
  expect(trusted.map(({ spec }) => [spec.role, spec.system_prompt])).toEqual([
    ['coder', 'key'],
    ['inner', 'P'],
  ]);
});

test('delegates and handoffs are lists of roles', async () => {
  await write('1.toml', 'role = "lead"\nsystem_prompt = "P"\ndelegates = ["scout", "planner"]\nhandoffs = ["coder"]');

  const [agent] = await loadAgentOverrides(folder, base);

  expect(agent?.spec).toMatchObject({ delegates: ['scout', 'planner'], handoffs: ['coder'] });
});

test('names of object methods are roles like any other', async () => {
  await write('1.toml', 'role = "constructor"\nsystem_prompt = "P"');
  await write('2.toml', 'role = "__proto__"\nsystem_prompt = "Q"');

  const agents = await loadAgentOverrides(folder, base);

  expect(agents.map(({ spec }) => spec.role)).toEqual(['constructor', '__proto__']);
});

test('files are taken by code units of their names; folders and other extensions are passed over', async () => {
  for (const name of ['b', 'a', 'B', 'ä', '10', '9']) {
    await write(`${name}.toml`, `role = "${name}"\nsystem_prompt = "P"`);
  }
  await write('.toml', 'broken = = =');
  await mkdir(join(folder, 'folder.toml'));

  const agents = await loadAgentOverrides(folder, base);

  expect(agents.map(({ spec }) => spec.role)).toEqual(['10', '9', 'B', 'a', 'b', 'ä']);
});

test('a folder that is no folder is a configuration error', async () => {
  const file = await write('agents', '');

  await expect(loadAgentOverrides(file, base)).rejects.toMatchObject({ kind: 'config' });
});

test('a link that leads nowhere is named', async () => {
  await symlink(join(folder, 'gone'), join(folder, 'x.toml'));

  await expect(loadAgentOverrides(folder, base)).rejects.toThrow(`${join(folder, 'x.toml')}: ENOENT`);
});

describe('a bad file says what is wrong and where', () => {
  test.each([
    ['broken syntax', 'role = "coder"\nmax_steps = = 1', /^TOML error: .+ \(line 2, column 13\)$/],
    ['an unknown key', 'role = "coder"\n"max step" = 1', /^TOML error: unknown key `max step`.* \(line 2, column 1\)$/],
    [
      'a delegate that is no text',
      'role = "coder"\ndelegates = [1]',
      /^TOML error: `delegates` must be a list of roles/,
    ],
    ['a key of object methods', 'role = "coder"\ntoString = 1', /^TOML error: unknown key `toString`/],
    ['a table', '[role]\nx = 1', /^TOML error: `role` must be a string \(line 1/],
    ['a number with a fraction', 'role = "coder"\nmax_steps = 3.0', /^TOML error: `max_steps` must be an integer/],
    ['a number too large', 'role = "coder"\nmax_tokens = 4294967296', /^TOML error: `max_tokens` must be an integer/],
    ['a number beyond all', 'role = "coder"\nmax_tokens = 99999999999999999999', /^TOML error: /],
    ['a text for a number', 'role = "coder"\nmax_steps = "3"', /^TOML error: `max_steps` must be/],
    ['a text for true', 'role = "coder"\nstructured_output = "true"', /^TOML error: `structured_output` must be true/],
    ['a level in capitals', 'role = "coder"\nthinking = "LOW"', /^TOML error: `thinking` must be one of `off`/],
    ['a list of numbers', 'role = "coder"\ntools = [1]', /^TOML error: `tools` must be a list of tool names/],
    ['an unknown part', 'role = "coder"\ntools = { named = [], more = 1 }', /^TOML error: `tools` must be/],
    ['no part', 'role = "coder"\ntools = {}', /^TOML error: `tools` must be/],
    ['half a model', 'role = "coder"\nmodel = { fixed = { provider = "p" } }', /^TOML error: `model` must be/],
    ['no role', 'max_steps = 1', /^TOML error: missing key `role`$/],
    ['bytes that are no text', Uint8Array.of(0x72, 0xff), /^the file is not valid UTF-8$/],
    ['a model with blanks', 'role = "coder"\nmodel = " p/ "', /^`model = " p\/ "`: use "phase" or "provider\/model"$/],
  ])('%s', async (_name, text, problem) => {
    expect(await problemOf(text)).toMatch(problem);
  });

  test('the checks come in order: syntax, role, two prompts, prompt file, missing prompt, model', async () => {
    const both = 'system_prompt = "a"\nsystem_prompt_file = "b"\n';

    expect(await problemOf(`role = " "\n${both}`)).toBe('`role` must not be empty');
    expect(await problemOf(`role = "new"\n${both}model = "bare"`)).toMatch(/^set either /);
    expect(await problemOf('role = "new"\nsystem_prompt_file = "b"\nmodel = "bare"')).toMatch(
      new RegExp(`^cannot read prompt file ${join(folder, 'b')}: ENOENT`),
    );
    expect(await problemOf('role = "new"\nmodel = "bare"')).toMatch(/^agent `new` is not a built-in agent: /);
    expect(await problemOf('role = "coder"\nmodel = "bare"')).toMatch(/^`model = "bare"`: /);
  });
});

test('a byte order mark and CRLF are no trouble', async () => {
  await write('x.toml', '\ufeffrole = "coder"\r\nmodel = " phase "\r\ntools = "none"\r\n');

  const [agent] = await loadAgentOverrides(folder, base);

  expect(agent?.spec).toMatchObject({ role: 'coder', model: 'phase', tools: 'none' });
});
