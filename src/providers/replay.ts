import { readFileSync } from 'node:fs';
import { EngineError, type ErrorCode, errorKinds, errorReasons, isEngineError, messageOf } from '../protocol/error.ts';
import { isJsonObject, type Json, ownValue } from '../protocol/json.ts';
import type { CompletionRequest, CompletionResponse, OnDelta, Provider, ProviderInfo } from '../protocol/model.ts';
import { parseRecording, readAnswer, type RecordedCall, type Recording, toRecordedRequest } from './recording.ts';
import { cancelledCall } from './retry.ts';
import type { ProviderSettings } from './settings.ts';

export interface ReplayOptions {
  /** Default: the name of the provider that was recorded. */
  readonly name?: string;
  /** Calls of the recording that were answered before. Default 0. */
  readonly skip?: number;
}

/**
 * A provider that answers from a recording (agent-runtime 18.15): in order, each request compared with the recorded one. It
 * fails with `invalid_request`, `replay mismatch at call <n>`, when they differ or the recording has no such call; `data`
 * then says where (`differs_at`).
 * @param source a recording, or the file that holds one, which is read at first use
 */
export function createReplayProvider(source: string | Recording, options: ReplayOptions = {}): Provider {
  const load = typeof source === 'string' ? createLoader(source) : () => source;
  let made = options.skip ?? 0;

  async function replay(request: CompletionRequest, onDelta: OnDelta | undefined): Promise<CompletionResponse> {
    const { calls, info } = load();
    throwIfAborted(request);
    made += 1;
    const number = made;
    const { request: asked, sha256 } = toRecordedRequest(request);
    const recorded = calls.find(({ call }) => call === number);
    if (recorded?.sha256 !== sha256) throw mismatch(number, recorded, asked, sha256);
    const { outcome, deltas = [] } = readAnswer(recorded);
    if (onDelta !== undefined) {
      for (const delta of deltas) {
        onDelta(delta);
        // why: each recorded piece is what came in one turn of the event loop
        await new Promise((resolve) => setImmediate(resolve));
        throwIfAborted(request);
      }
    }
    if (outcome.kind === 'failure') throw toError(recorded, outcome.errorKind, outcome.text, outcome.retryAfterMs);
    const { message, stopReason, usage } = outcome;
    return { message, stop_reason: stopReason, usage, model: recorded.model ?? info.default_model };
  }

  return {
    info: () => describe(load, options.name),
    complete: (request) => replay(request, undefined),
    completeStreaming: replay,
    // what is wrong with the recording is what its loading throws
    healthCheck: () => Promise.resolve().then(() => void load()),
    ref: () => ({
      name: describe(load, options.name).name,
      kind: 'replay',
      options: {
        skip: made,
        recording: typeof source === 'string' ? source : (JSON.parse(JSON.stringify(source)) as Json),
      },
    }),
    // in a run thread another instance answers; this one keeps the count
    onRequest: () => void (made += 1),
  };
}

function throwIfAborted({ signal }: CompletionRequest): void {
  if (signal?.aborted === true) throw cancelledCall(signal.reason);
}

/** The kind `replay`: `recording` names a file, relative to the current folder or absolute. */
export function openReplay(settings: ProviderSettings): Provider {
  const { recording = settings.extra['recording'], skip } = settings.own;
  const options = { name: settings.name, ...(typeof skip === 'number' ? { skip } : {}) };
  if (typeof recording === 'string' && recording !== '') return createReplayProvider(recording, options);
  // a recording that crossed to a thread, where it was read before
  if (isJsonObject(recording)) return createReplayProvider(recording as unknown as Recording, options);
  throw new EngineError('config', `provider \`${settings.name}\`: \`recording\` must name a file`);
}

function createLoader(file: string): () => Recording {
  let loaded: Recording | undefined;
  return () => (loaded ??= loadRecording(file));
}

/** @throws EngineError `config` when the file cannot be read or is no recording */
function loadRecording(file: string): Recording {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new EngineError('config', `cannot read the recording ${file}: ${messageOf(cause)}`, { cause });
  }
  return parseRecording(text, file);
}

/** A listing must work without the file; the first call then says what is wrong. */
function describe(load: () => Recording, name: string | undefined): ProviderInfo {
  try {
    const { info } = load();
    return name === undefined ? info : { ...info, name };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return { name: name ?? 'replay', supports_tools: true, supports_thinking: true, default_model: 'replay' };
  }
}

function toError(
  { answer }: RecordedCall,
  kind: EngineError['kind'],
  text: string,
  retryAfterMs: number | undefined,
): EngineError {
  const error = answer['error'];
  const named = isJsonObject(error) ? ownValue(error, 'code') : undefined;
  const code = [...errorKinds, ...errorReasons].find((known): known is ErrorCode => known === named);
  return new EngineError(kind, text, {
    ...(code === undefined ? {} : { code }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function mismatch(
  number: number,
  recorded: RecordedCall | undefined,
  asked: RecordedCall['request'],
  sha256: string,
): EngineError {
  return new EngineError('invalid_request', `replay mismatch at call ${number}`, {
    data: {
      call: number,
      recorded_sha256: recorded?.sha256 ?? null,
      sha256,
      differs_at: recorded === undefined ? 'the recording has no such call' : differencePath(recorded.request, asked),
    },
  });
}

/** Where two values first differ, as a path such as `messages.2.content.0.text`; empty when they are the same. */
function differencePath(left: unknown, right: unknown): string {
  const isNode = (value: unknown): value is object => typeof value === 'object' && value !== null;
  if (!isNode(left) || !isNode(right)) return '';
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const [before, after] = [ownValue(left, key), ownValue(right, key)];
    if (JSON.stringify(before) === JSON.stringify(after)) continue;
    const below = differencePath(before, after);
    return below === '' ? key : `${key}.${below}`;
  }
  return '';
}
