import { expect, test } from 'vitest';
import { readAgents, readToolsPage } from '../../src/protocol/vpp-read.ts';

test('a list of tools that is null is absent, as every optional member of a plugin', () => {
  expect(readToolsPage({ tools: null, nextCursor: null })).toEqual({ tools: [] });
  expect(readToolsPage({})).toEqual({ tools: [] });
});

test('a list of agents that is null is refused, as null is everywhere in agents', () => {
  expect(readAgents({})).toEqual([]);
  expect(() => readAgents({ agents: null })).toThrow('`agents` must be an array');
});

test('whom an agent works with is read as lists of roles, and refused by name when it is none', () => {
  const agent = { role: 'lead', system_prompt: 'Lead.' };

  expect(readAgents({ agents: [{ ...agent, delegates: ['helper'], handoffs: [] }] })).toMatchObject([
    { role: 'lead', delegates: ['helper'], handoffs: [] },
  ]);
  expect(Object.keys(readAgents({ agents: [agent] })[0] ?? {})).not.toContain('delegates');
  expect(() => readAgents({ agents: [agent, { ...agent, delegates: 'helper' }] })).toThrow(
    '`agents[1].delegates` must be an array',
  );
  expect(() => readAgents({ agents: [{ ...agent, handoffs: [null] }] })).toThrow('`agents[0].handoffs`');
});
