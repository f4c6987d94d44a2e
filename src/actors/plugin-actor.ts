import type { PluginConnection } from '../plugins/client.ts';
import { ownConnection } from './owned-connection.ts';
import type { Supervisor } from './supervisor.ts';

/** The same connection with its calls going through an actor's mailbox. */
export function ownPluginConnection(supervisor: Supervisor, connection: PluginConnection): PluginConnection {
  const { name } = connection;
  const owned = ownConnection(supervisor, {
    name,
    kind: 'plugin',
    connection,
    ended: connection.ended.then((end) => {
      if (end.wasStopped || end.isClean) return undefined;
      return `plugin \`${name}\` ended (${end.signal ?? `exit code ${end.code ?? 'unknown'}`})`;
    }),
    stop: () => connection.stop(),
  });
  return {
    name,
    pid: connection.pid,
    get state() {
      return connection.state;
    },
    get pendingCount() {
      return connection.pendingCount;
    },
    announced: connection.announced,
    get tools() {
      return connection.tools;
    },
    agents: connection.agents,
    callTool: (tool, input, context) => owned.ask((open) => open.callTool(tool, input, context)),
    beforeTool: (tool, input, signal) => owned.ask((open) => open.beforeTool(tool, input, signal)),
    refreshTools: () => owned.ask((open) => open.refreshTools()),
    request: (method, params, timeoutMs, signal) =>
      owned.ask((open) => open.request(method, params, timeoutMs, signal)),
    async stop() {
      await owned.stop();
      await connection.stop();
    },
    ended: connection.ended,
  };
}
