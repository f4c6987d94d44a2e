import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { builtinAgents, loadBuiltinAgents } from '../../src/agent/builtin.ts';
import { documentedVariables, placeholdersOf, stripDocComment } from '../../src/agent/prompt.ts';
import { loadAgentOverrides } from '../../src/config/agent-overrides.ts';
import { isEngineError } from '../../src/protocol/error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import { difference, toList, toObject, unknownKeys } from './agent-compare.ts';
import { createTablePlayer } from './agent-tables.ts';

/** Plays `overrides.json`: each row is a folder of its own. */
export const playOverrides = createTablePlayer({
  cases: {
    keys: ['files', 'expected'],
    async play(row) {
      const root = await realpath(await mkdtemp(join(tmpdir(), 'overrides-')));
      const folder = join(root, 'agents');
      try {
        if (isJsonObject(row['files'])) await writeFiles(folder, row['files']);
        return await compareOverrides(folder, toObject(row['expected']));
      } finally {
        await rm(root, { recursive: true, force: true });
      }
    },
  },
});

async function writeFiles(folder: string, files: JsonObject): Promise<void> {
  await mkdir(folder);
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, typeof text === 'string' ? text : JSON.stringify(text));
  }
}

async function compareOverrides(folder: string, expected: JsonObject): Promise<(string | undefined)[]> {
  const base = loadBuiltinAgents();
  const wanted = withFolder(expected, folder) as JsonObject;
  let actual: JsonObject;
  try {
    const agents = await loadAgentOverrides(folder, base);
    const specs = agents.map(({ spec }) => {
      const isBuiltin = base.some(({ role, system_prompt: text }) => role === spec.role && text === spec.system_prompt);
      return isBuiltin ? { ...spec, system_prompt: '<builtin>' } : spec;
    });
    actual = { specs: specs as unknown as Json };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    actual = { error: { kind: error.kind, message: error.message } };
  }
  return [difference(wanted, actual, 'result'), ...unknownKeys(expected, ['specs', 'error'])];
}

function withFolder(value: unknown, folder: string): unknown {
  if (typeof value === 'string') return value.replaceAll('<dir>', folder);
  if (Array.isArray(value)) return value.map((child) => withFolder(child, folder));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, withFolder(child, folder)]));
}

/** Plays `builtin_agents.json`: the twelve specs in order, and the variables of their prompts. */
export const playBuiltinAgents = createTablePlayer(
  {
    agents: {
      keys: ['role', 'tools', 'model', 'thinking', 'structured_output', 'max_steps', 'max_tokens', 'variables'],
      play({ id: _id, variables, ...fields }, index) {
        const spec = loadBuiltinAgents()[index];
        if (spec === undefined) return ['no built-in agent at this place'];
        const names = toList(variables)
          .filter((name) => typeof name === 'string')
          .sort();
        return [
          builtinAgents.length === 12 ? undefined : `${builtinAgents.length} built-in agents`,
          difference(fields, spec, 'spec'),
          difference(
            names,
            documentedVariables(spec.system_prompt)
              .map(({ name }) => name)
              .sort(),
            'documented',
          ),
          difference(names, [...placeholdersOf(stripDocComment(spec.system_prompt))].sort(), 'used'),
        ];
      },
    },
  },
  ['common_variables'],
);
