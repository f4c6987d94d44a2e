import type { BusEvent } from '../bus/events.ts';
import type { ContributionRegistry } from '../protocol/contributions.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import type { JsonObject } from '../protocol/json.ts';
import type {
  McpAuthorization,
  McpCallResult,
  McpElicitation,
  McpElicitationAnswer,
  McpServerInfo,
  McpServerInput,
  McpServerRecord,
  McpSource,
  McpTestResult,
  McpTokenStatus,
  McpToolInfo,
} from '../protocol/mcp.ts';
import type { ToolContext } from '../protocol/tool.ts';
import type { SecretStore } from '../store/secret-store.ts';
import type { ConnectDeps } from './connect-deps.ts';
import type { CallOptions, ListOptions, McpConnection } from './connection.ts';
import type { McpHealth } from './health.ts';
import type { LookupAddresses } from './oauth/addresses.ts';
import type { OldTokens } from './oauth/old-tokens.ts';
import type { OAuthForm } from './oauth/settings.ts';
import type { Sandbox } from './sandbox.ts';

export interface McpHostOptions {
  readonly registry: ContributionRegistry;
  /** Where `mcp_…` events go. */
  readonly publish: (event: BusEvent) => void;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The version servers are told. */
  readonly version: string;
  /** Absolute. */
  readonly projectRoot: string;
  /** The user's folder of the engine; absent: nothing of the user is read or written. */
  readonly configDir?: string;
  /** Servers of the embedding program: trusted, and before those of any file. */
  readonly records?: readonly McpServerInput[];
  /** Whether the project's own `mcp.json` may be used (PD7). */
  readonly trusted: boolean;
  /** Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
  /** Absent: servers start unconfined, and those that require confinement do not start. */
  readonly sandbox?: Sandbox;
  readonly ledger?: ConnectDeps['ledger'];
  /** Asks the user what a server wants to know; absent: every such request is declined. */
  readonly onElicitation?: (request: McpElicitation, signal: AbortSignal) => Promise<McpElicitationAnswer>;
  /** Told to servers that ask; default none. */
  readonly roots?: readonly { readonly uri: string; readonly name?: string }[];
  /** Changed tool definitions and start commands are not used before `approve` (MP8). Default false. */
  readonly approvals?: boolean;
  /** Calls of different tenants use different connections; undefined = the shared one. Default: all share one. */
  readonly tenantOf?: (context: ToolContext) => string | undefined;
  /** Connect the servers that have tools to register from the start. Default true. */
  readonly startsEager?: boolean;
  /** Take over changes of the server files while running. Default false. */
  readonly watchFiles?: boolean;
  /** Where tokens and `${secret:…}` are kept. Default: in memory, for as long as the host. */
  readonly secrets?: SecretStore;
  /**
   * Lets the user agree when a server asks for it: opens `url` in a browser, and where the answer cannot reach this machine
   * hands it in with `complete`. What needed the token waits and is done again, at most 3 times. Absent: it fails with
   * `needs_auth`, and `authorize` is called by someone else.
   */
  readonly onAuthorization?: (authorization: McpAuthorization, signal: AbortSignal) => Promise<void>;
  /** All addresses of a host name. Default: those of the system. */
  readonly lookup?: LookupAddresses;
  /** Opens connections; an embedder that owns them itself puts its own function in front. Default: `openMcpConnection`. */
  readonly connect?: (record: McpServerRecord, deps: ConnectDeps) => Promise<McpConnection>;
}

/** Servers of all sources behind one door. Every rejection is an EngineError. */
export interface McpHost {
  /**
   * Reads the servers and begins to connect those that have tools to register from the start (`tools.eager`,
   * `tools.pinned`), all at the same time. Waits for none of them: their tools join the registry when they are there, and
   * one that fails logs and publishes it.
   */
  start(): Promise<void>;
  /** Settles when each of those servers is connected or has failed. @throws the signal's reason */
  ready(signal?: AbortSignal): Promise<void>;
  servers(): readonly McpServerInfo[];
  /** The tools of a server, connecting it if need be. */
  tools(server: string, options?: ListOptions): Promise<readonly McpToolInfo[]>;
  /** The tools known so far of all servers; nothing is connected. */
  knownTools(): readonly McpToolInfo[];
  /** Registers the tool `<server>/<tool>`. @throws EngineError `not_found`, `untrusted`, or as connecting fails */
  load(id: string, options?: { readonly signal?: AbortSignal }): Promise<McpToolInfo>;
  unload(id: string): void;
  /** Calls a tool by the server's own name for it. */
  call(
    server: string,
    tool: string,
    args: JsonObject,
    options?: CallOptions & { readonly tenant?: string },
  ): Promise<McpCallResult>;
  prompts(server: string, options?: ListOptions): Promise<readonly unknown[]>;
  prompt(server: string, params: JsonObject, options?: CallOptions): Promise<JsonObject>;
  resources(server: string, options?: ListOptions): Promise<readonly unknown[]>;
  resourceTemplates(server: string, options?: ListOptions): Promise<readonly unknown[]>;
  resource(server: string, uri: string, options?: CallOptions): Promise<JsonObject>;
  /**
   * Tries a record, saved or not, as it would start in the file of `source`: a server of the user starts in the home folder,
   * any other one in the project. Default `inline`. Never rejects.
   */
  test(record: unknown, source?: McpSource): Promise<McpTestResult>;
  /** With approvals on: uses the server (`<server>`) or tool (`<server>/<tool>`) as it is now. */
  approve(id: string): Promise<void>;
  /** Replaces all servers of one file (mcp-host 3.4). */
  save(source: 'user' | 'project', servers: readonly McpServerInput[]): Promise<void>;
  /** Removes one server from its file and ends it. */
  remove(source: 'user' | 'project', name: string): Promise<void>;
  /** Reads the files again and applies what changed. */
  reload(): Promise<void>;
  /**
   * Begins to ask the user for a token of a server (mcp-host 10.1).
   * @param form what the user entered; goes before the record's `oauth`
   */
  authorize(server: string, form?: OAuthForm): Promise<McpAuthorization>;
  tokenStatus(server: string): Promise<McpTokenStatus>;
  /** Revokes and deletes the token of a server and ends its connection. */
  signOut(server: string): Promise<void>;
  /**
   * Moves the plaintext tokens of an older version into the store and deletes the file once all are there.
   * @returns undefined when it is no such file
   */
  importTokens(file: string): Promise<OldTokens | undefined>;
  /** Ends a server's connection; its next use opens a new one. */
  disconnect(server: string): Promise<void>;
  health(transport: 'daemon' | 'embedded'): Promise<McpHealth>;
  /** Ends everything; a second call joins the first. No process is left when it settles. */
  stop(): Promise<void>;
}
