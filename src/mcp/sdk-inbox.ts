import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { JsonObject } from '../protocol/json.ts';
import { type RpcErrorObject, type RpcId, rpcCodes } from '../protocol/jsonrpc.ts';
import { handoverKeys } from './envelope.ts';
import { toFault } from './fault.ts';

/** Hands messages to the SDK's client in an order it cannot upset. */
export interface SdkInbox {
  /** A request or notice as it was received. */
  pass(message: JSONRPCMessage): void;
  /** A progress notice of a pending request. */
  progress(id: RpcId, params: JsonObject): void;
  /** Progress of our own making: the request has become a task. */
  taskProgress(id: RpcId, steps: number, text: string): void;
  result(id: RpcId, result: JsonObject): void;
  error(id: RpcId, error: RpcErrorObject): void;
  /** An error of ours; it comes out of the SDK as the cause of its own error. */
  fault(id: RpcId, error: unknown): void;
}

export function createSdkInbox(deliver: (message: JSONRPCMessage) => void): SdkInbox {
  const noticed = new Set<RpcId>();

  function notice(id: RpcId, params: JsonObject): void {
    noticed.add(id);
    deliver({ jsonrpc: '2.0', method: 'notifications/progress', params });
  }

  /**
   * why: the SDK looks at a notice one microtask later but ends the request at once, so progress that came in one piece
   * with its answer would be lost
   */
  function answer(id: RpcId, message: JSONRPCMessage): void {
    if (noticed.delete(id)) queueMicrotask(() => deliver(message));
    else deliver(message);
  }

  return {
    pass: deliver,
    progress: notice,
    taskProgress(id, steps, text) {
      notice(id, { progressToken: id, progress: steps, message: text, _meta: { [handoverKeys.task]: true } });
    },
    result: (id, result) => answer(id, { jsonrpc: '2.0', id, result }),
    error: (id, error) => answer(id, { jsonrpc: '2.0', id, error: { ...error } }),
    fault(id, error) {
      answer(id, {
        jsonrpc: '2.0',
        id,
        error: { code: rpcCodes.internalError, message: 'failed', data: toFault(error) },
      });
    },
  };
}
