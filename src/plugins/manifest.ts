import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { EngineError, messageOf } from '../protocol/error.ts';
import { isJsonObject, ownValue } from '../protocol/json.ts';
import { environmentPolicies } from '../transport/environment.ts';
import { type PluginDeclaration, restartPolicies } from './declaration.ts';

/** A larger file is no manifest. */
const maxManifestBytes = 256 * 1024;
const capabilityNames = ['tools', 'agents', 'hooks'] as const;

/**
 * Reads a manifest from a file; its folder becomes the working directory.
 * @throws EngineError `config`, prefixed with the path
 */
export async function readPluginManifest(file: string): Promise<PluginDeclaration> {
  try {
    const bytes = await readFile(file);
    if (bytes.length > maxManifestBytes) throw new Error(`larger than ${maxManifestBytes} bytes`);
    return { ...parsePluginManifest(bytes.toString('utf8'), path.dirname(file)), source: file };
  } catch (error) {
    throw new EngineError('config', `${file}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * The declaration in the text of a `vibe-plugin.toml` (plugin-protocol section 12). Unknown keys are ignored.
 * @throws EngineError `config`
 */
export function parsePluginManifest(text: string, dir: string): PluginDeclaration {
  const table = parseToml(text);
  const name = required(table, 'name', asText);
  const command = required(table, 'command', asTexts);
  const manifest: PluginDeclaration = {
    name,
    version: optional(table, 'version', asText) ?? '',
    description: optional(table, 'description', asText) ?? '',
    command,
    required: optional(table, 'required', asFlag) ?? false,
    capabilities: optional(table, 'capabilities', asCapabilities) ?? [],
    env: optional(table, 'env', asEnvironment) ?? {},
    cwd: dir,
    restart: optional(table, 'restart', (value, key) => asOneOf(value, key, restartPolicies)),
    env_policy: optional(table, 'env_policy', (value, key) => asOneOf(value, key, environmentPolicies)),
    cancel: optional(table, 'cancel', asFlag),
  };
  if (name.trim() === '') throw new EngineError('config', 'plugin manifest: `name` must not be empty');
  if ((command[0] ?? '').trim() === '') {
    throw new EngineError('config', `plugin manifest \`${name}\`: \`command\` must name a program`);
  }
  return manifest;
}

function parseToml(text: string): object {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    if (!(error instanceof TomlError)) throw tomlError(messageOf(error));
    // why: the rest of the message is a drawing of the place, in several lines
    const [reason = ''] = error.message.split('\n');
    throw tomlError(`${reason} (line ${error.line}, column ${error.column})`);
  }
}

function tomlError(detail: string): EngineError {
  return new EngineError('config', `TOML error: ${detail}`);
}

type Read<T> = (value: unknown, key: string) => T;

function required<T>(table: object, key: string, read: Read<T>): T {
  const value = ownValue(table, key);
  if (value === undefined) throw tomlError(`missing key \`${key}\``);
  return read(value, key);
}

function optional<T>(table: object, key: string, read: Read<T>): T | undefined {
  const value = ownValue(table, key);
  return value === undefined ? undefined : read(value, key);
}

function asText(value: unknown, key: string): string {
  if (typeof value !== 'string') throw tomlError(`\`${key}\` must be a string`);
  return value;
}

function asTexts(value: unknown, key: string): readonly string[] {
  if (!Array.isArray(value)) throw tomlError(`\`${key}\` must be a list of strings`);
  return value.map((item) => asText(item, `${key}[]`));
}

function asFlag(value: unknown, key: string): boolean {
  if (typeof value !== 'boolean') throw tomlError(`\`${key}\` must be true or false`);
  return value;
}

function asOneOf<T extends string>(value: unknown, key: string, words: readonly T[]): T {
  const word = words.find((entry) => entry === value);
  if (word === undefined) throw tomlError(`\`${key}\` must be one of ${words.join(', ')}`);
  return word;
}

function asEnvironment(value: unknown, key: string): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) throw tomlError(`\`${key}\` must be a table of strings`);
  const entries = Object.entries(value).map(([name, item]) => [name, asText(item, `${key}.${name}`)] as const);
  return Object.fromEntries(entries);
}

/** A list of names, or a table of flags, which then keeps the protocol's order. Unknown names are ignored. */
function asCapabilities(value: unknown, key: string): readonly string[] {
  if (Array.isArray(value)) {
    const known: readonly string[] = capabilityNames;
    return asTexts(value, key).filter((name) => known.includes(name));
  }
  if (!isJsonObject(value)) throw tomlError(`\`${key}\` must be a list of names or a table of flags`);
  for (const [name, flag] of Object.entries(value)) asFlag(flag, `${key}.${name}`);
  return capabilityNames.filter((name) => ownValue(value, name) === true);
}
