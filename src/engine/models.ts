import type { ModelPrice } from '../agent/budget.ts';
import { type Config, defaultConfig } from '../config/schema.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { parseModelRef } from '../protocol/model.ts';
import type { ProviderDeps } from '../providers/provider.ts';
import { toAnthropicModel } from '../providers/anthropic-body.ts';
import { createProviders, type Providers } from '../providers/registry.ts';
import type { ChosenModel } from './chosen-model.ts';
import type { EngineOptions, RunOptions } from './options.ts';

/** Which provider and model a run gets. */
export interface Models {
  readonly providers: Providers;
  /**
   * The run's own model, else the agent's fixed one, else its phase's, else the engine's default.
   * @throws EngineError `config` for an unknown provider or phase
   */
  choose(spec: AgentSpec, options: RunOptions): ChosenModel;
  /** The spec with the thinking level its phase asks for. @throws EngineError `config` for an unknown phase */
  applyPhase(spec: AgentSpec, phase: string | undefined): AgentSpec;
  /** What its tokens cost; nothing when no price is known. */
  priceOf(chosen: Pick<ChosenModel, 'provider' | 'model'>): ModelPrice | undefined;
}

/** @throws EngineError `config` for a wrong provider table */
export function createModels(options: EngineOptions, config: Config, deps: ProviderDeps): Models {
  const kinds = new Map(Object.entries(options.providerKinds ?? {}));
  const providers = createProviders(config.providers ?? defaultConfig.providers, { ...deps, kinds });
  for (const [name, provider] of Object.entries(options.providers ?? {})) providers.register(name, provider);
  const own = options.provider;
  const ownName = own === undefined ? undefined : own.info().name;
  if (own !== undefined && ownName !== undefined) providers.register(ownName, own);
  const defaultModel = options.model ?? config.model ?? (own === undefined ? defaultConfig.model : undefined) ?? '';
  const defaultProvider = ownName ?? parseModelRef(defaultModel, '').provider;

  function phaseOf(name: string | undefined): NonNullable<Config['phases']>[string] {
    if (name === undefined) return {};
    const phases = config.phases ?? {};
    if (Object.hasOwn(phases, name)) return phases[name] ?? {};
    const known = Object.keys(phases).join(', ');
    throw new EngineError('config', `unknown phase \`${name}\` (configured: ${known === '' ? 'none' : known})`);
  }

  return {
    providers,
    choose(spec, run) {
      if (run.provider !== undefined)
        return { provider: run.provider, model: run.model ?? '', ref: run.provider.ref?.() };
      const fixed = spec.model === 'phase' ? undefined : `${spec.model.fixed.provider}/${spec.model.fixed.model}`;
      const wanted = run.model ?? fixed ?? phaseOf(run.phase).model ?? defaultModel;
      const { provider } = parseModelRef(wanted, '');
      // why: model ids of a provider given as an object may hold a `/` of their own
      const isConfigured = providers.names().includes(provider);
      if (own !== undefined && !isConfigured) return { provider: own, model: wanted, ref: own.ref?.() };
      return providers.resolve(wanted, defaultProvider === '' ? undefined : defaultProvider);
    },
    applyPhase(spec, name) {
      const { thinking } = phaseOf(name);
      return thinking === undefined ? spec : { ...spec, thinking };
    },
    priceOf: ({ provider, model }) => {
      const info = provider.info();
      const name = model === '' ? info.default_model : model;
      const price = findPrice([`${info.name}/${name}`, name, toAnthropicModel(name)], options, config);
      return price === undefined || info.input_includes_cached !== true
        ? price
        : { ...price, inputIncludesCached: true };
    },
  };
}

/** The first of the names that has a price: the caller's over the configuration's over the built-in ones, key by key. */
function findPrice(names: readonly string[], options: EngineOptions, config: Config): ModelPrice | undefined {
  for (const name of names) {
    const given = own(options.prices, name);
    const configured = { ...own(defaultConfig.prices, name), ...own(config.prices, name) };
    const { input = configured.input, output = configured.output } = given ?? {};
    if (input === undefined && output === undefined) continue;
    const {
      // why: a budget that is too careful ends a run early, one that counts nothing for cached tokens ends none
      cacheRead = configured.cache_read ?? input ?? 0,
      cacheWrite = configured.cache_write ?? input ?? 0,
    } = given ?? {};
    return { input: input ?? 0, output: output ?? 0, cacheRead, cacheWrite };
  }
  return undefined;
}

function own<T>(table: { readonly [name: string]: T } | undefined, name: string): T | undefined {
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
}
