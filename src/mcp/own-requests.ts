import type { JSONRPCMessage, TransportSendOptions } from '@modelcontextprotocol/client';
import type { EngineError } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { RpcId } from '../protocol/jsonrpc.ts';
import { type ClientIdentity, requestMeta } from './envelope.ts';
import type { Answer } from './task-driver.ts';

export interface OwnRequestsOptions {
  readonly client: ClientIdentity;
  readonly send: (message: JSONRPCMessage, options: TransportSendOptions) => Promise<void>;
  /** Why a request fails whose stream ended without its answer. */
  readonly streamEnded: (method: string) => EngineError;
}

/** The requests below the SDK: the probe and the steps of a task. Their ids are texts, the SDK's are numbers. */
export interface OwnRequests {
  /** Rejects when it cannot be sent, the signal aborts, or `fail` is told so. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<Answer>;
  /** Whether one of them waited for the answer. */
  settle(id: RpcId, answer: Answer): boolean;
  fail(id: RpcId, error: unknown): boolean;
  /** Those still open, oldest first. */
  open(): readonly RpcId[];
}

interface Waiting {
  readonly settle: (answer: Answer) => void;
  readonly fail: (error: unknown) => void;
}

export function createOwnRequests(options: OwnRequestsOptions): OwnRequests {
  const waiting = new Map<RpcId, Waiting>();
  let count = 0;

  function request(method: string, params: JsonObject, signal: AbortSignal): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      count += 1;
      const id = `vibe:${count}`;
      const abort = new AbortController();
      const end = (): void => {
        signal.removeEventListener('abort', onAbort);
        waiting.delete(id);
      };
      const settle = (answer: Answer): void => {
        end();
        resolve(answer);
      };
      const fail = (error: unknown): void => {
        end();
        reject(error as Error);
      };
      const onAbort = (): void => {
        abort.abort();
        fail(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.set(id, { settle, fail });
      const message: JSONRPCMessage = {
        jsonrpc: '2.0',
        id,
        method,
        params: { ...params, _meta: requestMeta(options.client) },
      };
      const onRequestStreamEnd = (): void => {
        if (waiting.has(id)) fail(options.streamEnded(method));
      };
      options.send(message, { requestSignal: abort.signal, onRequestStreamEnd }).catch(fail);
    });
  }

  return {
    request,
    settle(id, answer) {
      const entry = waiting.get(id);
      entry?.settle(answer);
      return entry !== undefined;
    },
    fail(id, error) {
      const entry = waiting.get(id);
      entry?.fail(error);
      return entry !== undefined;
    },
    open: () => [...waiting.keys()],
  };
}
