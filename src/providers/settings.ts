import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { type HttpLimits, parseHttpLimits } from './limits.ts';

/** One provider as it is configured: a `[providers.<name>]` table without its `kind`, read and checked. */
export interface ProviderSettings {
  readonly name: string;
  readonly apiKey: string | undefined;
  /** The environment variable the key is read from when the table holds none. */
  readonly keyVariable: string | undefined;
  /** Without a trailing slash. */
  readonly baseUrl: string | undefined;
  readonly defaultModel: string | undefined;
  readonly contextWindow: number | undefined;
  readonly stream: boolean;
  readonly extra: JsonObject;
  readonly limits: HttpLimits;
  /** Keys that belong to the kind alone. */
  readonly own: { readonly [key: string]: unknown };
}

const commonKeys: ReadonlySet<string> = new Set([
  'kind',
  'api_key',
  'api_key_env',
  'base_url',
  'default_model',
  'context_window',
  'stream',
  'extra',
]);

/**
 * Reads a provider table.
 * @param kind its kind's variable for the key, and the keys that only this kind knows
 * @throws EngineError `config` naming the provider and the key
 */
export function parseProviderSettings(
  name: string,
  table: { readonly [key: string]: unknown },
  kind: { readonly keyVariable?: string | undefined; readonly ownKeys?: readonly string[] | undefined },
): ProviderSettings {
  const where = `provider \`${name}\``;
  const own: Record<string, unknown> = {};
  for (const key of Object.keys(table)) {
    if (kind.ownKeys?.includes(key) === true) own[key] = table[key];
    else if (!commonKeys.has(key)) throw new EngineError('config', `${where}: unknown key \`${key}\``);
  }
  const { extra = {}, stream = true } = table;
  if (!isJsonObject(extra)) throw wrongType(where, 'extra', 'a table');
  const { limits } = extra;
  if (limits !== undefined && !isJsonObject(limits)) throw wrongType(where, 'extra.limits', 'a table');
  if (typeof stream !== 'boolean') throw wrongType(where, 'stream', 'true or false');
  return {
    name,
    apiKey: checkKey(where, readText(where, table, 'api_key')),
    keyVariable: readText(where, table, 'api_key_env') ?? kind.keyVariable,
    baseUrl: readBaseUrl(where, readText(where, table, 'base_url')),
    defaultModel: readText(where, table, 'default_model'),
    contextWindow: readWindow(where, table['context_window']),
    stream,
    extra,
    limits: parseHttpLimits(limits, where),
    own,
  };
}

/**
 * The key of a provider: its table's, else the variable's. An empty value is no key.
 * @throws EngineError `config` when the value cannot be a header
 */
export function resolveApiKey(
  settings: ProviderSettings,
  env: { readonly [name: string]: string | undefined },
): string | undefined {
  if (settings.apiKey !== undefined) return settings.apiKey;
  if (settings.keyVariable === undefined || !Object.hasOwn(env, settings.keyVariable)) return undefined;
  const value = env[settings.keyVariable]?.trim() ?? '';
  return value === '' ? undefined : checkKey(`variable \`${settings.keyVariable}\``, value);
}

/** A base URL with a path below it; its query, if it has one, stays behind. */
export function endpoint(baseUrl: string, path: string): string {
  const query = baseUrl.indexOf('?');
  if (query < 0) return baseUrl + path;
  return `${baseUrl.slice(0, query).replace(/\/+$/, '')}${path}${baseUrl.slice(query)}`;
}

/** Text of a table; empty counts as absent. */
function readText(where: string, table: { readonly [key: string]: unknown }, key: string): string | undefined {
  const value = table[key];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw wrongType(where, key, 'text');
  return value.trim() === '' ? undefined : value.trim();
}

function readBaseUrl(where: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw wrongType(where, 'base_url', 'an http or https URL');
  if (url.username !== '' || url.password !== '') {
    throw new EngineError('config', `${where}: \`base_url\` must hold no user name and no password; use \`api_key\``);
  }
  return text.replace(/\/+$/, '');
}

function readWindow(where: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
  throw wrongType(where, 'context_window', 'a whole number, 1 or more');
}

function checkKey(where: string, key: string | undefined): string | undefined {
  // why: `fetch` would refuse the header with a message that holds the key
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return key;
  throw new EngineError('config', `${where}: the API key holds characters that cannot be sent`);
}

function wrongType(where: string, key: string, what: string): EngineError {
  return new EngineError('config', `${where}: \`${key}\` must be ${what}`);
}
