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
