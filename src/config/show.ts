import { isJsonObject } from '../protocol/json.ts';
import { isJoinedList, mergeConfig } from './merge.ts';
import type { Config } from './schema.ts';
import { toDotted } from './toml-file.ts';

/** One layer of configuration under the name a user knows it by; later layers win. */
export interface NamedLayer {
  readonly source: string;
  readonly config: Config;
}

/** One value of a merged configuration. */
export interface ShownValue {
  /** Header of its table as it stands in TOML, `""` at the top. */
  readonly table: string;
  readonly key: string;
  /** Dotted path. */
  readonly name: string;
  /** Secrets are `***`. */
  readonly value: unknown;
  /** The layer it comes from; several for a list that layers add to. */
  readonly sources: readonly string[];
}

/** Every value in effect and where it comes from, in the order of the configuration page. */
export function listValues(layers: readonly NamedLayer[]): readonly ShownValue[] {
  const merged = layers.map((layer) => layer.config).reduce(mergeConfig, {});
  const byLayer = layers.map(({ source, config }) => ({ source, names: new Map(toEntries(config)) }));
  return toEntries(merged).map(([name, entry]) => {
    const having = byLayer.filter(({ names }) => names.has(name));
    const adding = having.filter(({ names }) => !isEmptyList(names.get(name)?.value));
    const used = isJoinedList(name) && adding.length > 0 ? adding : having.slice(-1);
    return { ...entry, value: maskSecret(name, entry.value), sources: used.map(({ source }) => source) };
  });
}

/** The values as a TOML file; `comment` is put behind each, or nothing where it is empty. */
export function toToml(values: readonly ShownValue[], comment: (value: ShownValue) => string): string {
  let text = '';
  let table = '';
  for (const value of values) {
    if (value.table !== table) {
      table = value.table;
      text += `${text === '' ? '' : '\n'}${table}\n`;
    }
    const behind = comment(value);
    text += `${toTomlKey(value.key)} = ${toTomlValue(value.value)}${behind === '' ? '' : `  # ${behind}`}\n`;
  }
  return text;
}

type Entry = Pick<ShownValue, 'table' | 'key' | 'name' | 'value'>;

/** By name that identifies a value across layers: a plugin is known by its own name, not by its place in the list. */
function toEntries(config: Config): readonly (readonly [string, Entry])[] {
  const found: (readonly [string, Entry])[] = [];
  const add = (table: string, path: readonly string[], values: object): void => {
    for (const [key, value] of Object.entries(values)) {
      if (value === undefined) continue;
      const name = toDotted([...path, key]);
      found.push([name, { table, key, name, value }]);
    }
  };
  const addTables = (top: string, tables: { readonly [name: string]: object } | undefined): void => {
    for (const [name, table] of Object.entries(tables ?? {})) add(`[${toDotted([top, name])}]`, [top, name], table);
  };

  if (config.model !== undefined) add('', [], { model: config.model });
  addTables('phases', config.phases);
  addTables('providers', config.providers);
  for (const plugin of config.plugins ?? []) add('[[plugins]]', ['plugins', plugin.name], plugin);
  add('[security]', ['security'], config.security ?? {});
  const { agents, ...rules } = config.rules ?? {};
  add('[rules]', ['rules'], rules);
  for (const [role, lists] of Object.entries(agents ?? {}))
    add(`[${toDotted(['rules', 'agents', role])}]`, ['rules', 'agents', role], lists);
  add('[budget]', ['budget'], config.budget ?? {});
  addTables('prices', config.prices);
  add('[limits]', ['limits'], config.limits ?? {});
  return found;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

const looksSecret = /key|token|secret|password|authorization/i;

function maskSecret(name: string, value: unknown): unknown {
  const key = name.slice(name.lastIndexOf('.') + 1);
  if (key === 'api_key') return '***';
  if (key === 'env' && isJsonObject(value)) return mapValues(value, () => '***');
  return key === 'extra' ? maskInside(value, false) : value;
}

function maskInside(value: unknown, isSecret: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => maskInside(item, isSecret));
  if (!isJsonObject(value)) return isSecret ? '***' : value;
  return mapValues(value, (item, key) => maskInside(item, isSecret || key === 'headers' || looksSecret.test(key)));
}

function mapValues(table: object, map: (value: unknown, key: string) => unknown): object {
  return Object.fromEntries(Object.entries(table).map(([key, value]: [string, unknown]) => [key, map(value, key)]));
}

function toTomlKey(key: string): string {
  return toDotted([key]);
}

function toTomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toTomlValue).join(', ')}]`;
  if (isJsonObject(value)) {
    const pairs = Object.entries(value).map(([key, item]) => `${toTomlKey(key)} = ${toTomlValue(item)}`);
    return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
  }
  if (typeof value !== 'string') return String(value);
  // JSON's escapes are TOML's, but for what JSON leaves as it is
  return JSON.stringify(value).replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
