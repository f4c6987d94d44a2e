import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { RpcMessage } from '../protocol/jsonrpc.ts';

/** A judged line as the object the transports pass on. What is unusable but has an id becomes an unusable answer. */
export function toRpcObject(message: RpcMessage): JSONRPCMessage {
  const fields = fieldsOf(message);
  // why: the members are exactly those of a message; what their values are is judged by who receives it
  return { jsonrpc: '2.0', ...fields } as JSONRPCMessage;
}

function fieldsOf(message: RpcMessage): object {
  switch (message.kind) {
    case 'request':
      return { id: message.id, method: message.method, params: message.params };
    case 'notification':
      return { method: message.method, params: message.params };
    case 'response':
      return message.error === undefined
        ? { id: message.id, result: message.result }
        : { id: message.id, error: message.error };
    case 'invalid':
      return { id: message.id, error: message.reason };
  }
}
