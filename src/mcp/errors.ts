import { EngineError, type ErrorCode, type EngineErrorOptions, isEngineError } from '../protocol/error.ts';

/** An error of the MCP host: kind `plugin`; `data` holds facts for logs and callers, never text of the server's making. */
export function mcpError(
  code: ErrorCode,
  message: string,
  options: Omit<EngineErrorOptions, 'code'> = {},
): EngineError {
  return new EngineError('plugin', message, { ...options, code });
}

/** `Connect failed: <text>` (mcp-host section 15). */
export function connectError(
  code: ErrorCode,
  text: string,
  options: Omit<EngineErrorOptions, 'code'> = {},
): EngineError {
  return mcpError(code, `Connect failed: ${text}`, options);
}

export function listError(code: ErrorCode, text: string, options: Omit<EngineErrorOptions, 'code'> = {}): EngineError {
  return mcpError(
    code,
    `list_tools failed: ${text}. Probably an old or different program of that name; servers should speak 2024-11-05 or later.`,
    options,
  );
}

export function handshakeError(reason: string): EngineError {
  return listError('handshake_invalid', `invalid handshake: ${reason}`);
}

export function callTimeout(ms: number, cause?: unknown): EngineError {
  return mcpError('call_timeout', `The tool did not finish within ${toSeconds(ms)} s; outcome unknown.`, { cause });
}

export function invalidResult(method: string, cause?: unknown): EngineError {
  return mcpError('result_invalid', `malformed result of ${method}`, { cause });
}

/** An error the server itself answered; its text is foreign and shown to the model only. */
export function remoteError(server: string, error: { readonly code: number; readonly message: string }): EngineError {
  const text = error.message.replaceAll(/\p{Cc}/gu, ' ').slice(0, 4_096);
  return mcpError('remote', `MCP server \`${server}\` returned an error: ${text} (code ${error.code})`, {
    data: { rpc_code: error.code },
  });
}

/** Seconds as people read them: whole, or with up to three decimals below one. */
export function toSeconds(ms: number): string {
  return String(Number((ms / 1_000).toFixed(3)));
}

/** The code of anything that was thrown, for logs. */
export function codeOf(error: unknown): ErrorCode {
  return isEngineError(error) ? error.code : 'other';
}
