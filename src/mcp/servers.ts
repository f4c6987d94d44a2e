import { EngineError, messageOf } from '../protocol/error.ts';
import type { McpServerRecord, McpSource } from '../protocol/mcp.ts';
import { parseServerRecord, requireServerRecord } from './record.ts';
import { readServerFile, type RawServer } from './server-file.ts';

/** One server as configured, usable or not. */
export type ServerEntry =
  | {
      readonly name: string;
      readonly source: McpSource;
      readonly state: 'ready' | 'disabled';
      readonly record: McpServerRecord;
    }
  | {
      readonly name: string;
      readonly source: McpSource;
      readonly state: 'invalid' | 'shadowed' | 'needs_trust';
      readonly problem: string;
      /** Absent for a record of the embedding program. */
      readonly file?: string;
    };

export interface ServerList {
  readonly entries: readonly ServerEntry[];
  /** Files that could not be read as a whole; the other file still counts. */
  readonly problems: readonly { readonly file: string; readonly message: string }[];
}

export interface ServerSources {
  /** Records of the embedding program: first, and always trusted. */
  readonly inline?: readonly unknown[];
  readonly userFile?: string;
  readonly projectFile?: string;
  /** Whether the project's own file may be used (PD7). */
  readonly trusted: boolean;
}

/**
 * All configured servers, the user's before the project's (mcp-host 3.3). The first usable record of a name wins; an
 * invalid one never hides another. Never throws: a broken file is a problem of the list.
 */
export async function loadServers(sources: ServerSources): Promise<ServerList> {
  const problems: { file: string; message: string }[] = [];
  const read = async (file: string | undefined): Promise<readonly RawServer[]> => {
    if (file === undefined) return [];
    try {
      return (await readServerFile(file)).servers;
    } catch (error) {
      problems.push({ file, message: messageOf(error) });
      return [];
    }
  };
  const [user, project] = await Promise.all([read(sources.userFile), read(sources.projectFile)]);
  const inline = (sources.inline ?? []).map((value) => toEntry({ source: 'inline' }, value, undefined));
  const fromUser = { source: 'user', file: sources.userFile } as const;
  const fromProject = { source: 'project', file: sources.projectFile } as const;
  const entries = mergeServers([
    inline,
    user.map((server) => toEntry(fromUser, server.value, server.name)),
    project.map((server) => toEntry(fromProject, server.value, server.name)),
  ]);
  return { entries: sources.trusted ? entries : entries.map(distrust), problems };
}

/**
 * The names of records that are to be written to one file.
 * @throws EngineError `config`, code `config_invalid`, for an invalid record and a name that is there twice
 */
export function requireServerNames(records: readonly unknown[]): readonly string[] {
  const names = records.map((record) => requireServerRecord(record).name);
  const taken = new Map<string, string>();
  for (const name of names) {
    const holder = taken.get(name.toLowerCase());
    if (holder !== undefined)
      throw new EngineError('config', `${name}: ${sameName(holder)}.`, { code: 'config_invalid' });
    taken.set(name.toLowerCase(), name);
  }
  return names;
}

function sameName(holder: string): string {
  return `name is already used by \`${holder}\` (case is ignored)`;
}

function toEntry(
  { source, file }: { readonly source: McpSource; readonly file?: string | undefined },
  value: unknown,
  name: string | undefined,
): ServerEntry {
  const check = parseServerRecord(value, name);
  if (!check.ok) {
    const place = file === undefined ? {} : { file };
    return { name: check.name, source, state: 'invalid', problem: check.problem, ...place };
  }
  const state = check.record.enabled ? 'ready' : 'disabled';
  return { name: check.record.name, source, state, record: check.record };
}

/** Joins lists of records, earlier lists first. Names compare without case. */
export function mergeServers(lists: readonly (readonly ServerEntry[])[]): readonly ServerEntry[] {
  const taken = new Map<string, { name: string; list: number }>();
  return lists.flatMap((entries, list) =>
    entries.map((entry): ServerEntry => {
      if (!('record' in entry)) return entry;
      const holder = taken.get(entry.name.toLowerCase());
      if (holder === undefined) {
        taken.set(entry.name.toLowerCase(), { name: entry.name, list });
        return entry;
      }
      const { name, source } = entry;
      return holder.list === list
        ? { name, source, state: 'invalid', problem: sameName(holder.name) }
        : { name, source, state: 'shadowed', problem: `the server \`${holder.name}\` of another list comes first` };
    }),
  );
}

function distrust(entry: ServerEntry): ServerEntry {
  if (entry.source !== 'project' || !('record' in entry)) return entry;
  const problem = "This project's servers are not trusted yet.";
  return { name: entry.name, source: entry.source, state: 'needs_trust', problem };
}
