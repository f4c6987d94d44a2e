import { effectiveMaxTokens, thinkingBudgets } from '../protocol/agent.ts';
import { type Cancellation, signalSource, withLazySignal } from '../protocol/cancellation.ts';
import type { CompletionRequest } from '../protocol/model.ts';
import type { OfferedTools, RunSettings } from './ports.ts';

/** What one model call is about, besides the settings of its run. */
export interface Asked {
  readonly system: string;
  readonly offered: Pick<OfferedTools, 'tools'>;
  readonly messages: CompletionRequest['messages'];
  readonly cancellation: Cancellation;
}

/** The request of one model call of a session. Its signal is made when somebody looks at it. */
export function toRequest(
  { spec, model, responseSchema }: RunSettings,
  { system, offered, messages, cancellation }: Asked,
): CompletionRequest {
  // why: one literal and not by spreading, which makes V8 give every request a shape of its own
  const request: UnsignalledRequest = {
    model,
    system,
    tools: offered.tools,
    max_tokens: effectiveMaxTokens(spec.max_tokens, spec.thinking),
    cache_turns: true,
    messages,
    [signalSource]: cancellation,
  };
  const budgetTokens = thinkingBudgets[spec.thinking];
  if (budgetTokens !== undefined) request.thinking_budget = budgetTokens;
  if (responseSchema !== undefined) request.response_schema = responseSchema;
  return withLazySignal(request);
}

type UnsignalledRequest = {
  -readonly [Field in keyof CompletionRequest as Field extends 'signal' ? never : Field]: CompletionRequest[Field];
} & { readonly [signalSource]: Cancellation };
