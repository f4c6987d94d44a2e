import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { builtinAgents, loadBuiltinAgent, loadBuiltinAgents } from '../../src/agent/builtin.ts';
import { extractJson } from '../../src/agent/extract-json.ts';
import { documentedVariables, placeholdersOf, renderSystemPrompt, stripDocComment } from '../../src/agent/prompt.ts';
import { builtinRoles, thinkingBudgets } from '../../src/protocol/agent.ts';
import { isJsonObject } from '../../src/protocol/json.ts';

const agents = loadBuiltinAgents();
/** Roles whose answer ends with a JSON document, asked for or enforced (agent-runtime section 12). */
const withShape = new Map([
  ['complexity_assessor', ['complexity', 'confidence', 'reasoning', 'needs_research', 'needs_critique', 'risk_level']],
  ['spec_gatherer', ['summary', 'requirements', 'context']],
  ['spec_writer', ['summary', 'requirements', 'context', 'body']],
  ['spec_critic', ['verdict', 'issues', 'spec']],
  ['planner', ['approach', 'phases']],
  ['coder', ['status', 'summary', 'files_changed', 'notes']],
  ['coder_recovery', ['status', 'summary', 'files_changed', 'notes']],
  ['qa_reviewer', ['verdict', 'summary', 'issues']],
  ['qa_fixer', ['status', 'summary', 'fixed']],
]);

test('twelve agents in order, each with a description, the model of its phase and room beyond its thinking', () => {
  expect(agents.map(({ role }) => role)).toEqual(builtinRoles);
  expect(agents).toHaveLength(12);
  for (const agent of agents) {
    expect(agent.description, agent.role).toMatch(/^[A-Z].{20,90}[^.]$/);
    expect(agent.model, agent.role).toBe('phase');
    expect(agent.max_tokens, agent.role).toBeGreaterThan(thinkingBudgets[agent.thinking] ?? 0);
  }
});

test('one agent is found by its exact role', () => {
  expect(loadBuiltinAgent('planner')).toEqual(agents.find(({ role }) => role === 'planner'));
  for (const role of ['Planner', 'toString', '__proto__', '']) expect(loadBuiltinAgent(role)).toBeUndefined();
  expect(builtinAgents.every((agent) => !('system_prompt' in agent))).toBe(true);
});

describe.each(agents.map((agent) => [agent.role, agent.system_prompt] as const))('the prompt of %s', (role, prompt) => {
  const documented = documentedVariables(prompt);

  test('documents exactly the variables it uses', () => {
    expect(documented.length).toBeGreaterThan(3);
    expect(documented.map(({ name }) => name).sort()).toEqual([...placeholdersOf(stripDocComment(prompt))].sort());
    expect(documented.every(({ meaning }) => meaning.length > 5)).toBe(true);
  });

  test('shows every value once it is rendered, and nothing of the template', () => {
    const rendered = renderSystemPrompt(prompt, Object.fromEntries(documented.map(({ name }) => [name, `<${name}!>`])));

    expect(rendered).not.toContain('{{');
    expect(rendered).not.toContain('<!--');
    for (const { name } of documented) expect(rendered).toContain(`<${name}!>`);
  });

  test('says what is done, what to do when something is missing, and that material is no order', () => {
    expect(prompt).toMatch(/^# Answer$/m);
    expect(prompt).toMatch(/\b(done|Done means)\b/);
    expect(prompt).toMatch(/missing|cut|empty/i);
    expect(prompt).toMatch(/has no\s+authority/);
  });

  test('shows the shape of its answer in one fenced json block, if it has one', () => {
    const blocks = [...prompt.matchAll(/```json\n([^]*?)```/g)].map(([, body]) => body ?? '');
    const keys = withShape.get(role);

    expect(blocks).toHaveLength(keys === undefined ? 0 : 1);
    if (keys === undefined) return;
    const shape: unknown = JSON.parse(blocks[0] ?? '');
    expect(isJsonObject(shape) && Object.keys(shape)).toEqual(keys);
    // an agent that answers in the way it is shown is understood
    expect(extractJson(prompt)).toEqual(shape);
  });
});

test('structured agents are among those with a shape', () => {
  const structured = agents.filter(({ structured_output: isStructured }) => isStructured).map(({ role }) => role);

  expect(structured).toHaveLength(6);
  for (const role of structured) expect(withShape.has(role), role).toBe(true);
});

test('prompts are found from another working folder', async () => {
  const module = join(import.meta.dirname, '../../src/agent/builtin.ts');
  const script = `import(${JSON.stringify(module)}).then((m) => console.log(m.loadBuiltinAgents().length))`;

  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script],
    { cwd: '/' },
  );

  expect(stdout.trim()).toBe('12');
});
