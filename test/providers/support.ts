import { silentLogger } from '../../src/protocol/deps.ts';
import type { Json } from '../../src/protocol/json.ts';
import { userText } from '../../src/protocol/message.ts';
import type { CompletionRequest, Provider } from '../../src/protocol/model.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { openProvider, type ProviderDeps } from '../../src/providers/provider.ts';

/** Real fetch and clock, no environment, no wait between attempts unless the server asks for one. */
export function testDeps(changes: Partial<ProviderDeps> = {}): ProviderDeps {
  return { fetch, clock: systemClock, random: () => 0.5, env: {}, logger: silentLogger, ...changes };
}

export interface OpenOptions {
  readonly kind: string;
  readonly baseUrl?: string;
  readonly limits?: { readonly [key: string]: number };
  readonly extra?: { readonly [key: string]: Json };
  readonly deps?: Partial<ProviderDeps>;
}

export function open({ kind, baseUrl, limits, extra, deps }: OpenOptions): Provider {
  const table = { api_key: 'sk-test-0123456789', extra: { ...extra, limits: { retry_base_ms: 0, ...limits } } };
  const options = baseUrl === undefined ? table : { ...table, base_url: baseUrl };
  return openProvider({ name: kind, kind, options }, testDeps(deps));
}

export function ask(text: string, changes: Partial<CompletionRequest> = {}): CompletionRequest {
  return { model: '', system: '', messages: [userText(text)], tools: [], max_tokens: 1024, ...changes };
}
