import { hasPlaceholder } from '../mcp/server-url.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import { UsageError } from './failure.ts';

/** Which of the two server files a command changes. */
export interface FileFlags {
  readonly project?: boolean;
}

/** What `mcp add` and `mcp edit` are told about a server. */
export interface RecordFlags {
  readonly url?: string;
  readonly type?: string;
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly cwd?: string;
  readonly protocol?: string;
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly eager?: readonly string[];
  readonly requiresSandbox?: boolean;
  readonly enable?: boolean;
  readonly disable?: boolean;
  readonly unset?: readonly string[];
}

/**
 * The record that the command line describes, over an earlier one: a list or a pair that is named replaces or joins what is
 * there, everything else stays.
 * @param absolute makes a path absolute that was typed relative to the current folder
 * @throws UsageError
 */
export function applyFlags(
  before: JsonObject,
  command: readonly string[],
  flags: RecordFlags,
  absolute: (file: string) => string,
): JsonObject {
  if (flags.enable === true && flags.disable === true) throw new UsageError('use only one of --enable and --disable');
  if (command.length > 0 && flags.url !== undefined) throw new UsageError('a server has a command or --url, not both');
  const record: { [key: string]: Json } = { ...before };
  if (command.length > 0) {
    const [program = '', ...args] = command;
    Object.assign(record, { command: program, args });
    for (const field of ['url', 'serverUrl', 'headers']) delete record[field];
  }
  if (flags.url !== undefined) {
    record['url'] = flags.url;
    for (const field of ['serverUrl', 'command', 'args', 'env', 'cwd', 'sandbox']) delete record[field];
  }
  const simple = { type: flags.type, cwd: flags.cwd, protocol: flags.protocol };
  for (const [field, value] of Object.entries(simple)) if (value !== undefined) record[field] = value;
  if (flags.env !== undefined)
    record['env'] = joined(
      record['env'],
      flags.env.map((text) => toPair(text, '=', '--env')),
    );
  if (flags.header !== undefined) {
    record['headers'] = joined(
      record['headers'],
      flags.header.map((text) => toPair(text, ':', '--header')),
    );
  }
  const toPath = (file: string): string => (hasPlaceholder(file) ? file : absolute(file));
  const sandbox = lists({ read: flags.read?.map(toPath), write: flags.write?.map(toPath) });
  if (sandbox.length > 0) record['sandbox'] = joined(record['sandbox'], sandbox);
  const tools = lists({ allow: flags.allow, deny: flags.deny, eager: flags.eager });
  if (tools.length > 0) record['tools'] = joined(record['tools'], tools);
  if (flags.requiresSandbox === true) record['requires_sandbox'] = true;
  if (flags.enable === true || flags.disable === true) {
    delete record['enabled'];
    delete record['disabled'];
    if (flags.disable === true) record['enabled'] = false;
  }
  for (const field of flags.unset ?? []) unset(record, field);
  return record;
}

function joined(before: Json | undefined, pairs: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries([...Object.entries(isJsonObject(before) ? before : {}), ...pairs]);
}

function lists(named: {
  readonly [field: string]: readonly string[] | undefined;
}): readonly (readonly [string, Json])[] {
  return Object.entries(named).flatMap(([field, values]) => (values === undefined ? [] : [[field, values] as const]));
}

function toPair(text: string, separator: string, option: string): readonly [string, string] {
  const at = text.indexOf(separator);
  if (at < 1) throw new UsageError(`${option} needs NAME${separator}value`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** `timeouts.probe_ms` is a field of a field. */
function unset(record: { [key: string]: Json }, field: string): void {
  const [outer = '', inner] = field.split(/\.(.*)/s);
  const value = ownValue(record, outer);
  if (value === undefined || (inner !== undefined && !(isJsonObject(value) && Object.hasOwn(value, inner)))) {
    throw new UsageError(`there is no field \`${field}\` to unset`);
  }
  if (inner === undefined || !isJsonObject(value)) {
    delete record[outer];
    return;
  }
  const { [inner]: _, ...rest } = value;
  record[outer] = rest;
}
