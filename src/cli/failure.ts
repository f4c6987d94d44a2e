import { isEngineError, messageOf } from '../protocol/error.ts';
import { toPrintableLine } from '../telemetry/printable.ts';

export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A command line that cannot be carried out as written: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** `error: <one sentence>`, and the way out on a second line when one is known. */
export function describeFailure(error: unknown): string {
  const wayOut = error instanceof UsageError ? undefined : findWayOut(error);
  return toFailureLines(messageOf(error), wayOut);
}

export function toFailureLines(message: string, wayOut: string | undefined): string {
  return `error: ${toPrintableLine(message)}\n${wayOut === undefined ? '' : `  ${wayOut}\n`}`;
}

/** What a user can do about a failure, by kind and code; never by its text. */
export function findWayOut(error: unknown): string | undefined {
  if (!isEngineError(error)) return undefined;
  return wayOutOf(error.kind, error.code);
}

/** Failures only an MCP server can have (mcp-host section 15). */
const serverCodes: ReadonlySet<string> = new Set([
  'command_not_found',
  'spawn_failed',
  'connect_failed',
  'connect_timeout',
  'version_mismatch',
  'handshake_invalid',
  'not_mcp',
  'list_invalid',
  'http_error',
  'result_invalid',
]);

export function wayOutOf(kind: string, code?: string): string | undefined {
  if (code === 'untrusted') return 'Look at what it starts with `vibe-bus trust --show`, then run `vibe-bus trust`.';
  if (code === 'config_invalid') return 'Correct the file; `vibe-bus config show --default` prints the keys.';
  if (code === 'needs_auth') return 'Run `vibe-bus mcp login <name>`.';
  // these say themselves what to do
  if (code?.startsWith('oauth_') === true) return undefined;
  if (code !== undefined && serverCodes.has(code)) {
    return '`vibe-bus mcp test <name>` tries the server alone and shows what it says.';
  }
  switch (kind) {
    case 'auth_failed':
      return 'Set the key of the provider (`vibe-bus doctor` names the variable), or choose another one with `--model provider/model`.';
    case 'network':
      return 'Check that the model server is running and reachable (`base_url` of the provider), or choose another one with `--model`.';
    case 'rate_limited':
      return 'Wait a little, or choose another model with `--model`.';
    case 'plugin':
      return 'Try the plugin alone with `vibe-bus plugins test <name>`.';
    default:
      return undefined;
  }
}
