import { z } from 'zod';
import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import { parseJsonText } from '../store/json-file.ts';
import { isServerName, parseServerRecord } from './record.ts';

/** A server as another program has it written down, and what would become of it here. */
export interface ForeignServer {
  /** As in the file. */
  readonly given: string;
  /** The name it would have here. */
  readonly name: string;
  readonly record: JsonObject;
  /** Why it cannot be taken over; undefined when it can. */
  readonly problem: string | undefined;
  /** What its user has to do before it works. */
  readonly notes: readonly string[];
}

/**
 * The servers in a file of Claude Desktop, Cursor, VS Code or any program with `mcpServers`, `servers` or a list of records,
 * also inside `mcp` as in the settings of VS Code. Comments and trailing commas are passed over.
 * @throws EngineError `config`, code `config_invalid`, naming the file
 */
export function readForeignServers(text: string, file: string): readonly ForeignServer[] {
  const root = parseJsonText(text.trim() === '' ? '{}' : toPlainJson(text), file, z.custom<Json>());
  return findRecords(root, file).map(([given, value]) => toForeign(given, value));
}

function findRecords(root: Json, file: string): readonly (readonly [string, Json])[] {
  if (Array.isArray(root)) return root.map((value: Json) => [nameIn(value), value] as const);
  const places = isJsonObject(root) ? [root, ...[root['mcp']].filter(isJsonObject)] : [];
  for (const place of places) {
    for (const key of ['mcpServers', 'servers']) {
      const records = ownValue(place, key);
      if (isJsonObject(records)) return Object.entries(records);
    }
  }
  throw new EngineError('config', `${file}: it holds no \`mcpServers\` and no \`servers\``, { code: 'config_invalid' });
}

function nameIn(value: Json): string {
  const name = isJsonObject(value) ? ownValue(value, 'name') : undefined;
  return typeof name === 'string' ? name : '';
}

function toForeign(given: string, value: Json): ForeignServer {
  const name = isServerName(given) ? given : toServerName(given);
  const { name: _, ...record } = isJsonObject(value) ? value : {};
  const check = parseServerRecord(isJsonObject(value) ? record : value, name);
  return { given, name, record, problem: check.ok ? undefined : check.problem, notes: notesOn(record) };
}

/** The nearest name that is allowed here. */
function toServerName(given: string): string {
  return given
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replaceAll(/_{2,}/g, '_')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 32)
    .replace(/[_-]+$/, '');
}

/** What other programs ask their user for, or read from files, is not known here. */
function notesOn(record: JsonObject): readonly string[] {
  const text = JSON.stringify(record);
  const inputs = [...text.matchAll(/\$\{input:([^}"]{1,64})\}/g)].map((match) => match[1] ?? '');
  return [
    ...[...new Set(inputs)].map((id) => `replace \`\${input:${id}}\` by \`\${NAME}\` and set that variable`),
    ...(Object.hasOwn(record, 'envFile') ? ['`envFile` is not read: name its variables in `env`'] : []),
  ];
}

/** JSON without comments and trailing commas; blanks take their place, so that lines and columns stay. */
function toPlainJson(text: string): string {
  const blank = (part: string): string => part.replaceAll(/[^\n]/g, ' ');
  const strings = '"(?:[^"\\\\\\n]|\\\\.)*"';
  const withoutComments = text.replaceAll(new RegExp(`${strings}|//[^\\n]*|/\\*[^]*?\\*/`, 'g'), (part) =>
    part.startsWith('"') ? part : blank(part),
  );
  return withoutComments.replaceAll(new RegExp(`${strings}|,(?=\\s*[}\\]])`, 'g'), (part) =>
    part === ',' ? ' ' : part,
  );
}
