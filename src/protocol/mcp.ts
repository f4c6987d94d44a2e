import type { Json, JsonObject } from './json.ts';

/** `modern`: revision 2026-07-28, no handshake; `legacy`: 2025-11-25 and older, `initialize` first (mcp-host section 1). */
export type McpEra = 'modern' | 'legacy';

export const mcpModernVersion = '2026-07-28';

/** What a legacy server may settle on, the one we ask for first (mcp-host 4.4). */
export const mcpLegacyVersions: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
];

export type McpTransportKind = 'stdio' | 'http' | 'sse';

/** Limits of one server in milliseconds (mcp-host 4.6). */
export interface McpTimeouts {
  readonly probe_ms: number;
  readonly start_ms: number;
  /** All pages of one list together. */
  readonly list_ms: number;
  /** Silence of a call; progress starts it again. */
  readonly call_ms: number;
  /** A call in all, whatever progress it reports. */
  readonly call_max_ms: number;
  /** A call that became a task, in all. */
  readonly task_max_ms: number;
}

export const defaultMcpTimeouts: McpTimeouts = {
  probe_ms: 20_000,
  start_ms: 30_000,
  list_ms: 60_000,
  call_ms: 60_000,
  call_max_ms: 600_000,
  task_max_ms: 1_800_000,
};

/** A checked record of `mcp.json`, defaults filled in (mcp-host 3.1). Placeholders are still in it. */
export interface McpServerRecord {
  /** The only identity of the server: in logs, tool names and token rows. */
  readonly name: string;
  readonly type: McpTransportKind;
  /** Whether the record itself names the transport; only then is no other one tried. */
  readonly type_is_fixed: boolean;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  /** `modern`: never `initialize`; `legacy`: no probe. */
  readonly protocol: 'auto' | McpEra;
  readonly requires_sandbox: boolean;
  readonly sandbox: { readonly read: readonly string[]; readonly write: readonly string[] };
  /** Only what the record sets; the rest comes from `defaultMcpTimeouts`. */
  readonly timeouts: Partial<McpTimeouts>;
  readonly tools: McpToolPatterns;
  readonly oauth?: McpOAuthSettings;
  readonly directory_id?: string;
}

/** How to get a token for a server; everything may be absent, then the server's own metadata tells (mcp-host 10.1). */
export interface McpOAuthSettings {
  readonly client_id?: string;
  readonly auth_url?: string;
  readonly token_url?: string;
  /** Separated by blanks. */
  readonly scopes?: string;
  readonly redirect_uri?: string;
  readonly issuer?: string;
  /** Where this client describes itself, for servers that take such an address as a client id. */
  readonly client_metadata_url?: string;
}

/** Glob lists over bare tool names; `deny` wins. An empty `allow` allows all. */
export interface McpToolPatterns {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly eager: readonly string[];
  readonly pinned: readonly string[];
}

/** What an embedder writes down for a server: the fields of `mcp.json`, only the name and one of `command` and `url` required. */
export interface McpServerInput extends JsonObject {
  readonly name: string;
}

/** Where a record comes from: the user's file, the project's file, or the embedding program. */
export type McpSource = 'user' | 'project' | 'inline';

/** mcp-host 3.5. */
export type McpServerState =
  | 'disabled'
  | 'invalid'
  | 'shadowed'
  | 'needs_trust'
  | 'stopped'
  | 'starting'
  | 'connected'
  | 'needs_auth'
  | 'failed';

/** How a server process is confined; `off` = switched off, `unavailable` = wanted but not possible here, `none` = not a process. */
export type McpSandboxState = 'bwrap' | 'sandbox-exec' | 'off' | 'unavailable' | 'none';

/** A tool as a server declares it, after repair (mcp-host 6.3). */
export interface McpToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  readonly execution?: JsonObject;
  readonly _meta?: JsonObject;
}

/** One tool of a server as the host knows it. */
export interface McpToolInfo {
  /** `<server>/<tool>`. */
  readonly id: string;
  /** The name models see, `mcp__<server>__<tool>` (mcp-host 5.1). */
  readonly qualified_name: string;
  readonly server_name: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly read_only: boolean;
  readonly status: 'unloaded' | 'loading' | 'loaded' | 'unsupported' | 'quarantined';
  /** UTF-8 bytes of the definition as offered to a model, divided by 1 024, one decimal. */
  readonly size_kb: number;
  readonly pinned: boolean;
}

/** A server as listings show it. */
export interface McpServerInfo {
  readonly name: string;
  readonly source: McpSource;
  readonly state: McpServerState;
  readonly transport: McpTransportKind;
  readonly era?: McpEra;
  readonly protocol_version?: string;
  readonly sandbox?: McpSandboxState;
  /** Self-reported, for display only. */
  readonly server?: { readonly name: string; readonly version: string };
  /** What the program printed besides messages, here or before it ended, with its first five lines. */
  readonly noise?: { readonly lines: number; readonly bytes: number; readonly first: readonly string[] };
  /** Tools of the last list; absent before the first one. */
  readonly tool_count?: number;
  readonly last_error?: { readonly code: string; readonly message: string };
}

/** What one server call gives back before it becomes text for a model. */
export interface McpCallResult {
  readonly content: readonly Json[];
  readonly structuredContent?: Json;
  readonly isError: boolean;
}

/** How a connection ended. */
export interface McpExit {
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** Processes that outlived the group and were found by their marker. */
  readonly strays_killed: number;
  /** The last 6 non-empty stderr lines of the last 8 KiB, secrets replaced (mcp-host 4.7). */
  readonly stderr_tail: readonly string[];
  /** False when the server ended by itself. */
  readonly expected: boolean;
}

/** What `test(record)` answers (mcp-host section 11). */
export type McpTestResult =
  | {
      readonly ok: true;
      readonly era: McpEra;
      readonly protocol_version: string;
      readonly server: { readonly name: string; readonly version: string };
      readonly tools: readonly { readonly name: string; readonly description: string }[];
      readonly rejected: number;
      readonly sandbox: McpSandboxState;
      readonly elapsed_ms: number;
    }
  | {
      readonly ok: false;
      readonly stage: 'connect' | 'list_tools';
      readonly code: string;
      readonly message: string;
      readonly stderr_tail: readonly string[];
      readonly elapsed_ms: number;
    };

/** A question of a server to the user, handed to the embedder's `onElicitation`. */
export interface McpElicitation {
  readonly server_name: string;
  readonly mode: 'form' | 'url';
  /** Untrusted text of the server. */
  readonly message: string;
  /** JSON Schema of the form; mode `form` only. */
  readonly requested_schema?: JsonObject;
  /** What the user should open; mode `url` only. Never opened by the engine. */
  readonly url?: string;
}

export type McpElicitationAnswer =
  | { readonly action: 'accept'; readonly content?: JsonObject }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/** What is known of a server's token (mcp-host 10.4). */
export interface McpTokenStatus {
  readonly connected: boolean;
  /** By the clock; a token of unknown lifetime never is. */
  readonly expired: boolean;
  /** Milliseconds since the epoch. */
  readonly expires_at?: number;
  readonly scope?: string;
  readonly issuer?: string;
  /** An expired token is replaced when it is next used. */
  readonly renews: boolean;
}

/** An authorization that waits for the user to agree in a browser. */
export interface McpAuthorization {
  readonly id: string;
  readonly server_name: string;
  /** What the user opens. https, or http on this machine. */
  readonly url: string;
  /** Where the answer is expected. */
  readonly redirect_uri: string;
  /** Settles when the token is stored. @throws EngineError with a code of mcp-host section 15 */
  readonly done: Promise<void>;
  /**
   * Hands in what the browser was sent to: the whole address, or the bare code where the server allows it. After
   * `oauth_state_mismatch` the authorization still waits.
   * @throws EngineError
   */
  complete(answer: string): Promise<void>;
  /** Ends it; `done` is rejected. */
  cancel(): void;
}
