import type { Clock } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import type { Json } from '../protocol/json.ts';
import { systemClock } from '../protocol/signal.ts';
import type {
  CompletionRequest,
  CompletionResponse,
  OnDelta,
  Provider,
  ProviderInfo,
  StreamDelta,
} from '../protocol/model.ts';
import type { Message } from '../protocol/message.ts';
import { parseScriptEntry, type ScriptEntry } from './script-entry.ts';

/** What a scripted provider is made from: plain data, so it crosses to a run thread. */
export interface ScriptedData {
  /** Entries as in the agent vectors' README; each call consumes the next one. */
  readonly script: readonly unknown[];
  /** Default `scripted`. */
  readonly default_model?: string;
  /** Default `scripted`. */
  readonly name?: string;
  /** What `info()` says about native JSON schemas; default false. */
  readonly supports_json_schema?: boolean;
}

export interface ScriptedOptions {
  /** Sees a copy of each request before it is answered; awaited when it returns a promise. */
  readonly onRequest?: (request: CompletionRequest) => void | Promise<void>;
  readonly clock?: Clock;
  /** Answers without written-down deltas are streamed word by word (kind `mock`); default false. */
  readonly streamWords?: boolean;
}

export type ScriptedProvider = Provider & {
  /** Script entries not consumed yet. */
  remaining(): number;
};

/**
 * A provider that answers from a script, for tests and for trying things out without a key. An exhausted script fails
 * with kind `other`; an aborted call with kind `cancelled`.
 * @throws EngineError `config` when an entry cannot be read
 */
export function createScriptedProvider(data: ScriptedData, options: ScriptedOptions = {}): ScriptedProvider {
  const entries = data.script.map((entry, index) => parseScriptEntry(entry, index + 1));
  const clock = options.clock ?? systemClock;
  const info: ProviderInfo = {
    name: data.name ?? 'scripted',
    supports_tools: true,
    supports_thinking: true,
    supports_json_schema: data.supports_json_schema ?? false,
    default_model: data.default_model ?? 'scripted',
  };
  let next = 0;

  async function play(request: CompletionRequest, onDelta: OnDelta | undefined): Promise<CompletionResponse> {
    const entry = entries[next];
    next += entry === undefined ? 0 : 1;
    await options.onRequest?.(copyOf(request));
    if (entry === undefined) throw new EngineError('other', 'scripted provider: script exhausted');
    if (entry.delayMs > 0 && request.signal?.aborted !== true) {
      await clock.sleep(entry.delayMs, request.signal).catch((cause: unknown) => {
        throw request.signal?.aborted === true ? cancelled(cause) : cause;
      });
    }
    if (request.signal?.aborted === true) throw cancelled(request.signal.reason);
    if (onDelta !== undefined) {
      for (const delta of deltasOf(entry, options.streamWords ?? false)) onDelta(delta);
    }
    return outcomeOf(entry, request.model === '' ? info.default_model : request.model);
  }

  return {
    info: () => info,
    complete: (request) => play(request, undefined),
    completeStreaming: (request, onDelta) => play(request, onDelta),
    healthCheck: () => Promise.resolve(),
    ref: () => ({
      name: info.name,
      kind: 'mock',
      options: {
        // why: what was played is played for all who share the script, wherever the next run executes
        script: data.script.slice(next) as readonly Json[],
        default_model: info.default_model,
        stream_words: options.streamWords ?? false,
        supports_json_schema: info.supports_json_schema === true,
      },
    }),
    // in a run thread another instance answers; this one keeps the count
    async onRequest(request) {
      if (next < entries.length) next += 1;
      await options.onRequest?.(copyOf(request));
    },
    remaining: () => entries.length - next,
  };
}

function outcomeOf({ outcome }: ScriptEntry, model: string): CompletionResponse {
  if (outcome.kind === 'failure') {
    const { retryAfterMs } = outcome;
    throw new EngineError(outcome.errorKind, outcome.text, retryAfterMs === undefined ? {} : { retryAfterMs });
  }
  return { message: outcome.message, stop_reason: outcome.stopReason, usage: outcome.usage, model };
}

function deltasOf(entry: ScriptEntry, streamWords: boolean): readonly StreamDelta[] {
  if (entry.deltas !== undefined) return entry.deltas;
  return streamWords && entry.outcome.kind === 'answer' ? wordsOf(entry.outcome.message) : [];
}

function wordsOf(message: Message): readonly StreamDelta[] {
  const deltas: StreamDelta[] = [];
  for (const block of message.content) {
    if (block.type !== 'text' && block.type !== 'thinking') continue;
    for (const text of block.text.match(/\s*\S+|\s+$/g) ?? []) deltas.push({ kind: block.type, text });
  }
  return deltas;
}

/** A snapshot: later changes of the caller's arrays do not reach it. The signal cannot be cloned and is passed as it is. */
function copyOf(request: CompletionRequest): CompletionRequest {
  const { signal, ...data } = request;
  const copy = structuredClone(data);
  return signal === undefined ? copy : { ...copy, signal };
}

function cancelled(cause: unknown): EngineError {
  return new EngineError('cancelled', 'the model call was cancelled', { cause });
}
