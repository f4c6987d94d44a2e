import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type ForeignServer, readForeignServers } from '../mcp/foreign-file.ts';
import { requireServerRecord } from '../mcp/record.ts';
import { readServerFile, updateServerFile } from '../mcp/server-file.ts';
import { EngineError } from '../protocol/error.ts';
import { type Environment, toShownPath } from '../store/paths.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import { sayTrust, target } from './mcp.ts';
import type { FileFlags } from './mcp-record.ts';
import { fileMode, fileToChange, isSameName, putServer, serverFiles } from './mcp-records.ts';
import type { CommonOptions } from './command.ts';
import { openProject, type Project } from './project.ts';
import { toTable } from './table.ts';

interface Found extends ForeignServer {
  /** The file it stands in. */
  readonly from: string;
}

/**
 * `vibe-bus mcp import [file]`: shows which servers of other programs would be added, and adds them after a yes. What is
 * there already is left as it is.
 */
export async function importServers(
  io: CliIo,
  source: string | undefined,
  options: CommonOptions & FileFlags & { readonly yes?: boolean },
): Promise<ExitCode> {
  const project = await openProject(io, options);
  const file = fileToChange(project, options);
  const found = await findServers(io, project, source);
  const known = (await readServerFile(file)).servers.map((server) => server.name);
  const { wanted, left } = sort(found, known);
  if (options.json === true) {
    if (options.yes === true) await write(project, file, wanted);
    const shown = {
      file,
      added: options.yes === true ? wanted.map(({ name }) => name) : [],
      servers: wanted.map(({ given, name, from, notes }) => ({ given, name, from, notes })),
      left: left.map(({ server, why }) => ({ given: server.given, from: server.from, why })),
    };
    io.out(`${JSON.stringify(shown)}\n`);
    return exitCodes.ok;
  }

  const rows = [
    ...wanted.map((server) => ['add', describeName(server), describeTarget(server), toShownPath(server.from, io.env)]),
    ...left.map(({ server, why }) => ['leave', describeName(server), why, toShownPath(server.from, io.env)]),
  ];
  io.out(toTable(rows));
  for (const { name, notes } of wanted) for (const note of notes) io.out(toTable([[`${name}: ${note}`]]));
  if (wanted.length === 0) {
    io.out('There is nothing to add.\n');
    return exitCodes.ok;
  }
  const shownFile = toShownPath(file, io.env);
  if (options.yes !== true) {
    if (!io.canAsk) throw new UsageError('there is no terminal to ask on; add --yes to add these without a question');
    const answer = await io.ask(`Add ${wanted.length === 1 ? 'it' : `these ${wanted.length}`} to ${shownFile}? [y/N] `);
    if (!/^(y|yes)$/i.test(answer.trim())) {
      io.out('Nothing was changed.\n');
      return exitCodes.failed;
    }
  }
  await write(project, file, wanted);
  io.out(`${wanted.length} added to ${shownFile}\n`);
  if (file === serverFiles(project).projectFile) sayTrust(io);
  return exitCodes.ok;
}

async function write(project: Project, file: string, wanted: readonly Found[]): Promise<void> {
  if (wanted.length === 0) return;
  await updateServerFile(
    file,
    (servers) => wanted.reduce((all, { name, record }) => putServer(all, { name, value: record }), servers),
    fileMode(project, file),
  );
}

interface Sorted {
  readonly wanted: readonly Found[];
  readonly left: readonly { readonly server: Found; readonly why: string }[];
}

function sort(found: readonly Found[], known: readonly string[]): Sorted {
  const wanted: Found[] = [];
  const left: { server: Found; why: string }[] = [];
  for (const server of found) {
    const isThere = [...known, ...wanted.map(({ name }) => name)].some((name) => isSameName(name, server.name));
    const why = server.problem ?? (isThere ? 'a server of that name is there already' : undefined);
    if (why === undefined) wanted.push(server);
    else left.push({ server, why });
  }
  return { wanted, left };
}

function describeName({ given, name }: Found): string {
  return given === name || name === '' ? given : `${given} as ${name}`;
}

function describeTarget({ name, record }: Found): string {
  return target(requireServerRecord({ ...record, name }));
}

/** @throws UsageError when no file is named and none is where it usually lies; EngineError for a file that cannot be read */
async function findServers(io: CliIo, project: Project, source: string | undefined): Promise<readonly Found[]> {
  const usual = usualFiles(project.root, io.env, process.platform);
  const isUsual = source === undefined || usual.some(({ program }) => program === source);
  if (!isUsual) return await readServers(path.resolve(io.cwd, source));
  const files = usual.filter(({ program }) => source === undefined || program === source).map(({ file }) => file);
  const found: Found[] = [];
  let seen = 0;
  for (const file of files) {
    const servers = await readServers(file).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (servers === undefined) continue;
    seen += 1;
    found.push(...servers);
  }
  if (seen > 0) return found;
  const places = files.map((file) => toShownPath(file, io.env)).join(', ');
  throw new UsageError(`no file of another program was found (${places}); name one`);
}

async function readServers(file: string): Promise<readonly Found[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new EngineError('config', `${file}: it cannot be read`, { cause });
  }
  return readForeignServers(text, file).map((server) => ({ ...server, from: file }));
}

function isMissing(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}

/** Where these programs keep their servers, those of the project first. */
function usualFiles(
  root: string,
  env: Environment,
  platform: NodeJS.Platform,
): readonly { readonly program: string; readonly file: string }[] {
  const home = env['HOME'] ?? env['USERPROFILE'] ?? '';
  const config =
    platform === 'win32'
      ? (env['APPDATA'] ?? path.join(home, 'AppData', 'Roaming'))
      : platform === 'darwin'
        ? path.join(home, 'Library', 'Application Support')
        : (env['XDG_CONFIG_HOME'] ?? path.join(home, '.config'));
  return [
    { program: 'cursor', file: path.join(root, '.cursor', 'mcp.json') },
    { program: 'vscode', file: path.join(root, '.vscode', 'mcp.json') },
    { program: 'claude', file: path.join(config, 'Claude', 'claude_desktop_config.json') },
    { program: 'cursor', file: path.join(home, '.cursor', 'mcp.json') },
    { program: 'vscode', file: path.join(config, 'Code', 'User', 'mcp.json') },
  ];
}
