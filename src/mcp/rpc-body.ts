import { isJsonObject, ownValue } from '../protocol/json.ts';
import { classify, type RpcErrorObject } from '../protocol/jsonrpc.ts';

/** The JSON-RPC error in the body of an HTTP refusal, whatever its id (servers that cannot read a request answer with null). */
export function readRpcError(body: string | undefined): RpcErrorObject | undefined {
  if (body === undefined || body === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined; // a page or plain text
  }
  const message = classify(value);
  if (message.kind === 'response' && message.error !== undefined) return message.error;
  // why: some servers answer `{error: {code, …}}` without the rest of the envelope
  const error = isJsonObject(value) ? ownValue(value, 'error') : undefined;
  const code = isJsonObject(error) ? ownValue(error, 'code') : undefined;
  if (!isJsonObject(error) || typeof code !== 'number' || !Number.isSafeInteger(code)) return undefined;
  return { code, message: '', data: ownValue(error, 'data') };
}
