import { isDeepStrictEqual } from 'node:util';
import { estimateTokens } from '../../src/agent/estimate.ts';
import { extractJson } from '../../src/agent/extract-json.ts';
import { documentedVariables, placeholdersOf, render, stripDocComment } from '../../src/agent/prompt.ts';
import { renderTranscript } from '../../src/agent/summary.ts';
import { effectiveMaxTokens, thinkingBudgets, thinkingLevels, type ToolSelection } from '../../src/protocol/agent.ts';
import { type Json, type JsonObject, ownValue } from '../../src/protocol/json.ts';
import { type Message, toToolInput } from '../../src/protocol/message.ts';
import { parseModelRef } from '../../src/protocol/model.ts';
import type { ToolSpec } from '../../src/protocol/tool.ts';
import { anthropicEffort, anthropicThinkingForm, openaiReasoningEffort } from '../../src/providers/thinking.ts';
import { selectTools } from '../../src/tools/registry.ts';
import { difference, expand, toList, toObject, unknownKeys } from './agent-compare.ts';
import type { Player, VectorCase, VectorFile } from './types.ts';

/** How the rows of one table are played: the keys a row may have, and what differed. */
export interface Table {
  readonly keys: readonly string[];
  play(row: JsonObject, index: number): (string | undefined)[] | Promise<(string | undefined)[]>;
}

/** A player for a file of tables. A table or key it does not know is a failure. */
export function createTablePlayer(tables: { readonly [name: string]: Table }, notes: readonly string[] = []): Player {
  return ({ data }: VectorFile): readonly VectorCase[] => {
    const { format: _format, group: _group, title: _title, ...rest } = data;
    return Object.entries(rest).flatMap(([name, rows]) => {
      if (notes.includes(name)) return [];
      const table = ownValue(tables, name) as Table | undefined;
      if (table === undefined || !Array.isArray(rows)) throw new Error(`unknown table \`${name}\``);
      return toList(rows).map((row, index) => toCase(name, table, toObject(row), index));
    });
  };
}

function toCase(name: string, table: Table, row: JsonObject, index: number): VectorCase {
  return {
    id: typeof row['id'] === 'string' ? row['id'] : `${name}-${index + 1}`,
    weight: 'many',
    async play() {
      const unknown = unknownKeys(row, ['id', 'why', 'level', 'note', ...table.keys]);
      const differences = await table.play(row, index);
      return [...unknown, ...differences.filter((line) => line !== undefined)];
    },
  };
}

/** Plays `extraction.json`. */
export const playExtraction = createTablePlayer({
  cases: {
    keys: ['input', 'output', 'output_depth', 'max_ms'],
    play(row) {
      const input = toText(expand(row['input']));
      const start = performance.now();
      const output = extractJson(input) ?? null;
      const elapsed = performance.now() - start;
      return [
        row['output'] === undefined ? undefined : unequal(expand(row['output']), output, 'output'),
        row['output_depth'] === undefined ? undefined : unequal(row['output_depth'], depthOf(output), 'depth'),
        elapsed > Number(row['max_ms'] ?? Infinity) ? `took ${Math.round(elapsed)} ms` : undefined,
      ];
    },
  },
});

/** Plays `prompts.json`. */
export const playPrompts = createTablePlayer({
  render: {
    keys: ['template', 'vars', 'output', 'placeholders'],
    play(row) {
      const template = toText(expand(row['template']));
      const vars = expand(row['vars']) as { [name: string]: string };
      return [
        unequal(expand(row['output']), render(template, vars), 'output'),
        row['placeholders'] === undefined
          ? undefined
          : unequal(row['placeholders'], placeholdersOf(template), 'placeholders'),
      ];
    },
  },
  doc_comments: {
    keys: ['prompt', 'stripped', 'variables'],
    play(row) {
      const prompt = toText(expand(row['prompt']));
      const variables = documentedVariables(prompt).map(({ name, meaning }) => [name, meaning]);
      return [
        unequal(expand(row['stripped']), stripDocComment(prompt), 'stripped'),
        unequal(row['variables'], variables, 'variables'),
      ];
    },
  },
});

/** Plays `transcripts.json`. */
export const playTranscripts = createTablePlayer({
  cases: {
    keys: ['messages', 'output'],
    play: (row) => [unequal(expand(row['output']), renderTranscript(expand(row['messages']) as Message[]), 'output')],
  },
});

/** Plays `units.json`. */
export const playUnits = createTablePlayer({
  estimate: {
    keys: ['system', 'messages', 'tools', 'tokens'],
    play(row) {
      const messages = expand(row['messages']) as Message[];
      const tools = expand(row['tools']) as ToolSpec[];
      return [unequal(row['tokens'], estimateTokens(toText(expand(row['system'])), messages, tools), 'tokens')];
    },
  },
  arguments: {
    keys: ['arguments', 'input'],
    play: (row) => [unequal(expand(row['input']), toToolInput(expand(row['arguments'])), 'input')],
  },
  selection: {
    keys: ['selection', 'available', 'resolved'],
    play(row) {
      const available = row['available'] as readonly string[];
      return [unequal(row['resolved'], selectTools(row['selection'] as ToolSelection, available), 'resolved')];
    },
  },
  thinking_levels: {
    keys: ['level', 'budget', 'anthropic_effort', 'openai_reasoning_effort'],
    play(row) {
      const budget = thinkingBudgets[toLevel(row['level'])];
      const efforts = budget === undefined ? [null, null] : [anthropicEffort(budget), openaiReasoningEffort(budget)];
      return [
        unequal(row['budget'], budget ?? null, 'budget'),
        unequal([row['anthropic_effort'], row['openai_reasoning_effort']], efforts, 'efforts'),
      ];
    },
  },
  effective_max_tokens: {
    keys: ['level', 'max_tokens', 'result'],
    play: (row) => [
      unequal(row['result'], effectiveMaxTokens(Number(row['max_tokens']), toLevel(row['level'])), 'result'),
    ],
  },
  anthropic_thinking_form: {
    keys: ['model', 'form'],
    play: (row) => [unequal(row['form'], anthropicThinkingForm(toText(row['model'])), 'form')],
  },
  effort_by_budget: {
    keys: ['budget', 'anthropic', 'openai'],
    play(row) {
      const budget = Number(row['budget']);
      return [
        unequal(row['anthropic'], anthropicEffort(budget), 'anthropic'),
        unequal(row['openai'], openaiReasoningEffort(budget), 'openai'),
      ];
    },
  },
  model_refs: {
    keys: ['text', 'default_provider', 'provider', 'model'],
    play(row) {
      const ref = parseModelRef(toText(row['text']), toText(row['default_provider']));
      return [unequal({ provider: row['provider'], model: row['model'] }, ref, 'reference')];
    },
  },
});

/** Exact comparison; `difference` alone would let keys pass that nobody expected. */
function unequal(expected: unknown, actual: unknown, name: string): string | undefined {
  if (isDeepStrictEqual(expected, actual)) return undefined;
  return difference(expected, actual, name) ?? `${name}: more than expected, got ${JSON.stringify(actual)}`;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Error(`a text was expected, not ${JSON.stringify(value)}`);
}

function toLevel(value: Json | undefined): (typeof thinkingLevels)[number] {
  const level = thinkingLevels.find((entry) => entry === value);
  if (level === undefined) throw new Error(`unknown level ${JSON.stringify(value)}`);
  return level;
}

/** Levels of nesting; an outermost object or array is one. Without recursion. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = [value]; ; depth += 1) {
    const containers = level.filter((entry) => typeof entry === 'object' && entry !== null) as object[];
    if (containers.length === 0) return depth;
    level = containers.flatMap((entry) => Object.values(entry) as unknown[]);
  }
}
