import type { ModelPrice } from '../agent/budget.ts';
import { type Config, defaultConfig } from '../config/schema.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { parseModelRef } from '../protocol/model.ts';
import type { ProviderDeps } from '../providers/provider.ts';
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
  priceOf(model: string): ModelPrice | undefined;
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
    priceOf(model) {
      const given = options.prices;
      if (given !== undefined && Object.hasOwn(given, model)) return given[model];
      const prices = config.prices ?? {};
      const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
      if (price === undefined) return undefined;
      const { input = 0, output = 0, cache_read: cacheRead = 0, cache_write: cacheWrite = 0 } = price;
      return { input, output, cacheRead, cacheWrite };
    },
  };
}
