import type { MessagePort } from 'node:worker_threads';
import type { BudgetLimits, BudgetStop, ModelPrice } from '../agent/budget.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { OfferedTools, ToolAnswer } from '../agent/ports.ts';
import type { BusEvent } from '../bus/events.ts';
import type { CancelMode, TaskInfo } from '../protocol/agent.ts';
import type { LogFields, LogLevel } from '../protocol/deps.ts';
import type { WireError } from '../protocol/error.ts';
import type { Json } from '../protocol/json.ts';
import type { ToolUseBlock, Usage } from '../protocol/message.ts';
import type { CompletionRequest, ProviderRef, SignedThinking, StreamDelta } from '../protocol/model.ts';
import type { RunJob, RunResult } from './execute-run.ts';
import type { TextGate } from './text-gate.ts';

/** A run as it is posted to its thread; the port is transferred with it. */
export interface RunThreadJob {
  readonly job: RunJob;
  readonly provider: ProviderRef;
  readonly budget: BudgetLimits;
  readonly price: ModelPrice | undefined;
  /** Show each model request to the main thread before it is made. */
  readonly observesRequests: boolean;
  /** How the run was told to end before it began. */
  readonly cancelled: CancelMode | undefined;
  /** What the provider on the main thread remembers of the turns in the job's history. */
  readonly signedThinking: SignedThinkingEntries;
  /** One number in shared memory: how many reports the main thread has read. */
  readonly read: Int32Array;
  readonly gate: TextGate;
  readonly port: MessagePort;
}

/** Signed thinking by the id of the first call of its turn. */
export type SignedThinkingEntries = readonly (readonly [firstCallId: string, thinking: SignedThinking])[];

export type RunThreadResult =
  | { readonly ok: true; readonly result: RunResult; readonly signedThinking: SignedThinkingEntries }
  | { readonly ok: false; readonly error: WireError };

/** A promise cannot carry an error's code across, so what may fail answers with one or the other. */
export type PortAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: WireError };

/** What a run thread asks of the main thread, besides its tool calls: what needs the hooks or a schema. */
export interface RunPort {
  augmentPrompt(role: string, task: TaskInfo): Promise<PortAnswer<readonly string[]>>;
  checkDocument(document: Json): Promise<PortAnswer<OutputCheck<unknown>>>;
  observeRequest(request: Omit<CompletionRequest, 'signal'>): Promise<void>;
}

/** From the main thread to the run, outside the calls. */
export type RunControlMessage =
  | { readonly control: 'cancel'; readonly mode: CancelMode }
  | { readonly control: 'steer'; readonly text: string }
  /** The run is offered other tools from its next step on. */
  | { readonly control: 'tools'; readonly offered: OfferedTools }
  /** A budget the run shares with others is used up. */
  | { readonly control: 'spent'; readonly stop: BudgetStop }
  /** To the tool calls with these numbers. */
  | { readonly control: 'answers'; readonly answers: readonly (readonly [number: number, answer: ToolAnswer])[] };

/** From the run to the main thread, outside the calls: one array for all that happened since the last. */
export interface RunReport {
  readonly report: true;
  /** The number Node gives the thread. */
  readonly thread: number;
  readonly events: readonly (BusEvent | ReportedDelta)[];
  /** What the budget counted since the last report. */
  readonly usage: readonly Usage[];
  readonly logs: readonly RunLogLine[];
  /** Tool calls to make now, after the events: those of one step come together, so that they start as they do inline. */
  readonly calls: readonly (readonly [number: number, call: ToolUseBlock])[];
  /** Nothing follows. */
  readonly isLast: boolean;
}

/** An `agent_delta` without what the main thread knows of the run: most of what crosses is such. */
export type ReportedDelta = readonly [kind: StreamDelta['kind'], text: string];

export interface RunLogLine {
  readonly level: LogLevel;
  readonly message: string;
  /** Only what can be cloned. */
  readonly fields: LogFields | undefined;
}

/** From a thread, outside all runs: an error that nobody waited for. */
export interface LateError {
  readonly lateError: string;
}

/** The control and report messages; everything else on the port is a call. */
export function isOutsideCalls(data: unknown): data is RunControlMessage | RunReport {
  return typeof data === 'object' && data !== null && ('control' in data || 'report' in data);
}
