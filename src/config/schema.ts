import { z } from 'zod';
import { thinkingLevels } from '../protocol/agent.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import { listPrices } from './list-prices.ts';

const text = z.string();
const texts = z.array(text);
const filled = z.string().refine((value) => value.trim() !== '', 'must not be blank');
const count = z.int().nonnegative();
const positive = z.int().positive();
/** A wait in milliseconds a timer can hold (FR11). */
const delayMs = z.int().nonnegative().max(maxTimerMs);
const amount = z.number().nonnegative();

const phase = z.strictObject({ model: filled.optional(), thinking: z.enum(thinkingLevels).optional() });

/** One `[providers.<name>]`; agent-runtime section 15, Registry. */
const provider = z.strictObject({
  kind: filled.optional(),
  api_key: text.optional(),
  /** Name of the variable that holds the key; `api_key` wins. */
  api_key_env: text.optional(),
  base_url: text.optional(),
  default_model: text.optional(),
  context_window: positive.optional(),
  stream: z.boolean().optional(),
  /** Options of the kind; passed on as they are. */
  extra: z.record(text, z.json()).optional(),
});

/** One `[[plugins]]`; plugin-protocol section 12, column Inline. */
const plugin = z.strictObject({
  name: text,
  command: texts,
  env: z.record(text, text).optional(),
  cwd: text.optional(),
  required: z.boolean().optional(),
  capabilities: texts.optional(),
  restart: z.enum(['never', 'on-failure']).optional(),
  env_policy: z.enum(['inherit', 'minimal']).optional(),
  cancel: z.boolean().optional(),
});

/** What the shell may do; agent-runtime section 16, Shell policy. */
const security = z.strictObject({
  blocked_commands: texts.optional(),
  allowed_commands: texts.optional(),
  command_timeout_secs: z.int().min(1).max(600).optional(),
  allow_network: z.boolean().optional(),
  extra_read_paths: texts.optional(),
  sandbox: z.enum(['auto', 'on', 'off']).optional(),
});

/** Tool patterns such as `bash(npm test *)`; deny wins, then ask, then allow. */
const ruleLists = z.strictObject({ allow: texts.optional(), ask: texts.optional(), deny: texts.optional() });
/** For all agents, and more by role. */
const rules = ruleLists.extend({ agents: z.record(text, ruleLists).optional() });

const budget = z.strictObject({
  max_tokens: positive.optional(),
  max_duration_secs: z
    .number()
    .positive()
    .max(maxTimerMs / 1000)
    .optional(),
  /** US dollars. */
  max_cost: z.number().positive().optional(),
});

/** US dollars per million tokens. */
const price = z.strictObject({
  input: amount.optional(),
  output: amount.optional(),
  cache_read: amount.optional(),
  cache_write: amount.optional(),
});

/** Numbers of agent-runtime sections 2 and 18. */
const limits = z.strictObject({
  context_window: positive.optional(),
  max_tool_output_chars: positive.optional(),
  max_parallel_tools: positive.optional(),
  /** 0 = no limit. */
  tool_timeout_ms: delayMs.optional(),
  cancel_grace_ms: delayMs.optional(),
  approval_timeout_ms: delayMs.optional(),
  max_provider_retries: count.optional(),
  retry_base_delay_ms: delayMs.optional(),
  /** Threads of the tool pool. */
  tool_threads: z.int().min(1).max(256).optional(),
  tool_threads_per_run: z.int().min(1).max(256).optional(),
});

/** What the user's file may hold. Nothing has a default here: what is not set can be set by another layer. */
export const userConfigSchema = z.strictObject({
  /** `provider/model`, or a model of the default provider. */
  model: filled.optional(),
  phases: z.record(text, phase).optional(),
  providers: z.record(text, provider).optional(),
  security: security.optional(),
  rules: rules.optional(),
  budget: budget.optional(),
  prices: z.record(text, price).optional(),
  limits: limits.optional(),
});

/** What the project's file may hold: the same and plugins, which belong to a project (contract README, decision 15). */
export const configSchema = userConfigSchema.extend({ plugins: z.array(plugin).optional() });

/** The configuration as data, one object per layer and for the merged result; keys as in the file. */
export type Config = Readonly<z.infer<typeof configSchema>>;
export type ProviderConfig = Readonly<z.infer<typeof provider>>;
export type PluginConfig = Readonly<z.infer<typeof plugin>>;
export type SecurityConfig = Readonly<z.infer<typeof security>>;
export type RulesConfig = Readonly<z.infer<typeof rules>>;
export type BudgetConfig = Readonly<z.infer<typeof budget>>;
export type PriceConfig = Readonly<z.infer<typeof price>>;
export type LimitsConfig = Readonly<z.infer<typeof limits>>;

/** What holds when no file says otherwise. Sources: agent-runtime sections 2, 15, 16 and 18. */
export const defaultConfig: Config = {
  model: 'anthropic/claude-sonnet-5',
  providers: {
    anthropic: { kind: 'anthropic', api_key_env: 'ANTHROPIC_API_KEY' },
    openai: { kind: 'openai', api_key_env: 'OPENAI_API_KEY' },
    ollama: { kind: 'ollama' },
  },
  security: {
    blocked_commands: [],
    allowed_commands: [],
    command_timeout_secs: 120,
    allow_network: false,
    extra_read_paths: [],
    sandbox: 'off',
  },
  rules: { allow: [], ask: [], deny: [] },
  prices: listPrices,
  limits: {
    context_window: 200_000,
    max_tool_output_chars: 100_000,
    max_parallel_tools: 8,
    tool_timeout_ms: 600_000,
    cancel_grace_ms: 1_000,
    max_provider_retries: 2,
    retry_base_delay_ms: 1_000,
  },
};
