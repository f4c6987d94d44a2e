import type { McpConnection } from '../mcp/connection.ts';
import { ownConnection } from './owned-connection.ts';
import type { Supervisor } from './supervisor.ts';

/** The same connection with its calls going through an actor's mailbox. */
export function ownMcpConnection(supervisor: Supervisor, connection: McpConnection): McpConnection {
  let isStopping = false;
  const owned = ownConnection(supervisor, {
    name: connection.server_name,
    kind: 'mcp',
    connection,
    ended: connection.exited.then((exit) => {
      if (isStopping || exit.exit_code === 0) return undefined;
      return `MCP server \`${connection.server_name}\` ended (${exit.signal ?? `exit code ${exit.exit_code ?? 'unknown'}`})`;
    }),
    stop: () => connection.stop(),
  });
  return {
    ...connection,
    listTools: (options) => owned.ask((open) => open.listTools(options)),
    callTool: (name, args, options) => owned.ask((open) => open.callTool(name, args, options)),
    list: (method, options) => owned.ask((open) => open.list(method, options)),
    read: (method, params, options) => owned.ask((open) => open.read(method, params, options)),
    async stop() {
      isStopping = true;
      await owned.stop();
      return await connection.stop();
    },
  };
}
