import { type Clock, type Logger, silentLogger } from '../protocol/deps.ts';
import { EngineError, isEngineError, messageOf } from '../protocol/error.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import type { CompletionRequest, CompletionResponse, OnDelta, Provider, ProviderInfo } from '../protocol/model.ts';
import { systemClock, untilAborted } from '../protocol/signal.ts';
import { createAiSdkAssembler, type AiSdkAnswer } from './ai-sdk-answer.ts';
import { toCallOptions } from './ai-sdk-prompt.ts';
import { createAttempts } from './attempts.ts';
import { classifyHttpFailure } from './classify.ts';
import { createGuard } from './guard.ts';
import { defaultHttpLimits, type HttpLimits } from './limits.ts';
import { cancelledCall, parseRetryAfter } from './retry.ts';
import { scrubSecrets } from './scrub.ts';
import { createSignedThinkingCache, firstCallIdOf } from './signed-thinking.ts';
import { transportError } from './transport-error.ts';

/** A language model of the AI SDK, specification v3 or v4, by its shape alone. */
export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doStream(options: object): PromiseLike<{ readonly stream: AiSdkStream }>;
}

export interface AiSdkStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: unknown }>;
    cancel(reason?: unknown): Promise<void>;
  };
}

export interface AiSdkOptions {
  /** Default: the model's provider name. */
  readonly name?: string;
  /** Whether the model takes a JSON Schema for its answer; default false. */
  readonly supportsJsonSchema?: boolean;
  /** Sent with each call, by provider name, as the AI SDK documents them. */
  readonly providerOptions?: JsonObject;
  readonly limits?: Partial<HttpLimits>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
}

/**
 * A provider around one AI SDK model. It answers for that model only; another model id is refused.
 * @throws EngineError `config` when the object is no such model
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Provider {
  const version = model.specificationVersion;
  if ((version !== 'v3' && version !== 'v4') || typeof model.doStream !== 'function') {
    throw new EngineError('config', `an AI SDK model of specification v3 or v4 is needed, not ${String(version)}`);
  }
  const limits: HttpLimits = { ...defaultHttpLimits, ...options.limits };
  const clock = options.clock ?? systemClock;
  const remembered = createSignedThinkingCache((block) =>
    typeof block['text'] === 'string' ? block['text'].toWellFormed() : '',
  );
  const info: ProviderInfo = {
    name: options.name ?? model.provider,
    supports_tools: true,
    supports_thinking: version === 'v4',
    supports_json_schema: options.supportsJsonSchema ?? false,
    default_model: model.modelId,
  };

  const attempts = createAttempts({
    name: info.name,
    limits,
    clock,
    random: options.random ?? Math.random,
    logger: options.logger ?? silentLogger,
  });

  async function stream(request: CompletionRequest, callOptions: JsonObject, onDelta: OnDelta): Promise<AiSdkAnswer> {
    using guard = createGuard(request.signal, {
      total: {
        ms: limits.streamMs,
        message: `request timed out: the stream took longer than ${limits.streamMs / 1000} seconds`,
      },
      silence: { ms: limits.silenceMs, message: `the stream stayed silent for ${limits.silenceMs / 1000} seconds` },
    });
    const assembler = createAiSdkAssembler(onDelta, model.modelId);
    try {
      const pending = Promise.resolve(model.doStream({ ...callOptions, abortSignal: guard.signal }));
      const reader = (await untilAborted(pending, guard.signal)).stream.getReader();
      const stop = (): void => void reader.cancel().catch(() => {});
      guard.signal.addEventListener('abort', stop, { once: true });
      try {
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          guard.sawBytes();
          assembler.take(next.value);
        }
      } finally {
        guard.signal.removeEventListener('abort', stop);
        stop();
      }
      const failure = guard.failure();
      if (failure !== undefined) throw failure;
      return assembler.finish();
    } catch (error) {
      throw guard.failure() ?? toModelError(error, info.name, clock.now());
    }
  }

  async function call(request: CompletionRequest, onDelta: OnDelta | undefined): Promise<CompletionResponse> {
    if (request.signal?.aborted === true) throw cancelledCall(request.signal.reason);
    if (request.model !== '' && request.model !== model.modelId) {
      const message = `provider \`${info.name}\` answers for model \`${model.modelId}\` only, not \`${request.model}\``;
      throw new EngineError('invalid_request', message);
    }
    const callOptions = toCallOptions(request, version, remembered, model.modelId, options.providerOptions ?? {});
    const { signal } = request;
    const answer =
      onDelta === undefined
        ? await attempts.repeat(signal, () => stream(request, callOptions, () => {}))
        : await attempts.repeatStreaming(signal, onDelta, (pass) => stream(request, callOptions, pass));
    const firstCall = firstCallIdOf(answer.response.message);
    if (firstCall !== undefined) remembered.remember(firstCall, answer.remembered);
    return answer.response;
  }

  return {
    info: () => info,
    complete: (request) => call(request, undefined),
    completeStreaming: call,
    healthCheck: () => Promise.resolve(),
    signedThinking: remembered,
  };
}

/** What a model threw: AI SDK errors carry status, body and headers of the answer they stand for. */
function toModelError(error: unknown, name: string, nowMs: number): EngineError {
  if (isEngineError(error)) return error;
  const facts: { readonly [key: string]: unknown } = typeof error === 'object' && error !== null ? { ...error } : {};
  const { statusCode: status, responseBody: body, responseHeaders: headers, isRetryable } = facts;
  const text = scrubSecrets(messageOf(error));
  if (typeof status === 'number') {
    const header = isJsonObject(headers) ? headers['retry-after'] : undefined;
    return classifyHttpFailure({
      status,
      body: typeof body === 'string' && body.trim() !== '' ? body : text,
      retryAfterMs: parseRetryAfter(typeof header === 'string' ? header : undefined, nowMs),
    });
  }
  if (error instanceof Error && error.name === 'AI_LoadAPIKeyError') return new EngineError('auth_failed', text);
  if (isRetryable === true) return new EngineError('network', `transport error: ${text}`, { cause: error });
  if (error instanceof TypeError) {
    return transportError(error, { url: '', wayOut: `check the network of provider \`${name}\``, secrets: [] });
  }
  return new EngineError('other', text, { cause: error });
}
