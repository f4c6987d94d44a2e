import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../protocol/deps.ts';
import { EngineError, toEngineError } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import { writeFileAtomic } from '../store/atomic-file.ts';
import { parseJsonText } from '../store/json-file.ts';
import { withLock } from '../store/lock.ts';
import { knownRecordFields } from './record.ts';

/** How the records stand in a file: a list, or an object by name under one of two keys (mcp-host 3.1). */
export type ServerFileShape = 'array' | 'mcpServers' | 'servers';

export interface RawServer {
  /** The key, or the `name` field in the list shape; empty when there is none. */
  readonly name: string;
  readonly value: Json;
}

export interface ServerFile {
  readonly shape: ServerFileShape;
  readonly servers: readonly RawServer[];
  /** Everything at the top level besides the records. */
  readonly others: JsonObject;
}

const objectShapes = ['mcpServers', 'servers'] as const;
const emptyFile: ServerFile = { shape: 'array', servers: [], others: {} };

/**
 * Reads the text of a server file. An empty text means no servers.
 * @throws EngineError `config`, code `config_invalid`, naming the file, for broken JSON with line and column
 */
export function parseServerFile(text: string, file: string): ServerFile {
  if (text.trim() === '') return emptyFile;
  const root = parseJsonText(text, file, z.custom<Json>());
  const invalid = (problem: string): EngineError =>
    new EngineError('config', `${file}: ${problem}`, { code: 'config_invalid' });

  if (Array.isArray(root)) {
    const servers = root.map((value: Json) => ({ name: nameOf(value), value }));
    return { shape: 'array', servers, others: {} };
  }
  if (!isJsonObject(root)) throw invalid('expected a list of servers or an object with `mcpServers` or `servers`');
  const shapes = objectShapes.filter((key) => Object.hasOwn(root, key));
  const [shape] = shapes;
  if (shapes.length > 1) throw invalid('holds both `mcpServers` and `servers`; keep one');
  const { [shape ?? 'mcpServers']: records, ...others } = root;
  if (shape === undefined) {
    if (Object.keys(root).length === 0) return { ...emptyFile, shape: 'mcpServers' };
    throw invalid('expected a list of servers or an object with `mcpServers` or `servers`');
  }
  if (!isJsonObject(records)) throw invalid(`\`${shape}\` must be an object of servers by name`);
  return { shape, servers: Object.entries(records).map(([name, value]) => ({ name, value })), others };
}

/** The text of a server file: its own shape, two spaces, a newline at the end. */
export function formatServerFile(file: ServerFile): string {
  const root =
    file.shape === 'array'
      ? file.servers.map((server) => server.value)
      : { ...file.others, [file.shape]: Object.fromEntries(file.servers.map(({ name, value }) => [name, value])) };
  return `${JSON.stringify(root, null, 2)}\n`;
}

/** The file's servers; none when it does not exist. @throws EngineError `config`, `storage` */
export async function readServerFile(file: string): Promise<ServerFile> {
  try {
    return parseServerFile(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return emptyFile;
    const known = toEngineError(error, 'storage');
    throw known;
  }
}

export interface ServerFileUpdate {
  /** Permission bits of a new file. Default 0600. */
  readonly mode?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Changes the list of servers of one file under its lock, reading it afresh (DU3). A record that keeps its name keeps its
 * unknown fields. A file that does not parse is never replaced.
 * @returns the file as written
 * @throws EngineError `config`, `storage`
 */
export async function updateServerFile(
  file: string,
  change: (servers: readonly RawServer[]) => readonly RawServer[],
  options: ServerFileUpdate = {},
): Promise<ServerFile> {
  const { mode, ...lock } = options;
  return await withLock(
    file,
    async () => {
      const current = await readServerFile(file);
      const before = new Map(current.servers.map((server) => [server.name, server.value]));
      const servers = change(current.servers).map(({ name, value }) => ({
        name,
        value: withUnknownFields(value, before.get(name), current.shape === 'array' ? name : undefined),
      }));
      const next: ServerFile = { ...current, servers };
      await writeFileAtomic(file, formatServerFile(next), mode === undefined ? {} : { mode });
      return next;
    },
    lock,
  );
}

/** A record as the file's shape wants it: with its name inside in a list, without it under a key. */
function withUnknownFields(value: Json, before: Json | undefined, nameInside: string | undefined): Json {
  if (!isJsonObject(value)) return value;
  const kept = isJsonObject(before)
    ? Object.entries(before).filter(([key]) => !knownRecordFields.has(key) && !Object.hasOwn(value, key))
    : [];
  const { name: _, ...fields } = value;
  const named = nameInside === undefined ? [] : [['name', nameInside] as const];
  return Object.fromEntries([...named, ...Object.entries(fields), ...kept]);
}

function nameOf(value: Json): string {
  const name = isJsonObject(value) ? ownValue(value, 'name') : undefined;
  return typeof name === 'string' ? name : '';
}
