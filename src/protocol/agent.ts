import type { ErrorCode, ErrorKind } from './error.ts';
import type { Message, Usage } from './message.ts';

export type ThinkingLevel = 'off' | 'low' | 'medium' | 'high' | 'max';
export const thinkingLevels: readonly ThinkingLevel[] = ['off', 'low', 'medium', 'high', 'max'];

/** Which registered tools an agent is offered. */
export type ToolSelection = 'none' | 'read_only' | 'read_write' | 'all' | { readonly named: readonly string[] };
export const toolSelectionNames = ['none', 'read_only', 'read_write', 'all'] as const;

/** `phase`: the caller decides by the phase the agent works in. */
export type ModelSelection = 'phase' | { readonly fixed: { readonly provider: string; readonly model: string } };

/** An agent as data. The same shape in TypeScript, in plugin answers and (with short forms) in TOML. */
export interface AgentSpec {
  readonly role: string;
  /** For listings only. */
  readonly description: string;
  /** Template; see agent-runtime section 13. */
  readonly system_prompt: string;
  readonly tools: ToolSelection;
  readonly model: ModelSelection;
  readonly thinking: ThinkingLevel;
  /** Model round trips; 0 means none. */
  readonly max_steps: number;
  /** The answer ends with a JSON document. */
  readonly structured_output: boolean;
  /** Output budget per step, in tokens. */
  readonly max_tokens: number;
  /** Roles it may give tasks to: each is offered as a tool of that name whose calls are child runs. */
  readonly delegates?: readonly string[];
  /** Roles it may hand its conversation to with the tool `hand_off`; the caller acts on it. */
  readonly handoffs?: readonly string[];
}

/** What `defineAgent` takes: the two required fields, everything else by default. */
export type AgentInput = Pick<AgentSpec, 'role' | 'system_prompt'> & Partial<AgentSpec>;

/** Fills in the defaults of agent-runtime section 1. */
export function defineAgent(input: AgentInput): AgentSpec {
  return {
    role: input.role,
    description: input.description ?? '',
    system_prompt: input.system_prompt,
    tools: input.tools ?? 'all',
    model: input.model ?? 'phase',
    thinking: input.thinking ?? 'medium',
    max_steps: input.max_steps ?? 200,
    structured_output: input.structured_output ?? false,
    max_tokens: input.max_tokens ?? 8192,
    ...(input.delegates === undefined ? {} : { delegates: input.delegates }),
    ...(input.handoffs === undefined ? {} : { handoffs: input.handoffs }),
  };
}

/** Thinking budget in tokens by level; absent for `off`. */
export const thinkingBudgets: { readonly [level in ThinkingLevel]: number | undefined } = {
  off: undefined,
  low: 1024,
  medium: 4096,
  high: 16384,
  max: 32768,
};

/** Output budget of one step: the thinking budget must leave at least 4096 tokens for the answer. */
export function effectiveMaxTokens(maxTokens: number, thinking: ThinkingLevel): number {
  const budget = thinkingBudgets[thinking];
  return budget === undefined ? maxTokens : Math.max(maxTokens, budget + 4096);
}

/** `hard` aborts what is in flight; `cooperative` lets the step end and starts no further model call. */
export type CancelMode = 'hard' | 'cooperative';

export type CancelCause = 'abort' | 'budget_tokens' | 'budget_duration' | 'budget_cost';

/** Why a run ended. Success is `completed`. */
export type AgentStop =
  | { readonly reason: 'completed' }
  | { readonly reason: 'max_steps' }
  | { readonly reason: 'context_window' }
  | { readonly reason: 'cancelled'; readonly cause?: CancelCause }
  | { readonly reason: 'error'; readonly kind: ErrorKind; readonly message: string; readonly code?: ErrorCode };

/** An agent's wish that another one goes on. The engine never switches agents by itself. */
export interface Handoff {
  readonly role: string;
  /** What the next agent has to know. */
  readonly message: string;
}

export interface AgentOutcome {
  readonly role: string;
  readonly stop: AgentStop;
  readonly final_text: string;
  readonly messages: readonly Message[];
  readonly steps: number;
  /** Requested calls, including unknown, refused and vetoed ones. */
  readonly tool_calls: number;
  readonly usage: Usage;
  /** Tokens of repair and summary calls: counted by budgets, never in `usage`. */
  readonly aux_usage?: Usage;
  /** Present when the run ended because the agent handed off. */
  readonly handoff?: Handoff;
}

/** What a run is about, for prompt variables and `augment_prompt`. */
export interface TaskInfo {
  readonly id?: string;
  readonly title: string;
  readonly description: string;
}

/** The built-in roles, in listing order. */
export const builtinRoles = [
  'complexity_assessor',
  'spec_gatherer',
  'spec_researcher',
  'spec_writer',
  'spec_critic',
  'planner',
  'coder',
  'coder_recovery',
  'qa_reviewer',
  'qa_fixer',
  'merge_resolver',
  'commit_message',
] as const;
