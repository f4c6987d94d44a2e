import type { McpServerRecord } from '../protocol/mcp.ts';
import { type ConnectDeps, type ConnectStart, toTimeouts } from './connect-deps.ts';
import { createConnection, type McpConnection } from './connection.ts';
import { connectHttp } from './http-connect.ts';
import { createInputPolicy } from './input-policy.ts';
import { fillPlaceholders } from './placeholders.ts';
import { connectStdio } from './stdio-connect.ts';

/**
 * Connects to one server: placeholders, start, probe, handshake where the era has one (mcp-host 4.1). On failure nothing
 * of the server is left running.
 * @throws EngineError with a code of mcp-host section 15
 */
export async function openMcpConnection(record: McpServerRecord, deps: ConnectDeps): Promise<McpConnection> {
  const { accessToken, secret, onElicitation, roots } = deps;
  const filled = await fillPlaceholders(record, {
    env: deps.env,
    workspaceFolder: deps.workspaceFolder,
    userHome: deps.userHome,
    ...(secret === undefined ? {} : { secret }),
    ...(accessToken === undefined ? {} : { accessToken: () => accessToken(record) }),
  });
  const timeouts = toTimeouts(filled.record, deps.env);
  const input = createInputPolicy({
    server: record.name,
    ...(onElicitation === undefined ? {} : { onElicitation }),
    ...(roots === undefined ? {} : { roots }),
  });
  const start: ConnectStart = { record: filled.record, secrets: filled.secrets, timeouts, input, deps };
  const connected = filled.record.url === undefined ? await connectStdio(start) : await connectHttp(start);
  return createConnection({ record, timeouts, clock: deps.clock, logger: deps.logger, ...connected });
}
