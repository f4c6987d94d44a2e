import path from 'node:path';
import { parseServerRecord } from '../mcp/record.ts';
import { readServerFile, updateServerFile } from '../mcp/server-file.ts';
import { loadServers, type ServerEntry } from '../mcp/servers.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import type { McpServerRecord } from '../protocol/mcp.ts';
import { toShownPath } from '../store/paths.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import { applyFlags, type FileFlags, type RecordFlags } from './mcp-record.ts';
import { fileMode, fileToChange, findServer, isSameName, putServer, serverFiles, sourceOf } from './mcp-records.ts';
import { openMcpSession } from './mcp-session.ts';
import { showTest } from './mcp-use.ts';
import type { CommonOptions } from './command.ts';
import { openProject, type Project } from './project.ts';
import { toTable } from './table.ts';

/** `vibe-bus mcp list`: what is configured, and whether it may start. Starts nothing. */
export async function listServers(io: CliIo, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  const { entries, problems } = await loadServers({ ...serverFiles(project), trusted: project.isTrusted });
  for (const { message } of problems) io.err(`${message}\n`);
  if (options.json === true) {
    io.out(`${JSON.stringify(entries.map(toShown))}\n`);
  } else if (entries.length === 0) {
    io.out(
      'No MCP servers are configured. `vibe-bus mcp add <name> -- <command>` adds one, `vibe-bus mcp import` takes over those of other programs.\n',
    );
  } else {
    io.out(toTable(entries.map((entry) => [entry.name, entry.source, entry.state, describe(entry)])));
  }
  return problems.length === 0 ? exitCodes.ok : exitCodes.failed;
}

/** `vibe-bus mcp add <name>`: tries the server, then writes it down. */
export async function addServer(
  io: CliIo,
  given: { readonly name: string; readonly command: readonly string[] },
  options: CommonOptions & FileFlags & RecordFlags & { readonly test: boolean },
): Promise<ExitCode> {
  const project = await openProject(io, options);
  const file = fileToChange(project, options);
  const taken = (await readServerFile(file)).servers.find((server) => isSameName(server.name, given.name));
  if (taken !== undefined) {
    throw new UsageError(`\`${taken.name}\` is there already; change it with \`vibe-bus mcp edit ${taken.name}\``);
  }
  if (given.command.length === 0 && options.url === undefined) {
    throw new UsageError('a server needs a command after `--`, or --url');
  }
  const record = applyFlags({}, given.command, options, (name) => path.resolve(io.cwd, name));
  return await tryAndWrite(io, project, { file, name: given.name, record, verb: 'added to' }, options);
}

/** `vibe-bus mcp edit <name>`: changes the fields that are named, tries the server, writes it down. */
export async function editServer(
  io: CliIo,
  given: { readonly name: string; readonly command: readonly string[] },
  options: CommonOptions & FileFlags & RecordFlags & { readonly test: boolean },
): Promise<ExitCode> {
  const project = await openProject(io, options);
  const { file, server } = await findServer(io, project, given.name, options);
  const before = isJsonObject(server.value) ? server.value : {};
  const record = applyFlags(before, given.command, options, (name) => path.resolve(io.cwd, name));
  if (JSON.stringify(record) === JSON.stringify(before)) throw new UsageError('no change is named; see --help');
  return await tryAndWrite(io, project, { file, name: server.name, record, verb: 'changed in' }, options);
}

/** `vibe-bus mcp remove <name>`: at once, with everything that is stored for it. */
export async function removeServer(io: CliIo, name: string, options: CommonOptions & FileFlags): Promise<ExitCode> {
  const project = await openProject(io, options);
  const { file, server } = await findServer(io, project, name, options);
  await using session = await openMcpSession(io, project, project.isTrusted);
  await session.mcp.remove(sourceOf(project, file), server.name);
  done(io, options, server.name, 'removed from', file);
  return exitCodes.ok;
}

interface Change {
  readonly file: string;
  readonly name: string;
  readonly record: JsonObject;
  readonly verb: string;
}

async function tryAndWrite(
  io: CliIo,
  project: Project,
  { file, name, record, verb }: Change,
  options: CommonOptions & { readonly test: boolean },
): Promise<ExitCode> {
  const check = parseServerRecord(record, name);
  if (!check.ok) throw new UsageError(`${name}: ${check.problem}`);
  if (options.test && check.record.enabled) {
    await using session = await openMcpSession(io, project, project.isTrusted);
    const result = await session.mcp.test({ ...record, name }, sourceOf(project, file));
    if (!result.ok) {
      showTest(io, name, result, options);
      if (options.json !== true) io.err('  Nothing was saved; --no-test saves it without trying.\n');
      return exitCodes.failed;
    }
    if (options.json !== true) showTest(io, name, result, options);
  }
  await updateServerFile(file, (servers) => putServer(servers, { name, value: record }), fileMode(project, file));
  done(io, options, name, verb, file);
  if (sourceOf(project, file) === 'project') sayTrust(io);
  return exitCodes.ok;
}

function done(io: CliIo, options: CommonOptions, name: string, verb: string, file: string): void {
  if (options.json === true) io.out(`${JSON.stringify({ name, file })}\n`);
  else io.out(`${name} was ${verb} ${toShownPath(file, io.env)}\n`);
}

export function sayTrust(io: CliIo): void {
  io.err('It belongs to the project now: `vibe-bus trust` allows it.\n');
}

/** What starts, without arguments: they may hold secrets. */
function describe(entry: ServerEntry): string {
  if (!('record' in entry)) return entry.state === 'needs_trust' ? '`vibe-bus trust` allows it' : entry.problem;
  return target(entry.record);
}

export function target(record: McpServerRecord): string {
  if (record.url === undefined) return `${record.type} ${record.command ?? ''}`;
  return `${record.type} ${URL.canParse(record.url) ? new URL(record.url).host : 'address with a placeholder'}`;
}

function toShown(entry: ServerEntry): JsonObject {
  const { name, source, state } = entry;
  if (!('record' in entry)) return { name, source, state, problem: entry.problem };
  const { type, command, url, requires_sandbox } = entry.record;
  return {
    name,
    source,
    state,
    transport: type,
    ...(command === undefined ? {} : { command }),
    ...(url !== undefined && URL.canParse(url) ? { host: new URL(url).host } : {}),
    requires_sandbox,
  };
}
