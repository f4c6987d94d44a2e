import type { BudgetLimits, ModelPrice } from '../agent/budget.ts';
import type { Config } from '../config/schema.ts';
import type { TrustCheck } from '../config/trust.ts';
import type { AgentInput, TaskInfo } from '../protocol/agent.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import { checkWhole } from '../protocol/option-check.ts';
import type { NewId } from '../protocol/ids.ts';
import type { McpServerInput } from '../protocol/mcp.ts';
import type { Message } from '../protocol/message.ts';
import type { Provider } from '../protocol/model.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import type { Permissions, Tool } from '../protocol/tool.ts';
import type { NativePlugin } from '../plugins/native.ts';
import type { PluginHostSettings } from '../plugins/settings.ts';
import type { PluginDeclaration } from '../plugins/declaration.ts';
import type { Approver } from '../tools/approvals.ts';
import type { McpHostOptions } from '../mcp/host-options.ts';
import type { ToolTrace } from '../tools/output.ts';
import type { RuleSet } from '../tools/rules.ts';
import type { ProviderKind } from '../providers/provider.ts';
import type { RunPool } from '../workers/run-pool.ts';
import type { AdmissionOptions } from './admission.ts';

/** Settings of a run; the engine's own are the defaults of each of its runs. */
export interface RunLimits {
  /** Tokens the model can hold; base of the 85 % and 90 % checks. Default: the provider's setting, else 200 000. */
  readonly contextWindow?: number;
  /** Characters of one tool output the model sees. Default 100 000. */
  readonly maxToolOutputChars?: number;
  /** Further attempts after a retryable model error. Default 2. */
  readonly maxProviderRetries?: number;
  /** Wait before the first of them in milliseconds, doubling. Default 1 000. */
  readonly retryBaseDelayMs?: number;
  /** Read-only calls of one step side by side. Default 8. */
  readonly maxParallelTools?: number;
  /** Limit of one tool call in milliseconds, 0 = none. Default 600 000. */
  readonly toolTimeoutMs?: number;
  /** How long a call may go on after it was cancelled, in milliseconds. Default 1 000. */
  readonly cancelGraceMs?: number;
  /** How long a call waits for approval, in milliseconds. Default: without limit. */
  readonly approvalTimeoutMs?: number;
}

export type Placement = 'inline' | 'thread' | 'auto';

export interface RunOptions extends RunLimits {
  /** `provider/model` or a model id; beats the agent's own choice. With `provider` given: that provider's model id, `""` = its default. */
  readonly model?: string;
  /** A provider for this run alone. */
  readonly provider?: Provider;
  /**
   * Where the run executes: `inline` on the main thread (default), `thread` on another core, `auto` by load. Tools, hooks and
   * the approver stay on the main thread; a provider given as an object keeps its run inline.
   */
  readonly placement?: Placement;
  /** Chooses model and thinking level by the `[phases.<name>]` table. */
  readonly phase?: string;
  /** Id of the run; a UUID. Default: a fresh one. */
  readonly runId?: string;
  /** An earlier conversation that `message` continues. */
  readonly history?: readonly Message[];
  /** Folder the tools work in. Default: the engine's root. */
  readonly root?: string;
  readonly permissions?: Partial<Permissions>;
  readonly task?: TaskInfo;
  /** Shown on events. */
  readonly subtask?: string;
  /** Prompt variables; they override the built-in four. */
  readonly vars?: { readonly [name: string]: string };
  readonly toolTrace?: ToolTrace;
  readonly approver?: Approver;
  /** Further rules for this run; those of the engine hold as well. */
  readonly rules?: RuleSet;
  readonly budget?: BudgetLimits;
  /** Aborting it is a hard cancel. */
  readonly signal?: AbortSignal;
  /** Whom the run is for; tenants take turns when runs have to wait. Default: one tenant for all runs that name none. */
  readonly tenant?: string;
  /** Higher goes first among the waiting runs of the tenant. Default 0. */
  readonly priority?: number;
  /** What happens when the engine has no room: wait for a turn (default), or throw with code `overloaded`. */
  readonly whenBusy?: 'queue' | 'reject';
  /** Summarise older turns before the window fills up. Default: off. */
  readonly compaction?: { readonly atPercent?: number; readonly keepMessages?: number };
}

export interface StructuredOptions extends RunOptions {
  /** The shape of the answer in words, for a repair call. Default: the JSON Schema of the schema. */
  readonly hint?: string;
}

export interface ContinuationOptions extends RunOptions {
  readonly continuation?: {
    /** Default 5. */
    readonly maxContinuations?: number;
    /** Words of each handover summary. Default 600. */
    readonly summaryMaxWords?: number;
  };
}

/** Decides about a project's own programs, providers and policy; asked once, with what it is about. */
export type TrustDecision = boolean | ((check: TrustCheck) => boolean | Promise<boolean>);

export interface EngineOptions extends RunLimits {
  /** The project's folder. Default: the current directory. */
  readonly root?: string;
  /** Default model, `provider/model`. Default: configuration, else `anthropic/claude-sonnet-5`. */
  readonly model?: string;
  /**
   * Whether the project's own plugins, servers, providers and policy may be used. Default: only what the user trusted with
   * `vibe-bus trust`.
   */
  readonly trust?: TrustDecision;
  /**
   * Without built-in tools and agents, configuration files, discovered plugins and MCP records: only what these options
   * give. Default false.
   */
  readonly bare?: boolean;
  /** Settings that win over the configuration files, in the files' own spelling. */
  readonly config?: Config;
  /** The user's folder. Default: `$VIBE_CONFIG_HOME`, else the platform's place. */
  readonly configDir?: string;
  readonly tools?: readonly Tool[];
  readonly agents?: readonly AgentInput[];
  /** Used instead of a configured provider when `model` names none. */
  readonly provider?: Provider;
  /** Further providers by name. */
  readonly providers?: { readonly [name: string]: Provider };
  /** Kinds of `[providers.<name>]` tables besides the built-in ones. */
  readonly providerKinds?: { readonly [kind: string]: ProviderKind };
  /** A SearXNG-style search address with `{query}`; without it there is no `web_search`. */
  readonly searchEndpoint?: string;
  /** Hosts `web_fetch` may reach, each with all below it. Default: any public one. */
  readonly webDomains?: readonly string[];
  /** Plugin programs declared here are trusted. */
  readonly plugins?: readonly PluginDeclaration[];
  /** Figures of the plugin protocol: times, restarts, limits. */
  readonly pluginSettings?: Omit<PluginHostSettings, 'environment' | 'secretNames'>;
  /** Plugins that live in this process. */
  readonly nativePlugins?: readonly NativePlugin[];
  /** MCP servers as in `mcp.json`; declared here they are trusted. */
  readonly mcpServers?: readonly McpServerInput[];
  /** What tools may do. Default: read, write and execute, no network. */
  readonly permissions?: Partial<Permissions>;
  /** Lets the user agree in a browser when an MCP server wants authorization; absent: its use fails with `needs_auth`. */
  readonly onAuthorization?: McpHostOptions['onAuthorization'];
  /** Answers what MCP servers ask the user for; absent: every such request is declined. */
  readonly onElicitation?: McpHostOptions['onElicitation'];
  readonly approver?: Approver;
  /** Which calls are allowed, asked about, denied: besides the `[rules]` of the configuration. Deny wins, then ask. */
  readonly rules?: RuleSet;
  readonly budget?: BudgetLimits;
  /** How many runs execute at once and how many wait. Default: no limit. */
  readonly admission?: AdmissionOptions;
  /** Placement of runs that name none. Default `inline`. */
  readonly placement?: Placement;
  /** Threads that execute runs. Default: the cores this process may use. */
  readonly runThreads?: number;
  /** Runs that share a thread, more wait; a dying thread ends all of its runs. Default 1 000. */
  readonly runsPerThread?: number;
  /** A pool of run threads shared by several engines (`createRunPool`); whoever made it closes it. */
  readonly runPool?: RunPool;
  /**
   * USD per million tokens by `provider/model` or model id, over those of the configuration and the built-in ones. A cache
   * price left out is the input price.
   */
  readonly prices?: { readonly [model: string]: Partial<Omit<ModelPrice, 'inputIncludesCached'>> };
  /** Threads of the tool pool. Default: cores − 1, at least 2. */
  readonly toolThreads?: number;
  /** Of these at most so many for calls of one run. Default: all. */
  readonly toolThreadsPerRun?: number;
  /** Publish `engine_stats` this often, in milliseconds. Default: never. */
  readonly statsIntervalMs?: number;
  /** How long `close()` waits for cancelled runs, in milliseconds. Default 10 000. */
  readonly closeGraceMs?: number;
  readonly clock?: Clock;
  readonly newId?: NewId;
  readonly random?: () => number;
  readonly fetch?: typeof fetch;
  readonly logger?: Logger;
  /** Default: the process's. */
  readonly env?: NodeJS.ProcessEnv;
}

export type ResolvedLimits = Required<Omit<RunLimits, 'approvalTimeoutMs' | 'contextWindow'>> &
  Pick<RunLimits, 'approvalTimeoutMs' | 'contextWindow'>;

/** Agent-runtime sections 2 and 18. */
const defaultLimits: ResolvedLimits = {
  maxToolOutputChars: 100_000,
  maxProviderRetries: 2,
  retryBaseDelayMs: 1_000,
  maxParallelTools: 8,
  toolTimeoutMs: 600_000,
  cancelGraceMs: 1_000,
};

const leastValues: { readonly [name in keyof RunLimits]-?: number } = {
  contextWindow: 1,
  maxToolOutputChars: 1,
  maxProviderRetries: 0,
  retryBaseDelayMs: 0,
  maxParallelTools: 1,
  toolTimeoutMs: 0,
  cancelGraceMs: 0,
  approvalTimeoutMs: 1,
};

/**
 * The limits of a run: the first source that sets one wins.
 * @throws EngineError `config` naming the option and its range
 */
export function resolveLimits(...sources: readonly RunLimits[]): ResolvedLimits {
  const resolved: { [name: string]: number } = { ...defaultLimits };
  for (const [name, least] of Object.entries(leastValues)) {
    const value = sources.map((source) => source[name as keyof RunLimits]).find((candidate) => candidate !== undefined);
    const checked = checkWhole(name, value, least, maxTimerMs);
    if (checked !== undefined) resolved[name] = checked;
  }
  return resolved as unknown as ResolvedLimits;
}

/** Whether a source sets any limit. */
export function setsLimit(source: RunLimits): boolean {
  return Object.keys(leastValues).some((name) => source[name as keyof RunLimits] !== undefined);
}

/** The `[budget]` table as the limits of a run. */
export function toBudgetLimits({ budget = {} }: Config): BudgetLimits {
  const { max_tokens: maxTokens, max_duration_secs: seconds, max_cost: maxCost } = budget;
  return {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(seconds === undefined ? {} : { maxDurationMs: seconds * 1000 }),
    ...(maxCost === undefined ? {} : { maxCost }),
  };
}

/** The `[limits]` table as run limits. */
export function toRunLimits(config: Config): RunLimits {
  const limits = config.limits ?? {};
  const named = {
    contextWindow: limits.context_window,
    maxToolOutputChars: limits.max_tool_output_chars,
    maxProviderRetries: limits.max_provider_retries,
    retryBaseDelayMs: limits.retry_base_delay_ms,
    maxParallelTools: limits.max_parallel_tools,
    toolTimeoutMs: limits.tool_timeout_ms,
    cancelGraceMs: limits.cancel_grace_ms,
    approvalTimeoutMs: limits.approval_timeout_ms,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}
