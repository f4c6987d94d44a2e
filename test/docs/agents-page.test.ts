import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtinAgents, loadBuiltinAgents } from '../../src/agent/builtin.ts';
import { documentedVariables } from '../../src/agent/prompt.ts';
import { loadAgentOverrides } from '../../src/config/agent-overrides.ts';
import { effectiveMaxTokens, thinkingBudgets, thinkingLevels } from '../../src/protocol/agent.ts';

const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/reference/agents.md'), 'utf8');
let folder: string;

beforeAll(async () => {
  // why here and not in the system's temp folder: the example imports zod, which is looked up from where it stands
  const scratch = join(root, 'node_modules/.tmp');
  await mkdir(scratch, { recursive: true });
  folder = await realpath(await mkdtemp(join(scratch, 'agents-page-')));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

function blocks(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(([, body]) => body ?? '');
}

test('the table of built-in agents is the product’s', () => {
  const rows = builtinAgents.map(({ role, tools, thinking, structured_output: isStructured, ...agent }) => {
    const cells = [
      `\`${role}\``,
      typeof tools === 'string' ? tools : tools.named.join(', '),
      thinking,
      isStructured ? 'yes' : 'no',
      agent.max_steps,
    ];
    return `| ${[...cells, agent.max_tokens, agent.description].join(' | ')} |`;
  });

  expect(rows).toHaveLength(12);
  for (const row of rows) expect(page).toContain(row);
});

test('the table of thinking levels is the product’s', () => {
  for (const level of thinkingLevels) {
    const budget = thinkingBudgets[level];
    const least = budget === undefined ? '`max_tokens`' : effectiveMaxTokens(0, level);
    expect(page).toMatch(new RegExp(`^\\| \`${level}\` \\| ${budget ?? 'none'} \\| .* \\| ${least} \\|$`, 'm'));
  }
});

test('the table of variables names every further variable with the roles that use it', () => {
  const common = new Set(['task_title', 'task_description', 'workspace_root', 'date']);
  const users = new Map<string, string[]>();
  for (const { role, system_prompt: prompt } of loadBuiltinAgents()) {
    for (const { name } of documentedVariables(prompt)) {
      if (!common.has(name)) users.set(name, [...(users.get(name) ?? []), role]);
    }
  }

  expect(users.size).toBe(11);
  for (const [name, roles] of users) {
    const row = page
      .split('\n')
      .find((line) => line.startsWith('| `') && line.split(' | ')[0]?.includes(`\`${name}\``));
    const named = roles.length === 11 ? 'all but `commit_message`' : roles.map((role) => `\`${role}\``).join(', ');
    expect(row, name).toContain(`| ${named} |`);
  }
});

test('the override files of the page load', async () => {
  const agents = join(folder, 'agents');
  await mkdir(agents);
  await writeFile(join(agents, 'doc_writer.md'), 'Write about {{task_title}}.');
  for (const [index, text] of blocks('toml').entries()) await writeFile(join(agents, `${index}.toml`), text);

  const loaded = await loadAgentOverrides(agents, loadBuiltinAgents());

  expect(loaded.map(({ spec }) => spec)).toMatchObject([
    { role: 'coder', model: { fixed: { provider: 'openai', model: 'gpt-5' } }, thinking: 'high', max_steps: 120 },
    {
      role: 'doc_writer',
      system_prompt: 'Write about {{task_title}}.',
      tools: { named: expect.any(Array) as string[] },
    },
  ]);
});

test.each([
  ['fan-out', "0 of 2, 0 failed\n1 of 2, 0 failed\n2 of 2, 1 failed\n[ 'completed', 'error' ]"],
  ['structured', "high [ 'login' ] 1"],
])('the %s example of the page runs', async (name, expected) => {
  const example = blocks('ts')[name === 'fan-out' ? 0 : 1];
  const source = (name: string): string => JSON.stringify(pathToFileURL(join(root, 'src', name)).href);
  const file = join(folder, `${name}.mts`);
  const text = (example ?? '')
    .replace("'vibe-bus'", source('index.ts'))
    .replace("'vibe-bus/testing'", source('testing.ts'));
  await writeFile(file, text);

  const tsx = import.meta.resolve('tsx');
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', tsx, file], {
    cwd: folder,
    env: { ...process.env, VIBE_CONFIG_HOME: join(folder, 'config') },
  });

  expect(stdout.trim()).toBe(expected);
});
