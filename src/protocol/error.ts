/** The closed list of failure kinds: what a caller decides on (retry, stop, report). Source: agent-runtime section 1. */
export const errorKinds = [
  'rate_limited',
  'auth_failed',
  'invalid_request',
  'context_too_long',
  'server_error',
  'network',
  'tool',
  'denied',
  'storage',
  'config',
  'workspace',
  'plugin',
  'cancelled',
  'other',
] as const;

export type ErrorKind = (typeof errorKinds)[number];

/** Finer reasons. An error without one of these has its kind as code. */
export const errorReasons = [
  'closed',
  'timeout',
  'remote',
  'invalid_answer',
  'worker_exited',
  'uncloneable',
  'mailbox_full',
  'actor_stopped',
  'overloaded',
  'interrupted',
  'engine_closed',
  'not_found',
  'untrusted',
  // mcp-host section 15
  'config_invalid',
  'connect_failed',
  'connect_timeout',
  'start_failed',
  'handshake_invalid',
  'version_mismatch',
  'needs_auth',
  'auth_forbidden',
  'http_error',
  'list_invalid',
  'result_invalid',
  'input_unsupported',
  'input_rounds_exceeded',
  'call_timeout',
  'call_cancelled',
  'command_not_found',
  'spawn_failed',
  'not_mcp',
  'sandbox_required',
  'needs_trust',
  'sandbox_unavailable',
  'oauth_token_exchange_failed',
  'oauth_state_mismatch',
  'oauth_issuer_mismatch',
  'oauth_pkce_unsupported',
  'oauth_insecure_url',
  'oauth_flow_expired',
  'oauth_port_in_use',
  'oauth_client_id_needed',
  'oauth_registration_failed',
  'oauth_callback_error',
  'store_unavailable',
] as const;

export type ErrorCode = ErrorKind | (typeof errorReasons)[number];

const mark = Symbol.for('vibe-bus.error');
const retryableKinds: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['rate_limited', 'server_error', 'network']);

export interface EngineErrorOptions {
  readonly code?: ErrorCode;
  /** How long the other side asks to wait, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Facts for logs and callers, as plain JSON; never shown to a model. */
  readonly data?: unknown;
  readonly cause?: unknown;
}

/**
 * The one error class. Branch on `kind` and `code`, never on the text. Tell it from others with `isEngineError`:
 * `instanceof` fails across threads and duplicate installs.
 */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;
  readonly data: unknown;
  readonly [mark] = true;

  constructor(kind: ErrorKind, message: string, options: EngineErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.code = options.code ?? kind;
    this.retryAfterMs = options.retryAfterMs;
    this.data = options.data;
  }
}

export function isEngineError(value: unknown): value is EngineError {
  return typeof value === 'object' && value !== null && mark in value;
}

export function isRetryable(error: EngineError): boolean {
  return retryableKinds.has(error.kind);
}

/** The text form `<CamelCaseKind>: <message>` used in log lines. */
export function describeError(error: unknown): string {
  const known = toEngineError(error);
  const kind = known.kind
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
  return `${kind}: ${known.message}`;
}

/** The message of anything that was thrown, without a prefix. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'string' ? error : 'unknown error';
}

/** Wraps anything thrown; an `EngineError` stays itself. System I/O errors become `storage`. */
export function toEngineError(error: unknown, kind: ErrorKind = 'other'): EngineError {
  if (isEngineError(error)) return error;
  const isSystem = error instanceof Error && 'syscall' in error && 'code' in error;
  return new EngineError(isSystem && kind === 'other' ? 'storage' : kind, messageOf(error), { cause: error });
}

/** An error as plain data: cloning an Error between threads loses its class, kind, code and data. */
export interface WireError {
  readonly name: string;
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly message: string;
  readonly retry_after_ms?: number;
  readonly data?: unknown;
  readonly cause?: { readonly name: string; readonly message: string };
}

export function toWireError(error: unknown): WireError {
  const known = toEngineError(error);
  const cause = known.cause instanceof Error ? { name: known.cause.name, message: known.cause.message } : undefined;
  return {
    name: error instanceof Error ? error.name : 'Error',
    kind: known.kind,
    code: known.code,
    message: known.message,
    ...(known.retryAfterMs === undefined ? {} : { retry_after_ms: known.retryAfterMs }),
    ...(known.data === undefined ? {} : { data: known.data }),
    ...(cause === undefined ? {} : { cause }),
  };
}

export function fromWireError(wire: WireError): EngineError {
  return new EngineError(wire.kind, wire.message, {
    code: wire.code,
    ...(wire.retry_after_ms === undefined ? {} : { retryAfterMs: wire.retry_after_ms }),
    ...(wire.data === undefined ? {} : { data: wire.data }),
    ...(wire.cause === undefined
      ? {}
      : { cause: Object.assign(new Error(wire.cause.message), { name: wire.cause.name }) }),
  });
}
