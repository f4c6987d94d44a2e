import { MessagePort } from 'node:worker_threads';
import type { BudgetLimits, BudgetStop, ModelPrice } from '../agent/budget.ts';
import type { OfferedTools } from '../agent/ports.ts';
import type { BusEvent } from '../bus/events.ts';
import type { CancelMode, TaskInfo } from '../protocol/agent.ts';
import type { LogFields, LogLevel } from '../protocol/deps.ts';
import type { WireError } from '../protocol/error.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { CompletionRequest, ProviderRef, SignedThinking, StreamDelta } from '../protocol/model.ts';
import type { RunJob, RunResult } from './execute-run.ts';

/** What a thread says first: the port all of its runs talk on, both ways (docs/adr/0025). */
export interface ThreadHello {
  /** The number Node gives the thread. */
  readonly runThread: number;
  readonly port: MessagePort;
}

/** Code of others in a thread may post whatever it likes. */
export function isThreadHello(message: unknown): message is ThreadHello {
  return (
    typeof message === 'object' &&
    message !== null &&
    'runThread' in message &&
    typeof message.runThread === 'number' &&
    'port' in message &&
    message.port instanceof MessagePort
  );
}

/** A run as it is posted to its thread. */
export interface RunThreadJob {
  /** Says on the port whose a message is. */
  readonly run: RunNumber;
  readonly job: RunJob;
  /** Of the tools in the job. */
  readonly offer: OfferNumber;
  readonly provider: ProviderRef;
  readonly budget: BudgetLimits;
  readonly price: ModelPrice | undefined;
  /** Show each model request to the main thread before it is made. */
  readonly observesRequests: boolean;
  /** Whether the run is to end after its step; that it is to end at once stands in the counters. */
  readonly isStopRequested: boolean;
  /** What the provider on the main thread remembers of the turns in the job's history. */
  readonly signedThinking: SignedThinkingEntries;
  readonly counters: RunCounters;
}

/** Memory that both sides of a run share. */
export type RunCounters = Int32Array;

/** What its numbers count. */
export const runCounters = {
  /** Texts sent to the run, see the text gate. */
  texts: 0,
  /** Reports the main thread has read. */
  readReports: 1,
  /** 1 once the run is to end at once, for one that begins after that. */
  toldCancel: 2,
  /** 1 once the run has heard of it. */
  heardCancel: 3,
} as const;

/** Of one run of a pool; no other gets it. */
export type RunNumber = number;

/** The same for runs that are offered the same tools, so that a thread keeps them once. */
export type OfferNumber = number;

/** Signed thinking by the id of the first call of its turn. */
export type SignedThinkingEntries = readonly (readonly [firstCallId: string, thinking: SignedThinking])[];

export type RunThreadResult =
  | { readonly ok: true; readonly result: RunResult; readonly signedThinking: SignedThinkingEntries }
  | { readonly ok: false; readonly error: WireError };

/** What a run asks of the main thread: what needs the registry, the hooks or a schema. */
export type RunAsk =
  | readonly [number: AskNumber, what: 'call', id: string, name: string, input: JsonObject]
  | readonly [number: AskNumber, what: 'augment_prompt', role: string, task: TaskInfo]
  | readonly [number: AskNumber, what: 'check_document', document: Json]
  | readonly [number: AskNumber, what: 'observe_request', request: Omit<CompletionRequest, 'signal'>];

/** Of one ask of a run. */
export type AskNumber = number;

/** A cloned error loses its code, so what failed is told in the form that keeps it. */
export type AskAnswer = readonly [run: RunNumber, ask: AskNumber, value: unknown, error?: WireError];

/** What a run is told, besides the answers to what it asked. */
export type RunNews =
  | { readonly control: 'cancel'; readonly mode: CancelMode }
  | { readonly control: 'steer'; readonly text: string }
  /** The run is offered other tools from its next step on. */
  | { readonly control: 'tools'; readonly offered: OfferedTools }
  /** A budget the run shares with others is used up. */
  | { readonly control: 'spent'; readonly stop: BudgetStop };

/** The same on its way from the main thread to the run. */
export type RunControlMessage =
  | Exclude<RunNews, { readonly control: 'tools' }>
  | { readonly control: 'tools'; readonly offered: OfferedTools; readonly offer: OfferNumber };

/** From the main thread to a thread: something for one run, or answers to any. */
export type ThreadMessage =
  | readonly [run: RunNumber, message: RunControlMessage]
  | readonly [run: null, answers: readonly AskAnswer[]];

// why: arrays, here and below, because each name in a message costs what its value costs, on both sides, and in these most
// values are small

/** From a run to the main thread: what happened since its last report. */
export type RunReport = readonly [
  run: RunNumber,
  events: readonly (BusEvent | ReportedDelta)[],
  /** What the budget counted. */
  usage: readonly ReportedUsage[],
  logs: readonly RunLogLine[],
  /** To be seen to now, after the events: calls of one step come together, so that they start as they do inline. */
  asks: readonly RunAsk[],
  /** What the run came to, in its last report. */
  result: RunThreadResult | null,
];

/** An `agent_delta` without what the main thread knows of the run: most of what crosses is such. */
export type ReportedDelta = readonly [kind: StreamDelta['kind'], text: string];

export type ReportedUsage = readonly [input: number, output: number, cacheRead: number, cacheWrite: number];

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

export function isLateError(message: unknown): message is LateError {
  return (
    typeof message === 'object' && message !== null && 'lateError' in message && typeof message.lateError === 'string'
  );
}
