import type { TaskInfo } from './agent.ts';
import type { JsonObject } from './json.ts';
import type { ToolContext, ToolOutput } from './tool.ts';

/** A call about to be made. `input` is what the model sent, before validation. */
export interface BeforeToolCall {
  readonly tool: string;
  readonly input: JsonObject;
  readonly context: ToolContext;
}

/** Nothing = go on. `abort` refuses the call; `ask` leaves it to the approver (in-process hooks only). */
export type BeforeToolAnswer = void | undefined | null | { readonly abort: string } | { readonly ask: string };

export type BeforeToolHook = (call: BeforeToolCall) => BeforeToolAnswer | Promise<BeforeToolAnswer>;
/** A promise is waited for; what it gives is of no interest. */
export type AfterToolHook = (call: BeforeToolCall & { readonly output: ToolOutput }) => unknown;
/** Text to append to the system prompt, or nothing. */
export type AugmentPromptHook = (
  role: string,
  task: TaskInfo,
) => string | null | undefined | void | Promise<string | null | undefined | void>;

/** One named participant of the decision points; a point left out is not asked. */
export interface HookSet {
  readonly name: string;
  readonly beforeTool?: BeforeToolHook;
  readonly afterTool?: AfterToolHook;
  readonly augmentPrompt?: AugmentPromptHook;
  /** Limit of one hook call in milliseconds; 0 = the hook keeps its own limit. Default 60 000 (agent-runtime 18.13). */
  readonly timeoutMs?: number;
}

export type HookDecision =
  | { readonly kind: 'continue' }
  | { readonly kind: 'abort'; readonly hook: string; readonly reason: string }
  | { readonly kind: 'ask'; readonly hook: string; readonly reason: string };
