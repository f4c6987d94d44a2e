import { EngineError } from '../protocol/error.ts';
import type { Json } from '../protocol/json.ts';
import { type ModelRef, parseModelRef, type Provider, type ProviderRef } from '../protocol/model.ts';
import { findKind, openProvider, type ProviderDeps, providerKinds } from './provider.ts';
import { parseProviderSettings, type ProviderSettings, resolveApiKey } from './settings.ts';

/** A `[providers.<name>]` table. */
export type ProviderTable = { readonly [key: string]: Json | undefined };
export type ProviderTables = ReadonlyMap<string, ProviderTable> | { readonly [name: string]: ProviderTable };

export interface ResolvedModel {
  readonly provider: Provider;
  /** Empty = the provider's default model. */
  readonly model: string;
  readonly contextWindow: number | undefined;
  /** The provider as data, key included, for a run in another thread; absent for an object that cannot cross. */
  readonly ref: ProviderRef | undefined;
}

/** What a listing shows of a provider; no secret is part of it. */
export interface ProviderSummary {
  readonly name: string;
  /** `object` for a provider that was registered as one. */
  readonly kind: string;
  readonly default_model: string;
  readonly context_window: number | undefined;
  readonly base_url: string | undefined;
  /** Whether a key was found; absent for kinds that read none. */
  readonly has_key: boolean | undefined;
  /** The environment variable a key may come from. */
  readonly key_variable: string | undefined;
}

export interface Providers {
  /** Adds a provider made elsewhere, or replaces one of that name. */
  register(name: string, provider: Provider, options?: { readonly contextWindow?: number }): void;
  /**
   * The provider and model that a reference names; `default` or nothing stands for the provider's default model, no
   * reference at all for the default provider's.
   * @throws EngineError `config` for an unknown provider
   */
  resolve(model?: ModelRef | string, defaultProvider?: string): ResolvedModel;
  /** Their names, in order; makes none of them. */
  names(): readonly string[];
  list(): readonly ProviderSummary[];
  /**
   * Environment variables that configured providers read keys from, set or not. Child processes must not get them
   * (contract README, decision 9; reliability PL10).
   */
  keyVariables(): readonly string[];
}

/** Without any table these are configured. Source: agent-runtime section 15, "Registry". */
const usualProviders: ProviderTables = { anthropic: {}, openai: {}, ollama: {} };

/**
 * The providers of one engine, in the order of their tables; a table without `kind` has its own name as kind. Tables are
 * checked at once, providers made at their first use.
 * @throws EngineError `config` for an unknown kind or a wrong table
 */
export function createProviders(tables: ProviderTables | undefined, deps: ProviderDeps): Providers {
  const entries = new Map<string, Entry>();
  for (const [name, table] of entriesOf(tables)) entries.set(name, createEntry(name, table, deps));

  return {
    register: (name, provider, options) => {
      checkName(name);
      entries.set(name, {
        kind: 'object',
        settings: undefined,
        contextWindow: options?.contextWindow,
        provider: () => provider,
        ref: provider.ref === undefined ? undefined : () => provider.ref?.(),
      });
    },
    resolve: (model, defaultProvider) => {
      const usual = defaultProvider ?? [...entries.keys()][0] ?? '';
      const wanted = typeof model === 'object' ? model : parseModelRef(model ?? '', usual);
      const entry = entries.get(wanted.provider);
      if (entry === undefined) throw unknownProvider(wanted, model, [...entries.keys()]);
      return {
        provider: entry.provider(),
        model: wanted.model === 'default' ? '' : wanted.model,
        contextWindow: entry.contextWindow,
        ref: entry.ref?.(),
      };
    },
    names: () => [...entries.keys()],
    list: () => [...entries].map(([name, entry]) => summarise(name, entry, deps)),
    keyVariables: () => {
      const names = [...entries.values()].map((entry) => entry.settings?.keyVariable);
      return [...new Set(names.filter((name) => name !== undefined))];
    },
  };
}

interface Entry {
  readonly kind: string;
  readonly settings: ProviderSettings | undefined;
  readonly contextWindow: number | undefined;
  readonly provider: () => Provider;
  readonly ref: (() => ProviderRef | undefined) | undefined;
}

function entriesOf(tables: ProviderTables | undefined): readonly (readonly [string, ProviderTable])[] {
  const given = tables instanceof Map ? [...tables] : Object.entries(tables ?? {});
  return given.length > 0 ? given : Object.entries(usualProviders);
}

function createEntry(name: string, table: ProviderTable, deps: ProviderDeps): Entry {
  checkName(name);
  const { kind: kindName = name, ...options } = table;
  if (typeof kindName !== 'string') throw new EngineError('config', `provider \`${name}\`: \`kind\` must be text`);
  const kind = findKind(name, kindName, deps.kinds);
  const settings = parseProviderSettings(name, options, kind);
  let opened: Provider | undefined;
  return {
    kind: kindName,
    settings,
    contextWindow: settings.contextWindow,
    provider: () => (opened ??= openProvider({ name, kind: kindName, options }, deps)),
    // why: the environment of this process is not the thread's to read, so the key travels with the job that needs it
    ref: () => {
      // a provider that knows itself as data also knows how far it is
      const own = opened?.ref?.();
      if (own !== undefined) return own;
      const isBuiltIn = providerKinds.get(kindName) === kind;
      if (!isBuiltIn && kind.module === undefined) return undefined;
      const key = resolveApiKey(settings, deps.env);
      const extra = { ...kind.extraFrom?.(deps.env), ...settings.extra };
      return {
        name,
        kind: kindName,
        options: { ...options, extra, ...(key === undefined ? {} : { api_key: key }) },
        ...(kind.module === undefined ? {} : { module: kind.module }),
      };
    },
  };
}

function checkName(name: string): void {
  if (name === '' || name.includes('/')) {
    throw new EngineError('config', `provider name \`${name}\` must not be empty and must hold no \`/\``);
  }
}

function unknownProvider(
  wanted: ModelRef,
  model: ModelRef | string | undefined,
  names: readonly string[],
): EngineError {
  const text = typeof model === 'string' ? model : `${wanted.provider}/${wanted.model}`;
  return new EngineError(
    'config',
    `unknown provider \`${wanted.provider}\` for model \`${text}\` (configured: ${names.join(', ')})`,
    { code: 'not_found' },
  );
}

function summarise(name: string, entry: Entry, deps: ProviderDeps): ProviderSummary {
  const { settings } = entry;
  const readsKey = settings?.keyVariable !== undefined || settings?.apiKey !== undefined;
  return {
    name,
    kind: entry.kind,
    default_model: entry.provider().info().default_model,
    context_window: entry.contextWindow,
    base_url: settings?.baseUrl,
    has_key: settings !== undefined && readsKey ? resolveApiKey(settings, deps.env) !== undefined : undefined,
    key_variable: settings?.keyVariable,
  };
}
