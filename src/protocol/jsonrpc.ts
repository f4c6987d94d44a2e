import { messageOf } from './error.ts';
import { isDeeperThan } from './json.ts';

/** A usable id: a string or an integer 0 … 2^53−1. */
export type RpcId = string | number;

export interface RpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What a line turned out to be (plugin-protocol section 2). */
export type RpcMessage =
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params?: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params?: unknown }
  | RpcResponse
  | RpcInvalid;

export type RpcResponse =
  | { readonly kind: 'response'; readonly id: RpcId | null; readonly result: unknown; readonly error?: undefined }
  | { readonly kind: 'response'; readonly id: RpcId | null; readonly error: RpcErrorObject };

export interface RpcInvalid {
  readonly kind: 'invalid';
  readonly reason: 'no JSON' | 'no message';
  readonly detail: string;
  /** The id, when there is a usable one. */
  readonly id?: RpcId;
  /** Whether it looks like an answer, so that the call waiting for it can fail at once. */
  readonly isAnswer: boolean;
}

export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

/** Deepest nesting of a message; the outermost object is level 1 (plugin-protocol 16.2). */
export const maxNesting = 256;
export const tooDeep = `nested deeper than ${maxNesting} levels`;
/** A shorter text cannot nest deeper: each level needs an opening and a closing character. */
const shortestDeepText = 2 * (maxNesting + 1);

/** Reads one line. Blank lines are the caller's business. */
export function parseMessage(line: string): RpcMessage {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { kind: 'invalid', reason: 'no JSON', detail: messageOf(error), isAnswer: false };
  }
  if (line.length >= shortestDeepText && isDeeperThan(value, maxNesting)) return toRefused(classify(value));
  return classify(hasSurrogateEscape(line) ? toWellFormedValue(value) : value);
}

function hasSurrogateEscape(line: string): boolean {
  // why: most lines have no such escape, and one pass over a large one costs as much as a third of parsing it
  return line.includes('\\u') && /\\u[dD]/.test(line);
}

/** Judges parsed JSON in the order of plugin-protocol section 2, by own properties only. */
export function classify(value: unknown): RpcMessage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return invalid('expected an object');
  const fields: Fields = value;
  const id = own(fields, 'id', fields.id);
  if (typeof own(fields, 'jsonrpc', fields.jsonrpc) !== 'string') return invalid('`jsonrpc` must be a string', id);
  if (fields.method !== undefined && Object.hasOwn(fields, 'method')) return classifyCall(fields, id);
  if (id !== undefined && id !== null && !isRpcId(id)) return invalid('`id` must be a string or an integer');
  const error = own(fields, 'error', fields.error);
  if (error === undefined || error === null) {
    return { kind: 'response', id: id ?? null, result: own(fields, 'result', fields.result) ?? null };
  }
  const read = readErrorObject(error);
  if (read === undefined) {
    return invalid('`error` must be an object with an integer `code` and a string `message`', id, true);
  }
  return { kind: 'response', id: id ?? null, error: read };
}

interface Fields {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly data?: unknown;
}

/**
 * The value if it is the object's own. What is absent needs no second look, so that the common message costs three checks:
 * the value is read by its fixed name, which the engine of the language does a dozen times faster than asking for a key.
 */
function own(fields: Fields, key: keyof Fields, value: unknown): unknown {
  return value === undefined || Object.hasOwn(fields, key) ? value : undefined;
}

function classifyCall(fields: Fields, id: unknown): RpcMessage {
  const { method } = fields;
  if (typeof method !== 'string') return invalid('`method` must be a string', id);
  const params = own(fields, 'params', fields.params);
  const given = params === undefined || params === null ? {} : { params };
  if (id === undefined || id === null) return { kind: 'notification', method, ...given };
  if (!isRpcId(id)) return invalid('`id` must be a string or an integer');
  return { kind: 'request', id, method, ...given };
}

function readErrorObject(value: unknown): RpcErrorObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const fields: Fields = value;
  const code = own(fields, 'code', fields.code);
  const message = own(fields, 'message', fields.message);
  if (typeof code !== 'number' || !Number.isInteger(code) || typeof message !== 'string') return undefined;
  return Object.hasOwn(fields, 'data') ? { code, message, data: fields.data } : { code, message };
}

export function isRpcId(value: unknown): value is RpcId {
  return typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0);
}

function invalid(detail: string, id?: unknown, isAnswer = false): RpcInvalid {
  return { kind: 'invalid', reason: 'no message', detail, isAnswer, ...(isRpcId(id) ? { id } : {}) };
}

function toRefused(message: RpcMessage): RpcInvalid {
  const isAnswer = message.kind === 'response' || (message.kind === 'invalid' && message.isAnswer);
  const id = 'id' in message ? message.id : undefined;
  return invalid(tooDeep, id, isAnswer);
}

/**
 * The same JSON with every lone surrogate replaced by U+FFFD, in keys too. Values without one are returned as they are.
 * Recursive: the caller has checked the depth.
 */
function toWellFormedValue(value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) value[index] = toWellFormedValue(value[index]);
    return value;
  }
  let isSame = true;
  const entries = Object.entries(value).map(([key, item]) => {
    const cleanKey = key.toWellFormed();
    const cleanItem = toWellFormedValue(item);
    isSame &&= cleanKey === key && cleanItem === item;
    return [cleanKey, cleanItem] as const;
  });
  // why: `fromEntries` defines properties, so a key `__proto__` stays data
  return isSame ? value : Object.fromEntries(entries);
}
