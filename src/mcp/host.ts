import { withFields } from '../protocol/deps.ts';
import { messageOf } from '../protocol/error.ts';
import { untilAborted } from '../protocol/signal.ts';
import { projectPaths, userPaths } from '../store/paths.ts';
import { createServerTester } from './check.ts';
import type { ListOptions, McpConnection } from './connection.ts';
import { mcpError } from './errors.ts';
import { watchFiles } from './file-watch.ts';
import { toHealth } from './health.ts';
import { createHostAuth } from './host-auth.ts';
import type { McpHost, McpHostOptions } from './host-options.ts';
import { createOpener } from './opener.ts';
import { createPlace, type Place } from './place.ts';
import { createPlaces } from './places.ts';
import { updateServerFile } from './server-file.ts';
import { loadServers, requireServerNames, type ServerList } from './servers.ts';
import { createServerSlot } from './server-slot.ts';
import { createToolShelf } from './tool-shelf.ts';

/** The MCP servers of one engine. Nothing is read or started before `start`. */
export function createMcpHost(options: McpHostOptions): McpHost {
  const { clock, publish, registry } = options;
  const logger = withFields(options.logger, { target: 'vibe::mcp' });
  const env = options.env ?? process.env;
  const auth = createHostAuth(options, logger, env, (server) => places.find(server)?.slot.record().url);
  const opener = createOpener(options, logger, env, auth.deps);
  const tester = createServerTester({ clock, logger, open: opener.openForTest });
  const places = createPlaces((entry) => {
    const { record, source } = entry;
    const shared = { clock, logger, publish };
    const shelf = createToolShelf({
      ...shared,
      record,
      registry,
      pins: opener.pins(),
      call: async (name, args, { context, ...callOptions }) => {
        const call = async () => {
          const connection = await place.connection(context.signal, options.tenantOf?.(context));
          return await connection.callTool(name, args, callOptions);
        };
        return await auth.withToken(place, call, context.signal);
      },
    });
    const place = createPlace(
      (tenant) =>
        createServerSlot({
          ...shared,
          record: shelf.record(),
          source,
          open: (current, signal) => opener.open(current, { source, tenant }, signal),
          onTools: (list) => {
            if (tenant === undefined) shelf.update(list);
          },
        }),
      shelf,
    );
    return place;
  });
  const files = {
    user: options.configDir === undefined ? undefined : userPaths(options.configDir).mcp,
    project: projectPaths(options.projectRoot).mcp,
  };
  let watching: Disposable | undefined;
  let applying: Promise<void> = Promise.resolve();
  let connecting: Promise<void> = Promise.resolve();
  let stopping: Promise<void> | undefined;

  async function read(): Promise<ServerList> {
    return await loadServers({
      inline: options.records ?? [],
      projectFile: files.project,
      trusted: options.trusted,
      ...(files.user === undefined ? {} : { userFile: files.user }),
    });
  }

  /** One after the other: two readings of the files must not be applied in the wrong order. */
  function reload(): Promise<void> {
    applying = applying.catch(() => {}).then(applyFiles);
    return applying;
  }

  async function applyFiles(): Promise<void> {
    if (stopping !== undefined) return;
    const list = await read();
    for (const problem of list.problems) logger.warn('mcp.servers.unreadable', { problem: problem.message });
    await places.apply(list.entries);
  }

  /** Nobody waits for slow servers unless he asks to (`ready`); each reports for itself, and this never rejects. */
  function connectEager(): void {
    if (options.startsEager === false) return;
    const eager = places.all().filter((place) => place.shelf.wantsStart());
    const work = eager.map((place) => listTools(place));
    connecting = Promise.allSettled([connecting, ...work]).then(() => {});
  }

  async function change(source: 'user' | 'project', edit: Parameters<typeof updateServerFile>[1]): Promise<void> {
    const file = files[source];
    if (file === undefined) throw mcpError('config_invalid', 'there is no folder for the configuration of this user');
    let before: readonly string[] = [];
    const saved = await updateServerFile(
      file,
      (servers) => {
        before = servers.map(({ name }) => name);
        return edit(servers);
      },
      { clock, ...(source === 'user' ? { mode: 0o600 } : {}) },
    );
    logger.info('mcp.servers.save', { server_count: saved.servers.length });
    await reload();
    const kept = new Set(saved.servers.map(({ name }) => name));
    // why: what a removed server kept must not become that of a new one of its name
    await Promise.all(before.filter((name) => !kept.has(name)).map(forget));
    connectEager();
  }

  async function forget(name: string): Promise<void> {
    await auth.forget(name);
    await options.sandbox?.forget(name);
  }

  function listTools(place: Place, listOptions?: ListOptions) {
    return auth.withToken(place, () => place.slot.listTools(listOptions), listOptions?.signal);
  }

  /** Does something with the shared connection of a server. */
  function use<T>(server: string, work: (connection: McpConnection) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const place = places.get(server);
    return auth.withToken(place, async () => await work(await place.slot.connection(signal)), signal);
  }

  function split(id: string): { place: Place; tool: string } {
    const slash = id.indexOf('/');
    return { place: places.get(slash < 0 ? id : id.slice(0, slash)), tool: slash < 0 ? '' : id.slice(slash + 1) };
  }

  return {
    async start() {
      await opener.prepare();
      await reload();
      if (options.watchFiles === true) {
        const known = [files.user, files.project].filter((file) => file !== undefined);
        watching = watchFiles(known, () => {
          reload()
            .then(connectEager)
            .catch((error: unknown) => logger.warn('mcp.servers.unreadable', { problem: messageOf(error) }));
        });
      }
      connectEager();
    },
    ready: (signal) => (signal === undefined ? connecting : untilAborted(connecting, signal)),
    servers: () => places.infos(),
    async tools(server, listOptions) {
      const place = places.get(server);
      await listTools(place, listOptions);
      return place.shelf.tools();
    },
    knownTools: () => places.all().flatMap((place) => place.shelf.tools()),
    async load(id, loadOptions = {}) {
      const started = clock.elapsed();
      const { place, tool } = split(id);
      place.slot.allowStart();
      await listTools(place, loadOptions);
      return place.shelf.load(tool, started);
    },
    unload(id) {
      const { place, tool } = split(id);
      place.shelf.unload(tool);
    },
    async call(server, tool, args, callOptions = {}) {
      const place = places.get(server);
      const { signal, tenant } = callOptions;
      const call = async () => await (await place.connection(signal, tenant)).callTool(tool, args, callOptions);
      return await auth.withToken(place, call, signal);
    },
    prompts: async (server, list) => await use(server, (open) => open.list('prompts/list', list), list?.signal),
    resources: async (server, list) => await use(server, (open) => open.list('resources/list', list), list?.signal),
    resourceTemplates: async (server, list) =>
      await use(server, (open) => open.list('resources/templates/list', list), list?.signal),
    prompt: async (server, params, call) =>
      await use(server, (open) => open.read('prompts/get', params, call), call?.signal),
    resource: async (server, uri, call) =>
      await use(server, (open) => open.read('resources/read', { uri }, call), call?.signal),
    test: (record, source = 'inline') => tester.test(record, source),
    async approve(id) {
      const { place, tool } = split(id);
      if (tool === '') {
        opener.approveStart(place.slot.record());
        place.slot.allowStart();
      } else {
        place.shelf.approve(tool);
      }
      await opener.flush();
    },
    async save(source, servers) {
      const names = requireServerNames(servers);
      await change(source, () => servers.map((value, index) => ({ name: names[index] ?? '', value })));
    },
    async remove(source, name) {
      await change(source, (servers) => servers.filter((server) => server.name !== name));
    },
    reload,
    authorize: async (server, form = {}) => await auth.authorize(places.get(server), form),
    tokenStatus: async (server) => await auth.status(places.get(server)),
    signOut: async (server) => await auth.signOut(places.get(server)),
    importTokens: (file) => auth.importTokens(file),
    disconnect: (server) => places.get(server).disconnect(),
    async health(transport) {
      return toHealth(await read(), { userFile: files.user ?? '', transport, env });
    },
    stop() {
      stopping ??= (async () => {
        watching?.[Symbol.dispose]();
        await applying;
        await auth.stop();
        await Promise.all([places.stop(), tester.stop()]);
        await opener.flush();
      })();
      return stopping;
    },
  };
}
