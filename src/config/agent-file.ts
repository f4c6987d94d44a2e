import { parse, TomlError } from 'smol-toml';
import {
  type AgentSpec,
  type ThinkingLevel,
  thinkingLevels,
  type ToolSelection,
  toolSelectionNames,
} from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { ownValue } from '../protocol/json.ts';
import { toPosition } from '../store/json-position.ts';
import { locateTomlKeys, type TomlPath } from './toml-positions.ts';

type FixedModel = Exclude<AgentSpec['model'], string>;

/** One override file as it is written: the keys it sets, short forms not yet resolved. */
export interface AgentFile {
  /** As written; may be blank. */
  readonly role: string;
  readonly description?: string;
  readonly system_prompt?: string;
  readonly system_prompt_file?: string;
  readonly tools?: ToolSelection;
  /** `phase`, `provider/model` or anything else someone wrote; or the long form. */
  readonly model?: string | FixedModel;
  readonly thinking?: ThinkingLevel;
  readonly max_steps?: number;
  readonly max_tokens?: number;
  readonly structured_output?: boolean;
  readonly delegates?: readonly string[];
  readonly handoffs?: readonly string[];
}

/**
 * Reads the text of an agent override file (agent-runtime section 14): syntax, known keys, types, `role` present.
 * @throws EngineError `config` with a message that starts with `TOML error: ` and tells the place
 */
export function parseAgentFile(text: string): AgentFile {
  const table = parseSyntax(text);
  const fail = (detail: string, path: TomlPath): never => {
    const offset = locateTomlKeys(text)(path);
    const at = offset === undefined ? undefined : toPosition(text, offset);
    throw invalid(at === undefined ? detail : `${detail} (line ${at.line}, column ${at.column})`);
  };
  const file: { [key: string]: unknown } = {};
  for (const [key, value] of Object.entries(table)) {
    const read = Object.hasOwn(readers, key) ? readers[key as keyof AgentFile] : undefined;
    if (read === undefined) {
      return fail(`unknown key \`${key}\`, known are ${Object.keys(readers).map(quote).join(', ')}`, [key]);
    }
    const result = read(value);
    if (result === undefined) return fail(`\`${key}\` must be ${expected[key as keyof AgentFile]}`, [key]);
    file[key] = result;
  }
  const { role } = file;
  if (typeof role !== 'string') throw invalid('missing key `role`');
  return { ...file, role };
}

function parseSyntax(text: string): object {
  try {
    // why: as bigint, because only so the parser tells the integer 3 from the number 3.0
    return parse(text, { integersAsBigInt: true });
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    // why: the rest of the parser's message is a copy of the file
    const reason = (cause.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '');
    throw invalid(`${reason} (line ${cause.line}, column ${cause.column})`);
  }
}

const expected: { readonly [key in keyof AgentFile]-?: string } = {
  role: 'a string',
  description: 'a string',
  system_prompt: 'a string',
  system_prompt_file: 'a string',
  tools: `a list of tool names, one of ${toolSelectionNames.map(quote).join(', ')}, or { named = [...] }`,
  model: '"phase", "provider/model" or { fixed = { provider = "...", model = "..." } }',
  thinking: `one of ${thinkingLevels.map(quote).join(', ')}`,
  max_steps: `an integer from 0 to ${2 ** 32 - 1}`,
  max_tokens: `an integer from 0 to ${2 ** 32 - 1}`,
  structured_output: 'true or false',
  delegates: 'a list of roles',
  handoffs: 'a list of roles',
};

/** The value in the form it is kept, or undefined when its type is wrong. */
const readers: { readonly [key in keyof AgentFile]-?: (value: unknown) => AgentFile[key] | undefined } = {
  role: toText,
  description: toText,
  system_prompt: toText,
  system_prompt_file: toText,
  tools: toTools,
  model: toModel,
  thinking: (value) => thinkingLevels.find((level) => level === value),
  max_steps: toCount,
  max_tokens: toCount,
  structured_output: (value) => (typeof value === 'boolean' ? value : undefined),
  delegates: toTexts,
  handoffs: toTexts,
};

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function toCount(value: unknown): number | undefined {
  return typeof value === 'bigint' && value >= 0n && value < 2n ** 32n ? Number(value) : undefined;
}

function toTexts(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((entry) => typeof entry === 'string');
  return texts.length === value.length ? texts : undefined;
}

function toTools(value: unknown): ToolSelection | undefined {
  const list = isTableOf(value, ['named']) ? ownValue(value, 'named') : value;
  if (Array.isArray(list)) {
    const named = toTexts(list);
    return named === undefined ? undefined : { named };
  }
  return toolSelectionNames.find((name) => name === value);
}

function toModel(value: unknown): string | FixedModel | undefined {
  if (typeof value === 'string') return value;
  const fixed = isTableOf(value, ['fixed']) ? ownValue(value, 'fixed') : undefined;
  if (!isTableOf(fixed, ['provider', 'model'])) return undefined;
  const provider = toText(ownValue(fixed, 'provider'));
  const model = toText(ownValue(fixed, 'model'));
  return provider === undefined || model === undefined ? undefined : { fixed: { provider, model } };
}

function isTableOf(value: unknown, keys: readonly string[]): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.keys(value).every((key) => keys.includes(key));
}

function quote(word: string): string {
  return `\`${word}\``;
}

function invalid(detail: string): EngineError {
  return new EngineError('config', `TOML error: ${detail}`, { code: 'config_invalid' });
}
