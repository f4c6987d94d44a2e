import type { BusEvent } from '../bus/events.ts';
import type { AgentSpec, CancelCause, Handoff, TaskInfo } from '../protocol/agent.ts';
import type { Cancellation } from '../protocol/cancellation.ts';
import type { Clock } from '../protocol/deps.ts';
import type { RunId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { ToolUseBlock } from '../protocol/message.ts';
import type { CompletionRequest, CompletionResponse, OnDelta } from '../protocol/model.ts';
import type { ToolSpec } from '../protocol/tool.ts';
import type { Budget } from './budget.ts';
import type { CompactionPolicy } from './compaction.ts';

/** What dispatch hands back for one call: what the model sees of it. */
export interface ToolAnswer {
  readonly content: string;
  readonly is_error: boolean;
  /** The call handed the conversation over: the run completes after this step. */
  readonly handoff?: Handoff;
}

/**
 * Everything the loop needs from outside. Inline these are plain calls; in a run thread they cross one port, so each is
 * data in, data out.
 */
export interface AgentPorts {
  /** One attempt; rejects with an EngineError. Streams deltas while it runs. */
  complete(request: CompletionRequest, onDelta: OnDelta): Promise<CompletionResponse>;
  /** One attempt without streaming, for repair and summary calls. */
  completeAux(request: CompletionRequest): Promise<CompletionResponse>;
  /** One call from `tool_called` to `tool_returned`; never rejects. */
  callTool(call: ToolUseBlock): Promise<ToolAnswer>;
  /** Additions to the system prompt, in hook order. @throws EngineError `plugin` */
  augmentPrompt(role: string, task: TaskInfo): Promise<readonly string[]>;
  publish(event: BusEvent): void;
  /** The tools of the next step when they are others than those of the settings: servers come and go during a run. */
  offeredTools?(): OfferedTools | undefined;
  /** To be awaited before the calls of a step; nothing when they may begin at once. */
  takeTurn?(): Promise<void> | undefined;
  /** Texts that joined the run since the last ask (`run.steer`). */
  takeSteering?(): readonly string[];
  /**
   * To be awaited by a session that has nothing left to do: a text is on its way to it. Nothing when there is none; then none
   * is let in until another session starts.
   */
  awaitSteering?(): Promise<void> | undefined;
  readonly clock: Clock;
}

/** The tools a run is offered, as its loop needs them. */
export type OfferedTools = Pick<RunSettings, 'tools' | 'toolTokens' | 'mutatingTools'>;

/** The settings of one run, all resolved. */
export interface RunSettings {
  readonly run: RunId;
  readonly spec: AgentSpec;
  /** Model id handed to the provider; may be empty. */
  readonly model: string;
  /** What `agent_started` names: the model, or the provider's default when it is empty. */
  readonly shownModel: string;
  readonly tools: readonly ToolSpec[];
  /** Estimated tokens of the tool list. */
  readonly toolTokens: number;
  /** Names of those whose calls run alone. */
  readonly mutatingTools: readonly string[];
  readonly contextWindow: number;
  readonly maxProviderRetries: number;
  readonly retryBaseDelayMs: number;
  readonly maxParallelTools: number;
  readonly workspaceRoot: string;
  readonly task: TaskInfo | undefined;
  readonly subtask: string | null;
  /** Prompt variables of the caller; they override the built-in four. */
  readonly vars: { readonly [name: string]: string };
  readonly parent?: { readonly run: RunId; readonly call: ToolUseBlock['id'] };
  readonly compaction?: CompactionPolicy;
  /** JSON Schema of the answer, for a provider that knows schemas itself. */
  readonly responseSchema?: JsonObject;
}

/** How a run learns that it should end. */
export interface RunControl {
  /** Ends everything in flight. */
  readonly cancellation: Cancellation;
  /** Cooperative form: nothing in flight is signalled, no further model call starts. */
  isStopRequested(): boolean;
  /** The reason, when one is known. */
  cause(): CancelCause | undefined;
  readonly budget: Pick<Budget, 'add' | 'exceeded'>;
}
