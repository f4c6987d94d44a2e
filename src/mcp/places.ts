import { EngineError } from '../protocol/error.ts';
import type { McpServerInfo, McpServerRecord } from '../protocol/mcp.ts';
import { mcpError } from './errors.ts';
import type { Place } from './place.ts';
import type { ServerEntry } from './servers.ts';

type UsableEntry = Extract<ServerEntry, { readonly record: McpServerRecord }>;

/** The servers of an engine, as its records say. */
export interface Places {
  /** Takes over a new list of records: servers that start otherwise are ended, the others keep their connection. */
  apply(entries: readonly ServerEntry[]): Promise<void>;
  /** @throws EngineError `not_found`, `config_invalid`, `needs_trust` */
  get(name: string): Place;
  find(name: string): Place | undefined;
  all(): readonly Place[];
  infos(): readonly McpServerInfo[];
  stop(): Promise<void>;
}

export function createPlaces(open: (entry: UsableEntry) => Place): Places {
  const places = new Map<string, Place & { readonly entry: UsableEntry }>();
  let entries: readonly ServerEntry[] = [];

  async function end(name: string): Promise<void> {
    const place = places.get(name);
    if (place === undefined) return;
    places.delete(name);
    place.shelf.unloadAll();
    await place.stop();
  }

  return {
    async apply(next) {
      const wanted = new Map(next.filter(isReady).map((entry) => [entry.name, entry]));
      const ending: Promise<void>[] = [];
      for (const [name, place] of places) {
        const entry = wanted.get(name);
        if (entry === undefined || startKey(entry) !== startKey(place.entry)) ending.push(end(name));
      }
      // why: one process per server at a time, so the old one is gone before the new one may start
      await Promise.all(ending);
      entries = next;
      for (const [name, entry] of wanted) {
        const place = places.get(name);
        if (place === undefined) {
          places.set(name, { ...open(entry), entry });
        } else {
          place.setRecord(entry.record);
        }
      }
    },
    get(name) {
      const place = places.get(name);
      if (place !== undefined) return place;
      throw whyNot(name, entries);
    },
    find: (name) => places.get(name),
    all: () => [...places.values()],
    infos: () =>
      entries.map((entry) => (isReady(entry) ? (places.get(entry.name)?.slot.info() ?? toInfo(entry)) : toInfo(entry))),
    async stop() {
      // why: the registry ends with the engine, so nobody is told about every single tool
      await Promise.all([...places.values()].map((place) => place.stop()));
    },
  };
}

function isReady(entry: ServerEntry): entry is UsableEntry {
  return entry.state === 'ready';
}

/** Everything a connection is made of: when it changes, the running one is no longer the configured one. */
function startKey(entry: UsableEntry): string {
  const { type, command, args, env, cwd, url, headers, protocol, requires_sandbox, sandbox } = entry.record;
  return JSON.stringify([
    entry.source,
    type,
    command,
    args,
    env,
    cwd,
    url,
    headers,
    protocol,
    requires_sandbox,
    sandbox,
  ]);
}

function toInfo(entry: ServerEntry): McpServerInfo {
  const { name, source } = entry;
  if ('record' in entry) {
    return { name, source, state: isReady(entry) ? 'stopped' : 'disabled', transport: entry.record.type };
  }
  const code = entry.state === 'needs_trust' ? 'needs_trust' : 'config_invalid';
  return { name, source, state: entry.state, transport: 'stdio', last_error: { code, message: entry.problem } };
}

function whyNot(name: string, entries: readonly ServerEntry[]): EngineError {
  const entry = entries.find((candidate) => candidate.name === name && candidate.state !== 'shadowed');
  if (entry === undefined) return mcpError('not_found', `there is no MCP server \`${name}\``);
  if ('record' in entry) return mcpError('not_found', `the MCP server \`${name}\` is disabled`);
  if (entry.state === 'needs_trust') return mcpError('needs_trust', entry.problem);
  return new EngineError('config', `${entry.file ?? 'inline servers'}: ${name}: ${entry.problem}.`, {
    code: 'config_invalid',
  });
}
