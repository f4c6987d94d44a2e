import type { Clock, Logger } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import type { CompletionRequest, Provider, ProviderModule, ProviderRef } from '../protocol/model.ts';
import { anthropicExtraFrom, createAnthropicProvider } from './anthropic.ts';
import type { Fetch } from './http.ts';
import { createOllamaProvider, createOpenaiProvider } from './openai.ts';
import { openReplay } from './replay.ts';
import { createScriptedProvider } from './scripted.ts';
import { parseProviderSettings, type ProviderSettings } from './settings.ts';

export interface ProviderDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** A number in [0, 1), for the jitter of retries. */
  readonly random: () => number;
  readonly env: { readonly [name: string]: string | undefined };
  readonly logger: Logger;
  /** Kinds besides the built-in ones. */
  readonly kinds?: ReadonlyMap<string, ProviderKind>;
  /** Sees each request of a `mock` provider before it answers. */
  readonly onRequest?: (request: CompletionRequest) => void | Promise<void>;
}

/** How providers of one kind are made. */
export interface ProviderKind {
  /** The environment variable its key is read from when the table names none. */
  readonly keyVariable?: string;
  /** Keys of its table besides those that every kind knows. */
  readonly ownKeys?: readonly string[];
  /** Where a run thread finds a kind that is not built in; without it, runs with such providers stay on the main thread. */
  readonly module?: ProviderModule;
  /** Options of `extra` that the environment gives when the table does not; a thread has no environment of its own. */
  extraFrom?(env: ProviderDeps['env']): JsonObject;
  /** @throws EngineError `config` for settings it cannot work with; does no I/O */
  open(settings: ProviderSettings, deps: ProviderDeps): Provider;
}

/** The kind table: a new provider is one file and one line here. */
export const providerKinds: ReadonlyMap<string, ProviderKind> = new Map<string, ProviderKind>([
  ['anthropic', { keyVariable: 'ANTHROPIC_API_KEY', extraFrom: anthropicExtraFrom, open: createAnthropicProvider }],
  ['openai', { keyVariable: 'OPENAI_API_KEY', open: createOpenaiProvider }],
  ['ollama', { open: createOllamaProvider }],
  ['mock', { ownKeys: ['script', 'stream_words', 'supports_json_schema'], open: openMock }],
  ['replay', { ownKeys: ['recording', 'skip'], open: openReplay }],
]);

/**
 * Makes a provider from plain data, in whichever thread. It does no I/O: a wrong key or address shows at the first call.
 * @throws EngineError `config` for an unknown kind or wrong options
 */
export function openProvider(ref: ProviderRef, deps: ProviderDeps): Provider {
  const kind = findKind(ref.name, ref.kind, deps.kinds);
  return kind.open(parseProviderSettings(ref.name, ref.options, kind), deps);
}

/** @throws EngineError `config` naming the known kinds */
export function findKind(name: string, kind: string, more: ProviderDeps['kinds']): ProviderKind {
  const found = more?.get(kind) ?? providerKinds.get(kind);
  if (found !== undefined) return found;
  const known = [...new Set([...providerKinds.keys(), ...(more?.keys() ?? [])])].join(', ');
  throw new EngineError('config', `provider \`${name}\` has unknown kind \`${kind}\` (known kinds: ${known})`);
}

function openMock(settings: ProviderSettings, deps: ProviderDeps): Provider {
  const { script = settings.extra['script'] ?? [], stream_words: words, supports_json_schema: json } = settings.own;
  if (!Array.isArray(script) || !script.every(isJsonObject)) {
    throw new EngineError('config', `provider \`${settings.name}\`: \`script\` must be a list of tables`);
  }
  const { defaultModel } = settings;
  return createScriptedProvider(
    {
      script,
      name: settings.name,
      ...(defaultModel === undefined ? {} : { default_model: defaultModel }),
      supports_json_schema: json === true,
    },
    {
      clock: deps.clock,
      streamWords: words !== false,
      ...(deps.onRequest === undefined ? {} : { onRequest: deps.onRequest }),
    },
  );
}
