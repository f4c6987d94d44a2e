import type { Readable, Writable } from 'node:stream';
import { messageOf } from '../protocol/error.ts';
import { parseMessage, rpcCodes, type RpcErrorObject, type RpcId, type RpcInvalid } from '../protocol/jsonrpc.ts';
import { createLineReader, defaultMaxLineBytes, toJsonText } from '../protocol/lines.ts';
import { createLineWriter, toOutgoing } from './line-writer.ts';

/** What a handler throws to answer with a JSON-RPC error of its choice; anything else becomes -32603. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** One request while it is worked on. */
export interface RpcCall {
  /** Aborts when the other side cancels the request or the drain time is over. */
  readonly signal: AbortSignal;
}

export interface RpcServerOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Default 16 MiB. */
  readonly maxLineBytes?: number;
  /** How long requests in flight may go on after the last one, in milliseconds. */
  readonly drainMs: number;
  /** A request of this method ends serving; it is answered `{}`, after all others. */
  readonly lastMethod: string;
  /** The result, or a promise of it. */
  handle(method: string, params: unknown, call: RpcCall): unknown;
}

export interface RpcServer {
  /** Settles when serving has ended: rejects when the streams fail, resolves otherwise. */
  readonly ended: Promise<void>;
  /** Sends a notification; false when serving has ended or the other side reads too slowly. */
  notify(method: string, params: object): boolean;
}

/** Notifications are dropped while this much is waiting to be written. */
const maxWaitingCharacters = 8 * 1024 * 1024;

interface Running extends RpcCall {
  readonly id: RpcId;
  abort(): void;
  isAnswered: boolean;
}

/** Answers JSON-RPC requests over lines: all at once, each when it is done (plugin-protocol section 14). */
export function serveRpc(options: RpcServerOptions): RpcServer {
  const { input, output, drainMs } = options;
  const maxLineBytes = options.maxLineBytes ?? defaultMaxLineBytes;
  const running = new Map<RpcId, Running>();
  let isReading = true;
  let isOver = false;
  let lastId: RpcId | undefined;
  let drainTimer: NodeJS.Timeout | undefined;
  let settle: (error?: Error) => void = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    settle = (error) => (error === undefined ? resolve() : reject(error));
  });

  const writer = createLineWriter({
    stream: output,
    maxQueuedBytes: Infinity,
    elapsed: () => performance.now(),
    onFailure: (failure) => finish(new Error(`cannot write responses: ${failure.detail}`, { cause: failure.cause })),
  });
  const reader = createLineReader(
    {
      onLine,
      onBrokenText: () => refuse(null, rpcCodes.parseError, 'not valid UTF-8'),
      onTooLong: () => refuse(null, rpcCodes.parseError, `line longer than ${maxLineBytes} bytes`),
    },
    maxLineBytes,
  );

  function send(message: object): void {
    if (!isOver) writer.write(toOutgoing(toJsonText(message)));
  }

  function refuse(id: RpcId | null, code: number, message: string): void {
    if (isReading) send({ jsonrpc: '2.0', id, error: { code, message } });
  }

  function onLine(text: string): void {
    if (!isReading || text === '') return;
    const message = parseMessage(text);
    switch (message.kind) {
      case 'request':
        if (message.method === options.lastMethod) stopReading(message.id);
        else start(message.id, message.method, message.params);
        return;
      case 'notification':
        if (message.method === 'notifications/cancelled') cancel(message.params);
        return;
      case 'response':
        return;
      case 'invalid':
        onInvalid(message, text);
    }
  }

  function onInvalid(message: RpcInvalid, text: string): void {
    if (message.reason === 'no JSON') {
      if (text.trim() !== '') refuse(null, rpcCodes.parseError, message.detail);
      return;
    }
    refuse(message.id ?? null, rpcCodes.invalidRequest, message.detail);
  }

  function start(id: RpcId, method: string, params: unknown): void {
    const call = createRunning(id);
    running.set(id, call);
    let result: unknown;
    try {
      result = options.handle(method, params, call);
    } catch (error) {
      answer(call, { error: toErrorObject(error) });
      return;
    }
    if (!(result instanceof Promise)) {
      answer(call, { result: result ?? null });
      return;
    }
    result.then(
      (value: unknown) => answer(call, { result: value ?? null }),
      (error: unknown) => answer(call, { error: toErrorObject(error) }),
    );
  }

  function answer(call: Running, outcome: { result: unknown } | { error: RpcErrorObject }): void {
    if (call.isAnswered) return;
    call.isAnswered = true;
    if (running.get(call.id) === call) running.delete(call.id);
    try {
      send({ jsonrpc: '2.0', id: call.id, ...outcome });
    } catch (error) {
      const message = `the result is no JSON: ${messageOf(error)}`;
      send({ jsonrpc: '2.0', id: call.id, error: { code: rpcCodes.internalError, message } });
    }
    if (!isReading && running.size === 0) endDrain();
  }

  function cancel(params: unknown): void {
    if (typeof params !== 'object' || params === null || !('requestId' in params)) return;
    const { requestId } = params;
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return;
    const call = running.get(requestId);
    if (call === undefined) return;
    call.isAnswered = true;
    running.delete(requestId);
    call.abort();
  }

  function stopReading(id?: RpcId): void {
    if (!isReading) return;
    isReading = false;
    lastId = id;
    input.off('data', reader.push);
    input.pause();
    if (running.size === 0) endDrain();
    else drainTimer = setTimeout(endDrain, drainMs);
  }

  /** Answers what is still running with an error, and the last request at last. */
  function endDrain(): void {
    clearTimeout(drainTimer);
    for (const call of running.values()) {
      call.isAnswered = true;
      send({ jsonrpc: '2.0', id: call.id, error: { code: rpcCodes.internalError, message: 'shutting down' } });
      call.abort();
    }
    running.clear();
    if (lastId !== undefined) send({ jsonrpc: '2.0', id: lastId, result: {} });
    void writer.flushed(drainMs).then(() => finish());
  }

  function finish(error?: Error): void {
    if (isOver) return;
    isOver = true;
    isReading = false;
    clearTimeout(drainTimer);
    for (const call of running.values()) call.abort();
    running.clear();
    writer.dispose();
    input.off('data', reader.push);
    input.off('end', onEnd);
    input.off('close', onEnd);
    settle(error);
  }

  function onEnd(): void {
    if (!isReading) return;
    reader.end();
    stopReading();
  }

  input.on('data', reader.push);
  input.on('end', onEnd);
  input.on('close', onEnd);
  // why: these stay for good; an error nobody listens to would end the process in the middle of its clean-up
  input.on('error', (error) => finish(new Error(`cannot read requests: ${messageOf(error)}`, { cause: error })));
  output.on('error', (error) => finish(new Error(`cannot write responses: ${messageOf(error)}`, { cause: error })));

  return {
    ended,
    notify(method, params) {
      if (isOver || writer.isClosed || writer.queuedCharacters > maxWaitingCharacters) return false;
      send({ jsonrpc: '2.0', method, params });
      return true;
    },
  };
}

function createRunning(id: RpcId): Running {
  // why: most handlers never look at their signal, and a controller costs more than a small call
  let controller: AbortController | undefined;
  let isAborted = false;
  return {
    id,
    isAnswered: false,
    get signal() {
      controller ??= new AbortController();
      if (isAborted) controller.abort();
      return controller.signal;
    },
    abort() {
      isAborted = true;
      controller?.abort();
    },
  };
}

function toErrorObject(error: unknown): RpcErrorObject {
  const code = error instanceof RpcFailure ? error.code : rpcCodes.internalError;
  return { code, message: messageOf(error) };
}
