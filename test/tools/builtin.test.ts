// What agent-runtime 16 says of all built-in tools together.
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/protocol/json.ts';
import { createBuiltinTools } from '../../src/tools/builtin.ts';
import { createWorkspace } from './workspace.ts';

const bash = { checkCommand: () => ({ allow: true }) as const };
const searchEndpoint = 'http://127.0.0.1:1/?q={query}';
const none = { read: false, write: false, execute: false, network: false };

test('they come in the order of the contract, three of them mutating, `web_search` with an endpoint only', () => {
  const tools = createBuiltinTools({ bash, searchEndpoint });

  expect(tools.map((tool) => tool.name)).toEqual([
    'read_file',
    'write_file',
    'edit_file',
    'list_dir',
    'glob',
    'grep',
    'bash',
    'web_fetch',
    'web_search',
  ]);
  expect(tools.filter((tool) => tool.is_mutating).map((tool) => tool.name)).toEqual([
    'write_file',
    'edit_file',
    'bash',
  ]);
  expect(createBuiltinTools({ bash }).at(-1)?.name).toBe('web_fetch');
});

describe('checks come in order: permission, input, path', () => {
  const outside = '../repo-evil/secret.txt';
  const cases: readonly (readonly [string, JsonObject, string])[] = [
    ['read_file', { path: outside }, 'read files'],
    ['write_file', { path: outside, content: '' }, 'write files'],
    ['edit_file', { path: outside, old_string: 'a', new_string: 'b' }, 'edit files'],
    ['list_dir', { path: outside }, 'read files'],
    ['glob', { path: outside, pattern: '*' }, 'read files'],
    ['grep', { path: outside, pattern: 'x' }, 'read files'],
    ['bash', { cwd: outside, command: 'true' }, 'execute commands'],
    ['web_fetch', { url: 'http://127.0.0.1/' }, 'reach the network'],
    ['web_search', { query: 'x' }, 'reach the network'],
  ];

  test.each(cases)('%s', async (tool, input, deed) => {
    using workspace = createWorkspace();
    const all = { read: true, write: true, execute: true, network: true };
    const call = (given: JsonObject, permissions = all) =>
      workspace.call(tool, given, { permissions, builtin: { searchEndpoint } });
    const unknownKey = { ...input, colour: 'red' };

    expect((await call(unknownKey, none)).content).toBe(`Permission denied: this agent is not allowed to ${deed}.`);
    expect((await call(unknownKey)).content).toMatch(new RegExp(`^Invalid input for \`${tool}\`: .*colour.*\\.$`));
    const { content, is_error } = await call(input);
    expect(is_error).toBe(true);
    if (tool !== 'web_search') expect(content).toMatch(/^Access denied: .*\.$/);
  });
});

describe('the bounds of their inputs', () => {
  test.each([
    ['read_file', { path: 'a' }, 'offset', [1], [0, -1, 1.5, '1']],
    ['read_file', { path: 'a' }, 'limit', [1, 10_000], [0, 10_001]],
    ['list_dir', {}, 'depth', [1, 10], [0, 11]],
    ['grep', { pattern: 'x' }, 'context', [0, 10], [-1, 11]],
    ['grep', { pattern: 'x' }, 'output_mode', ['files', 'content', 'count'], ['lines', '']],
    ['bash', { command: 'true' }, 'timeout_secs', [1, 600], [0, 601, 0.5]],
  ] as const)('%s %j: %s', async (name, rest, field, fine, wrong) => {
    using workspace = createWorkspace();
    workspace.write('a', 'x\n');
    const call = (value: number | string) => workspace.call(name, { ...rest, [field]: value });

    for (const value of fine) expect((await call(value)).content).not.toMatch(/^Invalid input/);
    for (const value of wrong) {
      expect((await call(value)).content).toMatch(new RegExp(`^Invalid input for \`${name}\`: ${field}: `));
    }
  });
});
