import { isJsonObject, type JsonObject, ownValue } from '../protocol/json.ts';
import { mcpModernVersion } from '../protocol/mcp.ts';

/** What came back for the one `server/discover` request. */
export type ProbeOutcome =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'rpc_error'; readonly code: number; readonly data: unknown }
  /** An answer to the request that is neither a result nor an error object. */
  | { readonly kind: 'malformed' }
  | { readonly kind: 'silence' }
  /** The process ended, or the connection was refused or broke. */
  | { readonly kind: 'closed' }
  /** HTTP only: a status without a JSON-RPC answer in the body. */
  | { readonly kind: 'status'; readonly status: number; readonly content_type: string | undefined };

export type RefuseCode =
  | 'version_mismatch'
  | 'connect_timeout'
  | 'connect_failed'
  | 'http_error'
  | 'needs_auth'
  | 'auth_forbidden';

export type ProbeVerdict =
  | { readonly kind: 'modern'; readonly discover: JsonObject }
  /** `restart`: the process is gone, a new one is taken for legacy without asking. `cause` decides what may be remembered. */
  | { readonly kind: 'legacy'; readonly restart: boolean; readonly cause: 'answer' | 'silence' | 'exit' }
  /** The server offers our version but refused this request: ask once more. */
  | { readonly kind: 'again' }
  | {
      readonly kind: 'refuse';
      readonly code: RefuseCode;
      /** The versions the server offers; only with `version_mismatch`. */
      readonly offered?: readonly string[];
      readonly status?: number;
      readonly content_type?: string;
    };

export interface ProbeContext {
  readonly transport: 'stdio' | 'http';
  /** Whether this is the answer to the second request. */
  readonly isSecond: boolean;
}

const unsupportedVersion = -32_022;
/** Longest list of versions that is read, and longest version in it: they are shown to the user. */
const maxVersions = 20;
const maxVersionLength = 40;

/** The table of mcp-host 4.2. Pure: what to do next is the caller's part. */
export function classifyProbe(outcome: ProbeOutcome, context: ProbeContext): ProbeVerdict {
  const isHttp = context.transport === 'http';
  switch (outcome.kind) {
    case 'result':
      return classifyDiscover(outcome.result);
    case 'rpc_error':
      return outcome.code === unsupportedVersion ? classifyRefusal(outcome.data, context) : legacyAnswer;
    case 'malformed':
      return legacyAnswer;
    case 'silence':
      // why: a silent program may wait for `initialize`, a silent web server is an outage
      return isHttp
        ? { kind: 'refuse', code: 'connect_timeout' }
        : { kind: 'legacy', restart: false, cause: 'silence' };
    case 'closed':
      return isHttp ? { kind: 'refuse', code: 'connect_failed' } : { kind: 'legacy', restart: true, cause: 'exit' };
    case 'status':
      return classifyStatus(outcome.status, outcome.content_type);
  }
}

const legacyAnswer: ProbeVerdict = { kind: 'legacy', restart: false, cause: 'answer' };

function classifyDiscover(result: unknown): ProbeVerdict {
  if (!isJsonObject(result) || !isJsonObject(ownValue(result, 'capabilities'))) return legacyAnswer;
  if ((ownValue(result, 'resultType') ?? 'complete') !== 'complete') return legacyAnswer;
  const offered = readVersions(ownValue(result, 'supportedVersions'));
  if (offered === undefined) return legacyAnswer;
  if (offered.includes(mcpModernVersion)) return { kind: 'modern', discover: result };
  return { kind: 'refuse', code: 'version_mismatch', offered };
}

function classifyRefusal(data: unknown, context: ProbeContext): ProbeVerdict {
  const offered = isJsonObject(data) ? readVersions(ownValue(data, 'supported')) : undefined;
  if (offered === undefined) return legacyAnswer;
  if (offered.includes(mcpModernVersion) && !context.isSecond) return { kind: 'again' };
  return { kind: 'refuse', code: 'version_mismatch', offered };
}

function classifyStatus(status: number, contentType: string | undefined): ProbeVerdict {
  if (status === 401) return { kind: 'refuse', code: 'needs_auth' };
  if (status === 403) return { kind: 'refuse', code: 'auth_forbidden' };
  // why: 2xx and 4xx without an answer of the protocol is what an older server says to an unknown request, and a redirect
  // is not followed; 2xx that is a page, and every 5xx, is something else than a server of this protocol
  const isPage = status >= 200 && status < 300;
  if (status < 500 && !isPage) return legacyAnswer;
  return {
    kind: 'refuse',
    code: 'http_error',
    status,
    ...(contentType === undefined ? {} : { content_type: contentType }),
  };
}

/** A non-empty list of texts, as the versions a server offers; anything else is unusable. */
function readVersions(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const versions: string[] = [];
  for (const entry of value) {
    if (typeof entry !== 'string') return undefined;
    versions.push(entry);
  }
  return versions;
}

/** Versions as they may be shown: few, short, printable. */
export function showVersions(versions: readonly string[]): string {
  return versions
    .slice(0, maxVersions)
    .map((version) => version.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, maxVersionLength))
    .join(', ');
}
