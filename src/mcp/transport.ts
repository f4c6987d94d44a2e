import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import type { Clock } from '../protocol/deps.ts';
import type { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject, ownValue } from '../protocol/json.ts';
import { classify, isRpcId, type RpcId, type RpcMessage, rpcCodes } from '../protocol/jsonrpc.ts';
import type { McpEra, McpTransportKind } from '../protocol/mcp.ts';
import { type ClientIdentity, handoverKeys } from './envelope.ts';
import { invalidResult, mcpError } from './errors.ts';
import { createInputBudget } from './input-budget.ts';
import { type InputPolicy, roundsExceeded } from './input-policy.ts';
import { judgeResult } from './judge-result.ts';
import { toRpcObject } from './rpc-object.ts';
import { createSdkInbox } from './sdk-inbox.ts';
import { createGate } from './gate.ts';
import { createOwnRequests } from './own-requests.ts';
import { type Answer, driveTask } from './task-driver.ts';

export interface McpTransportOptions {
  readonly server: string;
  readonly kind: McpTransportKind;
  /** Carries messages; ours for processes, the SDK's for HTTP. */
  readonly inner: Transport | ClassifyingTransport;
  readonly client: ClientIdentity;
  readonly input: InputPolicy;
  readonly clock: Clock;
  readonly taskMaxMs: number;
  /** Why everything pending fails once the connection is gone. */
  readonly closedError: () => EngineError;
  /** Requests on their way at the same time; absent: no limit. */
  readonly maxInFlight?: number;
  readonly onError?: (error: Error) => void;
  readonly onClosed?: () => void;
}

/** The SDK's transport with what it lacks: own requests below it, judged answers, tasks, failures at once. */
export interface McpTransport extends Transport {
  /** Sends a request of our own. Rejects when it cannot be sent, the signal aborts or the connection ends. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<Answer>;
  /** Must be known before the SDK connects: answers are judged by it. */
  setEra(era: McpEra): void;
  /** An answer was too long to be read: fails the request it belongs to, or the only open one when it does not say. */
  dropOversized(id: RpcId | undefined): void;
}

/** A transport that judges its messages itself, so that this is not done twice. */
export interface ClassifyingTransport extends Transport {
  onclassified: ((message: RpcMessage) => void) | undefined;
}

/** A request of the SDK on its way. */
interface Pending {
  readonly method: string;
  /** Ends what works for the request besides the server: only a task does. */
  abort: AbortController | undefined;
  /** Closes the response stream of a request that was given up; in the modern era the SDK does so. */
  readonly stream: AbortController | undefined;
}

/** Notices the SDK acts on, or our adapter through it; all others are dropped here. */
const wantedNotices: ReadonlySet<string> = new Set([
  'notifications/cancelled',
  'notifications/progress',
  'notifications/subscriptions/acknowledged',
  'notifications/tools/list_changed',
]);

export function createMcpTransport(options: McpTransportOptions): McpTransport {
  const { inner } = options;
  const pending = new Map<RpcId, Pending>();
  const own = createOwnRequests({
    client: options.client,
    send: (message, sendOptions) => inner.send(message, sendOptions),
    streamEnded,
  });
  const tasks = new Set<RpcId>();
  const budget = createInputBudget();
  const inbox = createSdkInbox((message) => transport.onmessage?.(message));
  const gate = createGate<RpcId>(options.maxInFlight ?? Infinity);
  let era: McpEra = 'legacy';
  let started: Promise<void> | undefined;
  let isClosed = false;

  const transport: McpTransport = {
    start: () => (started ??= inner.start()),
    send,
    close: () => inner.close(),
    request,
    setEra: (value) => {
      era = value;
    },
    dropOversized(id) {
      const [only, ...others] = [...pending.keys(), ...own.open()];
      const target = id ?? (others.length === 0 ? only : undefined);
      if (target !== undefined)
        failAnswer(target, mcpError('result_invalid', 'the answer is longer than this client reads'));
    },
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
    get sessionId() {
      return inner.sessionId;
    },
    ...(inner.hasPerRequestStream === true ? { hasPerRequestStream: true } : {}),
  };
  if ('onclassified' in inner) inner.onclassified = receive;
  else inner.onmessage = (raw) => receive(classify(raw));
  inner.onclose = onClosed;
  // why: such errors quote messages of the peer, and what matters of them reaches the call it belongs to
  inner.onerror = (error) => options.onError?.(error);
  return transport;

  async function send(message: JSONRPCMessage, sendOptions: TransportSendOptions = {}): Promise<void> {
    if (isClosed) throw options.closedError();
    if (!('method' in message)) return await inner.send(message, sendOptions);
    if (!('id' in message)) return await sendNotice(message, sendOptions);
    const { id, method } = message;
    const closesStream = inner.hasPerRequestStream === true && sendOptions.requestSignal === undefined;
    const stream = closesStream ? new AbortController() : undefined;
    const entry: Pending = { method, abort: undefined, stream };
    pending.set(id, entry);
    if (method === 'tools/call') budget.open(id);
    sendOptions.requestSignal?.addEventListener('abort', () => forget(id), { once: true });
    try {
      // why: a stream of notices stays open for as long as the connection and must not use up a place
      if (options.maxInFlight !== undefined && method !== 'subscriptions/listen') await gate.enter(id);
      if (pending.get(id) !== entry) return;
      await inner.send(message, inner.hasPerRequestStream === true ? watchStream(id, entry, sendOptions) : sendOptions);
    } catch (error) {
      forget(id);
      throw error;
    }
  }

  /** A stream that ends without the answer loses it (mcp-host 5.6). */
  function watchStream(id: RpcId, entry: Pending, sendOptions: TransportSendOptions): TransportSendOptions {
    return {
      ...sendOptions,
      ...(entry.stream === undefined ? {} : { requestSignal: entry.stream.signal }),
      onRequestStreamEnd: () => {
        sendOptions.onRequestStreamEnd?.();
        if (pending.get(id) === entry) failAnswer(id, streamEnded(entry.method));
      },
    };
  }

  async function sendNotice(message: JSONRPCMessage, sendOptions: TransportSendOptions): Promise<void> {
    if ('method' in message && message.method === 'notifications/cancelled') {
      const id = isJsonObject(message.params) ? ownValue(message.params, 'requestId') : undefined;
      // why: the request of a task has its answer already; the task itself is cancelled by who follows it
      const isTask = isRpcId(id) && tasks.has(id);
      if (isRpcId(id)) forget(id);
      if (isTask) return;
    }
    await inner.send(message, sendOptions);
  }

  async function request(method: string, params: JsonObject, signal: AbortSignal): Promise<Answer> {
    if (isClosed) throw options.closedError();
    return await own.request(method, params, signal);
  }

  function receive(message: RpcMessage): void {
    switch (message.kind) {
      case 'request':
        receiveRequest(message);
        return;
      case 'notification':
        receiveNotice(message, isJsonObject(message.params) ? message.params : {});
        return;
      case 'invalid':
        if (message.id !== undefined && message.isAnswer) settle(message.id, { kind: 'malformed' });
        return;
      case 'response':
        if (message.id === null) return;
        settle(
          message.id,
          message.error === undefined
            ? { kind: 'result', result: message.result }
            : { kind: 'error', error: message.error },
        );
    }
  }

  /** Hands an answer to who waits for it; nobody does for a late, second or invented one (FR6). */
  function settle(id: RpcId, answer: Answer): void {
    if (own.settle(id, answer)) return;
    const entry = pending.get(id);
    if (entry === undefined || tasks.has(id)) return;
    if (answer.kind === 'malformed') return failAnswer(id, invalidResult(entry.method));
    if (answer.kind === 'error') {
      finish(id);
      inbox.error(id, answer.error);
      return;
    }
    const judged = judgeResult(entry.method, answer.result, era, options.kind);
    if (judged.kind === 'fault') return failAnswer(id, judged.error);
    if (judged.kind === 'task') return followTask(id, entry, judged.task);
    finish(id);
    inbox.result(id, judged.result);
  }

  function followTask(id: RpcId, entry: Pending, task: JsonObject): void {
    const abort = new AbortController();
    let steps = 0;
    entry.abort = abort;
    tasks.add(id);
    gate.leave(id);
    driveTask(task, {
      request,
      input: options.input,
      clock: options.clock,
      signal: abort.signal,
      maxMs: options.taskMaxMs,
      onStatus: (status, text) => {
        steps += 1;
        if (pending.has(id)) inbox.taskProgress(id, steps, text ?? status);
      },
    }).then(
      (end) => {
        tasks.delete(id);
        settle(id, end.kind === 'error' ? end : { kind: 'result', result: { ...end.result, resultType: 'complete' } });
      },
      (error: EngineError) => failAnswer(id, error),
    );
  }

  function receiveRequest(message: RpcMessage & { readonly kind: 'request' }): void {
    // why: in the modern era a server asks inside its results only
    if (era === 'modern') return;
    const charge = budget.charge(message.method);
    if (charge === 'ok') {
      inbox.pass(toRpcObject(message));
      return;
    }
    const refusal = {
      jsonrpc: '2.0',
      id: message.id,
      error: { code: rpcCodes.invalidRequest, message: 'too many requests for input' },
    } as const;
    inner.send(refusal).catch(() => {
      // why: a connection that cannot carry the refusal fails everything pending by itself
    });
    if (charge !== 'refuse') failAnswer(charge.call, roundsExceeded());
  }

  function receiveNotice(message: RpcMessage, params: JsonObject): void {
    if (message.kind !== 'notification' || !wantedNotices.has(message.method)) return;
    if (message.method === 'notifications/progress') {
      const token = ownValue(params, 'progressToken');
      if (typeof token !== 'number' || !pending.has(token)) return;
      const { [handoverKeys.task]: _, ...meta } = isJsonObject(params['_meta']) ? params['_meta'] : {};
      inbox.progress(token, { ...params, _meta: meta });
      return;
    }
    inbox.pass(toRpcObject(message));
  }

  /** Ends a pending request with an error of ours. */
  function failAnswer(id: RpcId, error: unknown): void {
    if (own.fail(id, error) || !pending.has(id)) return;
    finish(id);
    inbox.fault(id, error);
  }

  function finish(id: RpcId): void {
    pending.delete(id);
    tasks.delete(id);
    budget.close(id);
    gate.leave(id);
  }

  /** The caller has given up: stop what still works for it. */
  function forget(id: RpcId): void {
    const entry = pending.get(id);
    finish(id);
    entry?.stream?.abort();
    entry?.abort?.abort(mcpError('call_cancelled', 'cancelled'));
  }

  function streamEnded(method: string): EngineError {
    return mcpError('closed', `connection ended before the result of ${method}`);
  }

  function onClosed(): void {
    if (isClosed) return;
    isClosed = true;
    options.onClosed?.();
    for (const entry of pending.values()) entry.abort?.abort(options.closedError());
    for (const id of [...pending.keys(), ...own.open()]) failAnswer(id, options.closedError());
    transport.onclose?.();
  }
}
