import type { Json, JsonObject } from './json.ts';
import type { Message, Usage } from './message.ts';
import type { ToolSpec } from './tool.ts';

/** Why a model stopped writing. */
export type StopReason = 'end_turn' | 'tool_use' | 'max_tokens' | 'stop_sequence' | 'other';

/** One model call, provider-neutral. */
export interface CompletionRequest {
  /** Model id; empty means the provider's default model. */
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** Output budget in tokens. */
  readonly max_tokens: number;
  readonly temperature?: number;
  /** Thinking budget in tokens; absent means no thinking. */
  readonly thinking_budget?: number;
  readonly stop_sequences?: readonly string[];
  /** Opaque provider options; never override a computed field. */
  readonly extra?: JsonObject;
  /** Ends the call early; the provider then rejects with kind `cancelled`. */
  readonly signal?: AbortSignal;
  /** Mark the last turns for the provider's prompt cache; agent runs set it. */
  readonly cache_turns?: boolean;
  /** JSON Schema the answer must follow, for providers that have native support. */
  readonly response_schema?: JsonObject;
}

export interface CompletionResponse {
  readonly message: Message;
  readonly stop_reason: StopReason;
  readonly usage: Usage;
  /** The model that answered, as the provider names it. */
  readonly model: string;
}

/** A piece of an answer while it streams: a preview, never the truth. */
export interface StreamDelta {
  readonly kind: 'text' | 'thinking';
  readonly text: string;
}

export type OnDelta = (delta: StreamDelta) => void;

export interface ProviderInfo {
  readonly name: string;
  readonly supports_tools: boolean;
  readonly supports_thinking: boolean;
  readonly supports_json_schema?: boolean;
  /** Whether its `input_tokens` count those read from its cache as well; default false. */
  readonly input_includes_cached?: boolean;
  readonly default_model: string;
}

/** Opaque blocks a provider wants back unchanged: the thinking of one assistant turn. Plain JSON, so a run can store it. */
export interface SignedThinking {
  readonly blocks: readonly JsonObject[];
  /** For each block, how many other blocks (text, tool calls) stood before it; absent = none before any. */
  readonly before?: readonly number[];
  /** The model that wrote them; absent = any. */
  readonly model?: string;
}

/** Signed thinking by the id of the first tool call of its turn (agent-runtime 18.10). */
export interface SignedThinkingStore {
  get(firstCallId: string): SignedThinking | undefined;
  set(firstCallId: string, thinking: SignedThinking): void;
}

/** Turns a request into a response; knows nothing of agents or tools. Failures are rejections with an `EngineError`. */
export interface Provider {
  info(): ProviderInfo;
  complete(request: CompletionRequest): Promise<CompletionResponse>;
  /** The response is always whole; deltas are a preview. */
  completeStreaming(request: CompletionRequest, onDelta: OnDelta): Promise<CompletionResponse>;
  /** The provider as data, for a run in another thread; absent when it cannot cross. */
  ref?(): ProviderRef;
  /** Sees each request of a run before it is answered, on the main thread also when the run executes elsewhere. */
  readonly onRequest?: ((request: CompletionRequest) => void | Promise<void>) | undefined;
  /** Rejects with the reason when the provider cannot be used now. */
  healthCheck(signal?: AbortSignal): Promise<void>;
  /** Present when the provider replays signed thinking: a durable run reads it after each answer and gives it back on resume. */
  readonly signedThinking?: SignedThinkingStore;
}

/**
 * A provider as plain data, so that a run can be executed in another thread. `kind` names an entry of the provider
 * kind table; `options` are that kind's settings. An API key is part of it only when the job needs it.
 */
export interface ProviderRef {
  readonly name: string;
  readonly kind: string;
  readonly options: { readonly [key: string]: Json | undefined };
  /** Where another thread finds the kind when it is not a built-in one. */
  readonly module?: ProviderModule;
}

/** An export of a module that holds a provider kind. */
export interface ProviderModule {
  /** File URL (`import.meta.url` of the module). */
  readonly url: string;
  readonly export: string;
}

/** `provider/model`; see agent-runtime section 1, ModelRef. */
export interface ModelRef {
  readonly provider: string;
  readonly model: string;
}

/**
 * Splits at the first `/`. Without one, or with nothing before it, the whole text is a model of the default provider;
 * `provider/` selects that provider's default model (empty model id).
 */
export function parseModelRef(text: string, defaultProvider: string): ModelRef {
  const slash = text.indexOf('/');
  if (slash <= 0) return { provider: defaultProvider, model: text };
  return { provider: text.slice(0, slash), model: text.slice(slash + 1) };
}
