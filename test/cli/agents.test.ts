import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { callCommandLine } from './in-process.ts';

let place: { readonly root: string; readonly configDir: string };

beforeEach(async () => {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'agents-cli-')));
  place = { root: path.join(folder, 'project'), configDir: path.join(folder, 'user') };
  await mkdir(path.join(place.root, '.vibe/agents'), { recursive: true });
  await mkdir(place.configDir);
});

afterEach(async () => {
  await rm(path.dirname(place.root), { recursive: true, force: true });
});

async function write(name: string, text: string): Promise<void> {
  await writeFile(path.join(place.root, '.vibe/agents', name), text);
}

test('agents list tells where each agent comes from', async () => {
  await write('1.toml', 'role = "coder"\nthinking = "max"\n');
  await write('2.toml', 'role = "mine"\nsystem_prompt = "Hi"\ntools = "none"\ndescription = "Mine."\n');

  const { code, out, err } = await callCommandLine(['agents', 'list'], place);
  const { out: data } = await callCommandLine(['agents', 'list', '--json'], place);

  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^planner +built-in +read_only +\S/m);
  expect(out).toMatch(/^coder +built-in, \.vibe\/agents\/1\.toml +all +\S/m);
  expect(out).toMatch(/^mine +\.vibe\/agents\/2\.toml +none +Mine\.$/m);
  expect(JSON.parse(data)).toContainEqual(expect.objectContaining({ role: 'planner', source: 'built-in' }));
});

test('agents show tells where each value comes from, what nothing has, and renders the prompt', async () => {
  await write('1.toml', 'role = "coder"\nthinking = "max"\ntools = ["read_file", "grepp"]\n');
  await write(
    '2.toml',
    'role = "coder"\nsystem_prompt = "<!-- - a: b -->In {{workspace_root}}: {{task_title}} {{ odd }}"\n',
  );

  const { code, out, err } = await callCommandLine(['agents', 'show', 'coder'], place);

  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^tools +read_file, grepp +\(\.vibe\/agents\/1\.toml\)$/m);
  expect(out).toMatch(/^thinking +max +\(\.vibe\/agents\/1\.toml\)$/m);
  expect(out).toMatch(/^system_prompt .*\(\.vibe\/agents\/2\.toml\)$/m);
  expect(out).toMatch(/^max_steps +300 +\(built-in\)$/m);
  expect(out).toContain('no such tool, left out by a run: grepp\n');
  expect(out.endsWith(`\n\nIn ${place.root}: ‹task_title› ‹odd›\n`)).toBe(true);
});

test('agents show as data holds the agent, its sources and the rendered prompt', async () => {
  await write('1.toml', 'role = "mine"\nsystem_prompt = "Hi {{date}}"\ntools = ["nope"]\n');

  const { out } = await callCommandLine(['agents', 'show', 'mine', '--json'], place);

  expect(JSON.parse(out)).toMatchObject({
    role: 'mine',
    system_prompt: 'Hi {{date}}',
    rendered_prompt: expect.stringMatching(/^Hi \d{4}-\d\d-\d\d$/) as string,
    unknown_tools: ['nope'],
    sources: { system_prompt: path.join('.vibe', 'agents', '1.toml'), max_steps: 'default' },
  });
});

test('agents check names the files, tools that are not built in, and what needs trust', async () => {
  await write('1.toml', 'role = "coder"\ntools = ["web_search", "mcp__github__search"]\n');
  await write('2.toml', 'role = "thief"\nsystem_prompt_file = "/etc/hostname"\n');

  const { code, out, err } = await callCommandLine(['agents', 'check'], place);

  expect(code).toBe(0);
  expect(out).toBe(
    `coder  ${path.join('.vibe', 'agents', '1.toml')}  not built in: mcp__github__search\n` +
      'A tool that is not built in is left out unless a plugin or an MCP server brings it.\n',
  );
  expect(err).toBe(
    'not trusted, left out: agent file `2.toml`, which reads outside of the project (run `vibe-bus trust` to use it)\n',
  );
});

test('an agent file that is wrong is an error with its place', async () => {
  await write('1.toml', 'role = "coder"\nthinkin = "max"\n');

  const { code, err } = await callCommandLine(['agents', 'check'], place);

  expect(code).toBe(1);
  expect(err).toContain('1.toml: TOML error: unknown key `thinkin`');
  expect(err).toContain('(line 2, column 1)');
});
