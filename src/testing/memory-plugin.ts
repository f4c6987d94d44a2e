import type { PluginDeclaration } from '../plugins/declaration.ts';
import type { Plugin } from '../plugins/server.ts';

/**
 * Declares a plugin made with `createPlugin` so that an engine connects to it in memory: the same JSON-RPC lines, handshake,
 * hooks, deadlines and shutdown as with a process, without one. `createEngine` rejects when it does not start.
 * @param name what the engine knows it by; it stands in every message
 */
export function inMemoryPlugin(name: string, plugin: Pick<Plugin, 'serve'>): PluginDeclaration {
  return { name, command: [], required: true, serve: (streams) => plugin.serve({ ...streams, exit: false }) };
}
