import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { EngineError, messageOf, toEngineError } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { CompletionRequest, CompletionResponse, OnDelta, Provider, StreamDelta } from '../protocol/model.ts';
import { toCallLine, toHeaderLine, toRecordedRequest } from './recording.ts';

/** Takes the lines of a recording, each with its line end, in order; awaited. */
export type RecordingSink = (line: string) => void | Promise<void>;

/**
 * A provider that answers as `provider` does and writes down each call (agent-runtime 18.15): the request with its SHA-256,
 * the answer or error, the deltas before it. The call ends when its line is written; one that cannot be written fails with
 * kind `storage`. Requests hold prompts, files and tool results: keep a recording as you keep those.
 * @param sink a function, or a file, which is replaced and readable by its owner only
 */
export function recordProvider(provider: Provider, sink: string | RecordingSink): Provider {
  const write = createWriter(typeof sink === 'string' ? createFileSink(sink) : sink, () => provider.info());
  let calls = 0;

  async function record(
    request: CompletionRequest,
    ask: (onDelta: OnDelta) => Promise<CompletionResponse>,
    onDelta: OnDelta | undefined,
  ): Promise<CompletionResponse> {
    calls += 1;
    const call = calls;
    const recorded = toRecordedRequest(request);
    const deltas = createDeltaLog();
    const pass: OnDelta = (delta) => {
      deltas.add(delta);
      onDelta?.(delta);
    };
    const save = async (answer: JsonObject, model?: string): Promise<void> => {
      const shown = onDelta === undefined ? {} : { deltas: deltas.all() };
      await write(
        toCallLine({ call, ...recorded, answer: { ...answer, ...shown }, ...(model === undefined ? {} : { model }) }),
      );
    };
    let response: CompletionResponse;
    try {
      response = await ask(pass);
    } catch (error) {
      await save({ error: toErrorEntry(error) });
      throw error;
    }
    const { message, stop_reason, usage, model } = response;
    await save(JSON.parse(JSON.stringify({ content: message.content, stop_reason, usage })) as JsonObject, model);
    return response;
  }

  const { signedThinking } = provider;
  return {
    info: () => provider.info(),
    complete: (request) => record(request, () => provider.complete(request), undefined),
    completeStreaming: (request, onDelta) =>
      record(request, (pass) => provider.completeStreaming(request, pass), onDelta),
    healthCheck: (signal) => provider.healthCheck(signal),
    ...(signedThinking === undefined ? {} : { signedThinking }),
  };
}

/** One line after the other, the first line before them. */
function createWriter(sink: RecordingSink, info: () => ReturnType<Provider['info']>): (line: string) => Promise<void> {
  let last: Promise<void> | undefined;
  return async (line) => {
    const before = last ?? Promise.resolve().then(() => sink(toHeaderLine(info())));
    const written = before.then(() => sink(line));
    // why: after a failed line the next ones would be a recording with a hole, so they fail too
    last = written;
    try {
      await written;
    } catch (cause) {
      throw new EngineError('storage', `the recording cannot be written: ${messageOf(cause)}`, { cause });
    }
  };
}

function createFileSink(file: string): RecordingSink {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;
  let isNew = true;
  return async (line) => {
    const flags = O_WRONLY | O_CREAT | O_APPEND | (O_NOFOLLOW ?? 0) | (isNew ? O_TRUNC : 0);
    await using handle = await open(file, flags, 0o600);
    isNew = false;
    await handle.appendFile(line);
  };
}

/** Adjacent pieces of one kind that came in one turn of the event loop are one, as a run shows them. */
function createDeltaLog() {
  const groups: StreamDelta[] = [];
  let isOpen = false;
  return {
    add(delta: StreamDelta): void {
      const last = groups.at(-1);
      if (isOpen && last?.kind === delta.kind) {
        groups[groups.length - 1] = { kind: delta.kind, text: last.text + delta.text };
        return;
      }
      groups.push({ kind: delta.kind, text: delta.text });
      if (isOpen) return;
      isOpen = true;
      setImmediate(() => {
        isOpen = false;
      });
    },
    all: (): JsonObject[] => groups.map(({ kind, text }) => ({ kind, text })),
  };
}

function toErrorEntry(thrown: unknown): JsonObject {
  const { kind, code, message, retryAfterMs } = toEngineError(thrown);
  return {
    kind,
    ...(code === kind ? {} : { code }),
    message,
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
  };
}
