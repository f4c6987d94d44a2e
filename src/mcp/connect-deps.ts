import type { Clock, Logger } from '../protocol/deps.ts';
import type { EngineError } from '../protocol/error.ts';
import { defaultMcpTimeouts, type McpServerRecord, type McpTimeouts } from '../protocol/mcp.ts';
import type { ServerCredentials } from './bearer.ts';
import type { EraVerdict, McpClient } from './client.ts';
import type { Carrier } from './connection.ts';
import type { ClientIdentity } from './envelope.ts';
import type { EraMemory } from './era-memory.ts';
import type { InputPolicy, InputPolicyOptions } from './input-policy.ts';
import type { NoiseLimits } from './noise-meter.ts';
import type { PlaceholderValues } from './placeholders.ts';
import type { Sandbox } from './sandbox.ts';
import type { McpTransport } from './transport.ts';

export interface ConnectDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly identity: ClientIdentity;
  /** The environment of this process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Unique per start of a process. */
  readonly newMarker: () => string;
  /** The project's root, for `${workspaceFolder}`; absolute. */
  readonly workspaceFolder: string;
  readonly userHome: string | undefined;
  /** Where a record without `cwd` starts; absolute. */
  readonly folder: string;
  /** Whose connection it is; absent: everyone's. What a server keeps is not shared between tenants. */
  readonly tenant?: string;
  readonly secret?: PlaceholderValues['secret'];
  readonly accessToken?: (record: McpServerRecord) => Promise<string | undefined>;
  /** The token of a web server; absent: no request carries one. */
  readonly credentials?: (record: McpServerRecord) => ServerCredentials;
  /** Absent: servers start unconfined. */
  readonly sandbox?: Sandbox;
  /** What is known of the server from elsewhere: it is not asked for its era. */
  readonly prior?: EraVerdict;
  /** Absent: every connect probes. */
  readonly eraMemory?: EraMemory;
  /** How much of what the server prints is logged; absent: a limit of its own for every start. */
  readonly noiseLimits?: NoiseLimits;
  /** Told every process of a server while it runs, so that none outlives a killed engine. */
  readonly ledger?: { add(pid: number, marker: string): void; remove(pid: number): void };
  readonly fetch: typeof fetch;
  readonly onElicitation?: InputPolicyOptions['onElicitation'];
  readonly roots?: InputPolicyOptions['roots'];
  readonly signal?: AbortSignal;
}

/** A record whose placeholders are filled in, with everything needed to connect it. */
export interface ConnectStart {
  readonly record: McpServerRecord;
  /** Texts that no log or error may show. */
  readonly secrets: readonly string[];
  readonly timeouts: McpTimeouts;
  readonly input: InputPolicy;
  readonly deps: ConnectDeps;
}

/** A started carrier and the transport over it. */
export interface Link {
  readonly transport: McpTransport;
  readonly carrier: Carrier;
  readonly closedError: () => EngineError;
}

export interface Connected {
  readonly client: McpClient;
  readonly carrier: Carrier;
}

/** The record's limits over the defaults; `VIBE_MCP_PROBE_TIMEOUT_MS` replaces the default of the probe (1 … 120 000). */
export function toTimeouts(record: McpServerRecord, env: ConnectDeps['env']): McpTimeouts {
  const text = env['VIBE_MCP_PROBE_TIMEOUT_MS'] ?? '';
  const probe = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  const fromEnv = probe >= 1 && probe <= 120_000 ? { probe_ms: probe } : {};
  return { ...defaultMcpTimeouts, ...fromEnv, ...record.timeouts };
}
