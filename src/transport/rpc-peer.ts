import type { Readable, Writable } from 'node:stream';
import type { Logger } from '../protocol/deps.ts';
import { type EngineError, messageOf } from '../protocol/error.ts';
import type { RpcErrorObject } from '../protocol/jsonrpc.ts';
import { toJsonText } from '../protocol/lines.ts';
import { createLineWriter, toOutgoing, type OutgoingLine, type WriteFailure } from './line-writer.ts';
import { createPendingCalls, type PendingCall, type SignalSource, toPendingCall } from './pending-calls.ts';
import { createRpcAnswers } from './rpc-answers.ts';
import { createRpcErrors } from './rpc-errors.ts';
import { createRpcIntake } from './rpc-intake.ts';
import { formatSeconds } from './duration.ts';

export interface RpcLimits {
  readonly maxLineBytes: number;
  readonly maxQueuedBytes: number;
  /** One write that takes longer ends the connection, in milliseconds. */
  readonly stallMs: number;
  /** Answers to requests of the other side that may wait to be written. */
  readonly maxQueuedAnswers: number;
  /** Log lines per minute about lines that are no messages. */
  readonly invalidLinesPerMinute: number;
  /** And about each other kind of thing that is ignored. */
  readonly ignoredPerMinute: number;
}

/** Why no more calls are possible. */
export type Disconnect = 'output_ended' | 'write_failed';

export interface RpcPeerOptions {
  /** Names the other side in messages. */
  readonly name: string;
  readonly input: Writable;
  readonly output: Readable;
  readonly limits: RpcLimits;
  readonly logger: Logger;
  readonly elapsed: () => number;
  /** Tell the other side about calls that were given up. */
  readonly sendsCancellations: boolean;
  onNotification(method: string, params: unknown): void;
  /**
   * The connection is dead: calls are refused from here on. Calls still pending wait for `fail`, so that the owner can add
   * what it knows about the end of the process.
   */
  onDisconnect(reason: Disconnect): void;
}

export interface RequestOptions<T, Tag> {
  /** Covers queueing, writing and waiting. In milliseconds. */
  readonly timeoutMs: number;
  /** Judges the result; an error it throws becomes `sent an invalid … result`. */
  readonly read: (result: unknown) => T;
  readonly signal?: AbortSignal | undefined;
  /**
   * Instead of a signal: looked at only when the call takes longer than a few milliseconds, since making a signal costs as much
   * as half a call. Who starts a call checks it before, and an answer that comes first counts.
   */
  readonly signalSource?: SignalSource | undefined;
  /** Never tell the other side that the call was given up (`initialize`, `shutdown`). */
  readonly isSilent?: boolean;
  /** Allowed although new calls are refused: the last request of a connection. */
  readonly isLast?: boolean;
  /** What the owner wants to know again when the other side speaks of this call. */
  readonly tag?: Tag;
}

/** One side of a JSON-RPC connection over lines, which calls and answers only `ping`. */
export interface RpcPeer<Tag> {
  /** The id of the next request. */
  readonly nextId: number;
  readonly pendingCount: number;
  readonly isOpen: boolean;
  /** Lines that were no messages, so far. */
  readonly invalidLines: number;
  /**
   * @throws EngineError `plugin`: `timeout`, `closed`, `remote` (its code in `data`), `invalid_answer`; `cancelled`
   */
  request<T>(method: string, params: object | undefined, options: RequestOptions<T, Tag>): Promise<T>;
  /** The same with params that are JSON text already, without raw newlines. */
  requestText<T>(method: string, paramsText: string | undefined, options: RequestOptions<T, Tag>): Promise<T>;
  notify(method: string, params?: object): void;
  /** The tag of a call in flight. */
  tagOf(id: number): Tag | undefined;
  /** Gives a pending call more time, up to three times its limit (plugin-protocol 16.10). */
  prolong(id: number): void;
  /** Refuses new calls; those in flight may still be answered. */
  close(): void;
  /** Fails everything still pending; `data` says how the process ended. */
  fail(data: unknown): void;
  /** Writes what is queued and ends the input, within the limit. */
  endInput(limitMs: number): Promise<void>;
  /** Releases timers and listeners. */
  dispose(): void;
}

export function createRpcPeer<Tag = never>(options: RpcPeerOptions): RpcPeer<Tag> {
  const { limits, logger, elapsed, input, output } = options;
  const errors = createRpcErrors(`plugin \`${options.name}\``);
  const pending = createPendingCalls<Tag>({
    elapsed,
    onExpired: expire,
    onAborted: (call) => giveUp(call, errors.cancelled(), 'cancelled by host'),
  });
  const writer = createLineWriter({
    stream: input,
    maxQueuedBytes: limits.maxQueuedBytes,
    stallMs: limits.stallMs,
    elapsed,
    onFailure: onWriteFailure,
  });
  const intake = createRpcIntake({
    limits,
    logger,
    elapsed,
    onAnswer,
    onBrokenAnswer: (id, detail) => failCall(id, (call) => errors.invalidResult(call.method, detail)),
    onTooLongAnswer: (id) => failCall(id, () => errors.tooLongAnswer(limits.maxLineBytes)),
    onRequest: createRpcAnswers({ writer, limits, logger, elapsed, isDead: () => isDead, closedError: errors.closed }),
    onNotification: options.onNotification,
  });
  const methodTexts = new Map<string, string>();
  let nextId = 1;
  let isOpen = true;
  let isDead = false;

  function request<T>(method: string, params: object | undefined, how: RequestOptions<T, Tag>): Promise<T> {
    if (params === undefined) return requestText(method, undefined, how);
    let text: string;
    try {
      text = toJsonText(params);
    } catch (cause) {
      return Promise.reject(errors.notJson(messageOf(cause), cause));
    }
    return requestText(method, text, how);
  }

  function requestText<T>(method: string, paramsText: string | undefined, how: RequestOptions<T, Tag>): Promise<T> {
    if (isDead || !(isOpen || how.isLast === true)) return Promise.reject(errors.closed());
    if (how.signal?.aborted === true) return Promise.reject(errors.cancelled());
    const id = nextId;
    const text = toRequestText(id, method, paramsText);
    if (isOverLimit(text)) return Promise.reject(errors.tooLongRequest(limits.maxLineBytes));
    nextId += 1;
    const call = toPendingCall<Tag>(id, method, text, how);
    return new Promise<T>((resolve, reject) => {
      call.reject = reject;
      call.accept = toAccept(how.read, resolve, reject, method, errors.invalidResult);
      pending.add(call);
      writer.write(call);
    });
  }

  /** Method names are few; each is written as JSON once. */
  function toRequestText(id: number, method: string, paramsText: string | undefined): string {
    let methodText = methodTexts.get(method);
    if (methodText === undefined) {
      methodText = toJsonText(method);
      if (methodTexts.size < 64) methodTexts.set(method, methodText);
    }
    const params = paramsText === undefined ? '' : `,"params":${paramsText}`;
    return `{"jsonrpc":"2.0","id":${id},"method":${methodText}${params}}`;
  }

  function isOverLimit(text: string): boolean {
    return text.length * 3 > limits.maxLineBytes && Buffer.byteLength(text) > limits.maxLineBytes;
  }

  function expire(call: PendingCall<Tag>): void {
    const error = errors.timedOut(call.method, call.timeoutMs);
    giveUp(call, error, `timed out after ${formatSeconds(call.timeoutMs)}s`);
  }

  function giveUp(call: PendingCall<Tag>, error: EngineError, reason: string): void {
    if (!pending.take(call.id)) return;
    if (!call.isBegun) writer.skip(call);
    else if (options.sendsCancellations && !call.isSilent) {
      notify('notifications/cancelled', { requestId: call.id, reason });
    }
    call.reject(error);
  }

  function notify(method: string, params?: object): void {
    if (isDead) return;
    writer.write(
      toOutgoing(toJsonText(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params })),
    );
  }

  /** False when no call waits for this answer. */
  function onAnswer(id: number, error: RpcErrorObject | undefined, result: unknown): boolean {
    const call = pending.get(id);
    // why: an answer to a request that was not written yet is a guess, and must not be kept for it
    if (call === undefined || !call.isBegun) return false;
    pending.take(id);
    // why: an abort that was not noticed yet came before the answer and counts
    if (call.signal?.aborted === true) call.reject(errors.cancelled());
    else if (error === undefined) call.accept(result);
    else call.reject(errors.remote(error.code, error.message));
    return true;
  }

  function failCall(id: number, toError: (call: PendingCall<Tag>) => EngineError): void {
    const call = pending.get(id);
    if (call === undefined || !call.isBegun) return;
    pending.take(id);
    call.reject(toError(call));
  }

  function onWriteFailure(failure: WriteFailure): void {
    const waiting = new Set<OutgoingLine>(failure.waiting);
    const failed = new Set<OutgoingLine>(failure.failed);
    for (const call of pending.takeAll()) {
      if (failed.has(call)) call.reject(errors.cannotWrite(failure.detail, failure.cause));
      else if (waiting.has(call)) call.reject(errors.closed());
      else call.reject(errors.stoppedReading(failure.cause));
    }
    disconnect('write_failed');
  }

  function disconnect(reason: Disconnect): void {
    if (isDead) return;
    isDead = true;
    isOpen = false;
    options.onDisconnect(reason);
  }

  function onEnd(): void {
    intake.reader.end();
    disconnect('output_ended');
  }

  function onReadError(error: Error): void {
    logger.warn(`cannot read from plugin: ${messageOf(error)}`);
    disconnect('output_ended');
  }

  output.on('data', intake.reader.push);
  output.on('end', onEnd);
  output.on('close', onEnd);
  // why: never taken off again, because an error nobody listens to would end the host
  output.on('error', onReadError);

  return {
    get nextId() {
      return nextId;
    },
    get pendingCount() {
      return pending.size;
    },
    get isOpen() {
      return isOpen;
    },
    get invalidLines() {
      return intake.invalidLines;
    },
    request,
    requestText,
    notify,
    tagOf: (id) => pending.get(id)?.tag,
    prolong: (id) => pending.prolong(id),
    close: () => void (isOpen = false),
    fail(data) {
      intake.reader.end();
      isDead = true;
      isOpen = false;
      for (const call of pending.takeAll()) call.reject(errors.closedOutput(data));
    },
    endInput: (limitMs) => writer.finish(limitMs),
    dispose() {
      writer.dispose();
      pending.dispose();
      output.off('data', intake.reader.push);
      output.off('end', onEnd);
      output.off('close', onEnd);
    },
  };
}

/**
 * What settles a call with its result. Made out here so that it holds on to nothing but its arguments: a function made
 * beside the request would keep request and answer alive until the next full collection.
 */
function toAccept<T>(
  read: (result: unknown) => T,
  resolve: (value: T) => void,
  reject: (error: Error) => void,
  method: string,
  toError: (method: string, detail: string) => EngineError,
): (result: unknown) => void {
  return (result) => {
    let value: T;
    try {
      value = read(result);
    } catch (error) {
      reject(toError(method, messageOf(error)));
      return;
    }
    resolve(value);
  };
}
