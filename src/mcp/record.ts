import path from 'node:path';
import { z } from 'zod';
import { EngineError } from '../protocol/error.ts';
import { isJsonObject, ownValue } from '../protocol/json.ts';
import type { McpServerRecord, McpTransportKind } from '../protocol/mcp.ts';
import { oauthSchema } from './oauth/settings.ts';
import { checkServerUrl, hasPlaceholder } from './server-url.ts';

export type RecordCheck =
  | { readonly ok: true; readonly record: McpServerRecord }
  /** `name` is the best name known, for listings; `problem` reads `<field> <rule>`. */
  | { readonly ok: false; readonly name: string; readonly problem: string };

/** The largest duration a record may name: beyond it a timer fires at once (FR11). */
const maxDurationMs = 2_147_483_000;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
const envNamePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;
const headerNamePattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const list = z.array(z.string({ error: 'must be a list of texts' }), { error: 'must be a list of texts' });
const texts = z.record(z.string(), z.string({ error: 'must be a text' }), { error: 'must be an object of texts' });
const line = z.string({ error: 'must be a text' }).min(1, { error: 'must not be empty' });
const flag = z.boolean({ error: 'must be true or false' });
const duration = z
  .int({ error: 'must be a whole number of milliseconds' })
  .min(1, { error: `must be between 1 and ${maxDurationMs}` })
  .max(maxDurationMs, { error: `must be between 1 and ${maxDurationMs}` });
const absolute = z.array(
  z.string({ error: 'must be an absolute path' }).refine(isAbsolutePath, 'must be an absolute path'),
  { error: 'must be a list of absolute paths' },
);

/** The two folders a path may begin with are absolute themselves. */
function isAbsolutePath(value: string): boolean {
  return path.isAbsolute(value) || /^\$\{(?:workspaceFolder|userHome)\}(?:$|[/\\])/.test(value);
}

/** The known fields. Unknown ones are other hosts' and stay in the file untouched, so the object is loose. */
const schema = z.looseObject({
  command: line.optional(),
  args: list.optional(),
  env: texts.optional(),
  cwd: line.optional(),
  url: line.optional(),
  serverUrl: line.optional(),
  type: line.optional(),
  transport: line.optional(),
  headers: texts.optional(),
  enabled: flag.optional(),
  disabled: flag.optional(),
  protocol: z.enum(['auto', 'modern', 'legacy'], { error: 'must be auto, modern or legacy' }).optional(),
  requires_sandbox: flag.optional(),
  sandbox: z
    .looseObject({ read: absolute.optional(), write: absolute.optional() }, { error: 'must be an object' })
    .optional(),
  timeouts: z
    .strictObject(
      {
        probe_ms: duration.optional(),
        start_ms: duration.optional(),
        list_ms: duration.optional(),
        call_ms: duration.optional(),
        call_max_ms: duration.optional(),
        task_max_ms: duration.optional(),
      },
      {
        error: (issue) => (issue.code === 'unrecognized_keys' ? 'holds an unknown name' : 'must be an object'),
      },
    )
    .optional(),
  tools: z
    .looseObject(
      { allow: list.optional(), deny: list.optional(), eager: list.optional(), pinned: list.optional() },
      { error: 'must be an object' },
    )
    .optional(),
  oauth: oauthSchema.optional(),
  directory_id: line.optional(),
});

/** The fields above: everything else in a stored record is kept as it is when the file is written. */
export const knownRecordFields: ReadonlySet<string> = new Set(['name', ...Object.keys(schema.shape)]);

const transportNames: ReadonlyMap<string, McpTransportKind> = new Map([
  ['stdio', 'stdio'],
  ['http', 'http'],
  ['streamable-http', 'http'],
  ['streamableHttp', 'http'],
  ['sse', 'sse'],
]);

/** Whether a server may have this name (mcp-host 3.1); uniqueness is judged by who holds the list. */
export function isServerName(name: string): boolean {
  return namePattern.test(name) && !name.includes('__') && !name.endsWith('_');
}

/** Checks one record of `mcp.json`, or one given by the embedder. Never throws. */
export function parseServerRecord(raw: unknown, nameInFile?: string): RecordCheck {
  const given = isJsonObject(raw) ? ownValue(raw, 'name') : undefined;
  const name = nameInFile ?? (typeof given === 'string' ? given : '');
  const fail = (problem: string): RecordCheck => ({ ok: false, name, problem });

  if (!isJsonObject(raw)) return fail('record must be an object');
  const { oauth } = raw;
  if (isJsonObject(oauth) && Object.hasOwn(oauth, 'client_secret')) {
    return fail('oauth.client_secret must not be in the file; it is entered when connecting');
  }
  if (!isServerName(name)) {
    return fail(
      'name must be 1 to 32 letters, digits, `-` or `_`, start with a letter or digit, hold no `__` and not end in `_`',
    );
  }
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return fail(`${(issue?.path ?? []).map(String).join('.')} ${issue?.message ?? 'is not valid'}`.trim());
  }
  return toRecord(name, parsed.data, fail);
}

function toRecord(name: string, raw: z.infer<typeof schema>, fail: (problem: string) => RecordCheck): RecordCheck {
  if (raw.url !== undefined && raw.serverUrl !== undefined && raw.url !== raw.serverUrl) {
    return fail('url and serverUrl contradict each other');
  }
  const url = raw.url ?? raw.serverUrl;
  if (raw.command === undefined && url === undefined) return fail('command or url is required');
  if (raw.command !== undefined && url !== undefined) return fail('command and url exclude each other');
  if (raw.enabled !== undefined && raw.enabled === raw.disabled)
    return fail('enabled and disabled contradict each other');

  const type = transportOf(raw, url !== undefined);
  if (typeof type === 'string') return fail(type);
  const envName = Object.keys(raw.env ?? {}).find((key) => !envNamePattern.test(key));
  if (envName !== undefined)
    return fail(`env.${envName.slice(0, 64)} must be a letter or \`_\`, then letters, digits or \`_\``);
  const headerProblem = checkHeaders(raw.headers ?? {});
  if (headerProblem !== undefined) return fail(headerProblem);
  if (url !== undefined && raw.requires_sandbox === true) return fail('requires_sandbox needs a command, not a url');
  if (url !== undefined && !hasPlaceholder(url)) {
    const problem = checkServerUrl(url);
    if (problem !== undefined) return fail(`url ${problem}`);
  }
  const { probe_ms, start_ms, list_ms, call_ms, call_max_ms, task_max_ms } = raw.timeouts ?? {};
  return {
    ok: true,
    record: {
      name,
      type: type.kind,
      type_is_fixed: type.isFixed,
      ...(raw.command === undefined ? {} : { command: raw.command }),
      args: raw.args ?? [],
      env: raw.env ?? {},
      ...(raw.cwd === undefined ? {} : { cwd: raw.cwd }),
      ...(url === undefined ? {} : { url }),
      headers: raw.headers ?? {},
      enabled: raw.enabled ?? !(raw.disabled ?? false),
      protocol: raw.protocol ?? 'auto',
      requires_sandbox: raw.requires_sandbox ?? false,
      sandbox: { read: raw.sandbox?.read ?? [], write: raw.sandbox?.write ?? [] },
      timeouts: present({ probe_ms, start_ms, list_ms, call_ms, call_max_ms, task_max_ms }),
      tools: {
        allow: raw.tools?.allow ?? [],
        deny: raw.tools?.deny ?? [],
        eager: raw.tools?.eager ?? [],
        pinned: raw.tools?.pinned ?? [],
      },
      ...(raw.oauth === undefined ? {} : { oauth: present(raw.oauth) }),
      ...(raw.directory_id === undefined ? {} : { directory_id: raw.directory_id }),
    },
  };
}

function transportOf(
  raw: { readonly type?: string | undefined; readonly transport?: string | undefined },
  isRemote: boolean,
): { readonly kind: McpTransportKind; readonly isFixed: boolean } | string {
  const named = [raw.type, raw.transport].filter((value) => value !== undefined);
  const kinds = new Set<McpTransportKind>();
  for (const value of named) {
    const kind = transportNames.get(value);
    if (kind === undefined) return 'type must be stdio, http or sse';
    kinds.add(kind);
  }
  if (kinds.size > 1) return 'type and transport contradict each other';
  const [kind] = kinds;
  if (kind === undefined) return { kind: isRemote ? 'http' : 'stdio', isFixed: false };
  if (isRemote === (kind === 'stdio')) return `type ${kind} does not fit a record with ${isRemote ? 'url' : 'command'}`;
  return { kind, isFixed: true };
}

function checkHeaders(headers: Readonly<Record<string, string>>): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    const shown = `headers.${name.slice(0, 64)}`;
    if (!headerNamePattern.test(name)) return `${shown} is no header name`;
    const lower = name.toLowerCase();
    if (lower === 'host' || lower.startsWith('content-') || lower.startsWith('mcp-'))
      return `${shown} is set by the client`;
    if (/[\0\r\n]/.test(value)) return `${shown} must be one line`;
  }
  return undefined;
}

function present<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/**
 * The record of an embedder, or the error a caller of `test` deserves.
 * @throws EngineError `config`, code `config_invalid`
 */
export function requireServerRecord(raw: unknown): McpServerRecord {
  const check = parseServerRecord(raw);
  if (check.ok) return check.record;
  throw new EngineError('config', `${check.name || 'server'}: ${check.problem}.`, { code: 'config_invalid' });
}
