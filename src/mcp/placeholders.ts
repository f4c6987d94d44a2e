import { EngineError } from '../protocol/error.ts';
import type { McpServerRecord } from '../protocol/mcp.ts';
import { checkServerUrl, hasPlaceholder } from './server-url.ts';

export interface PlaceholderValues {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspaceFolder: string;
  readonly userHome: string | undefined;
  /** A stored secret by name; undefined = there is none. */
  readonly secret?: (name: string) => Promise<string | undefined>;
  /** This server's access token; undefined = not connected. */
  readonly accessToken?: () => Promise<string | undefined>;
}

export interface FilledRecord {
  readonly record: McpServerRecord;
  /** Texts that must not appear in any log or error: values of `env`, of headers, and every secret filled in. */
  readonly secrets: readonly string[];
}

const pattern = /\$\$\{|\$\{([^}]*)\}/g;
const variable = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Fills in the placeholders of `args`, `env`, `headers`, `url`, `cwd` (mcp-host 3.2) and of the paths of `sandbox`, so that
 * a server of the user can be shown the workspace. One pass: what is filled in is never read again.
 * @throws EngineError `config`, code `config_invalid`; the message names the variable, never a value
 */
export async function fillPlaceholders(record: McpServerRecord, values: PlaceholderValues): Promise<FilledRecord> {
  const secrets = new Set<string>();
  const fill = async (text: string): Promise<string> =>
    hasPlaceholder(text) ? await fillText(text, record.name, values, secrets) : text;
  const fillAll = async (map: Readonly<Record<string, string>>): Promise<Record<string, string>> =>
    Object.fromEntries(await Promise.all(Object.entries(map).map(async ([key, value]) => [key, await fill(value)])));

  const url = record.url === undefined ? undefined : await fill(record.url);
  const problem = url === undefined || url === record.url ? undefined : checkServerUrl(url);
  if (problem !== undefined) throw invalid(record.name, `url ${problem}`);
  const env = await fillAll(record.env);
  const headers = await fillAll(record.headers);
  for (const value of [...Object.values(env), ...Object.values(headers)]) secrets.add(value);
  return {
    record: {
      ...record,
      args: await Promise.all(record.args.map(fill)),
      env,
      headers,
      ...(record.cwd === undefined ? {} : { cwd: await fill(record.cwd) }),
      ...(url === undefined ? {} : { url }),
      sandbox: {
        read: await Promise.all(record.sandbox.read.map(fill)),
        write: await Promise.all(record.sandbox.write.map(fill)),
      },
    },
    secrets: [...secrets].filter((value) => value !== ''),
  };
}

async function fillText(
  text: string,
  server: string,
  values: PlaceholderValues,
  secrets: Set<string>,
): Promise<string> {
  let filled = '';
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    filled += text.slice(end, match.index);
    end = match.index + match[0].length;
    filled += match[1] === undefined ? '${' : await valueOf(match[1], server, values, secrets);
  }
  return filled + text.slice(end);
}

async function valueOf(
  inner: string,
  server: string,
  values: PlaceholderValues,
  secrets: Set<string>,
): Promise<string> {
  if (inner === 'workspaceFolder') return values.workspaceFolder;
  if (inner === 'userHome' && values.userHome !== undefined) return values.userHome;
  if (inner === 'oauth.access_token') {
    return (
      remember(await values.accessToken?.(), secrets) ??
      missing(server, inner, 'is not there yet: connect the server first')
    );
  }
  if (inner.startsWith('secret:')) {
    return remember(await values.secret?.(inner.slice(7)), secrets) ?? missing(server, inner, 'is not stored');
  }
  const [named = '', ...rest] = (inner.startsWith('env:') ? inner.slice(4) : inner).split(':-');
  if (!variable.test(named)) return missing(server, inner, 'is not a known placeholder');
  const value = Object.hasOwn(values.env, named) ? values.env[named] : undefined;
  if (rest.length > 0) return value === undefined || value === '' ? rest.join(':-') : value;
  return value ?? missing(server, named, 'is not set');
}

function remember(value: string | undefined, secrets: Set<string>): string | undefined {
  if (value !== undefined) secrets.add(value);
  return value;
}

function missing(server: string, name: string, why: string): never {
  throw invalid(server, `\`\${${name.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 64)}}\` ${why}`);
}

function invalid(server: string, problem: string): EngineError {
  return new EngineError('config', `${server}: ${problem}.`, { code: 'config_invalid' });
}
