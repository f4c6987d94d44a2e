import type { Supervisor } from '../actors/supervisor.ts';
import type { Budget, ModelPrice } from '../agent/budget.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { Bus } from '../bus/bus.ts';
import type { Hooks } from '../bus/hooks.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import type { CallId, NewId, RunId } from '../protocol/ids.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { Message } from '../protocol/message.ts';
import type { Permissions } from '../protocol/tool.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { CallWatch } from '../tools/dispatch.ts';
import type { Rules } from '../tools/rules.ts';
import type { RunMode, RunResult } from '../workers/execute-run.ts';
import type { RunPool } from '../workers/run-pool.ts';
import type { Admission } from './admission.ts';
import type { AgentRegistry } from './agents.ts';
import type { ChosenModel } from './chosen-model.ts';
import type { Offers } from './offer.ts';
import type { ResolvedLimits, RunLimits, RunOptions } from './options.ts';
import type { Placements } from './placement.ts';
import type { FollowUpOptions, RunHandle } from './run-handle.ts';
import type { RunLog } from './run-log.ts';
import type { Turns } from './turns.ts';

export interface RunsDeps {
  readonly bus: Bus;
  readonly hooks: Hooks;
  readonly tools: ToolRegistry;
  readonly agents: AgentRegistry;
  readonly supervisor: Supervisor;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly root: string;
  /** Weaker sources of limits, the strongest first. */
  readonly limits: readonly RunLimits[];
  readonly permissions: Permissions;
  readonly rules: readonly Rules[];
  readonly defaults: Pick<RunOptions, 'approver' | 'budget'>;
  readonly runPool: RunPool;
  readonly admission: Admission;
  readonly placements: Placements;
  readonly watch: CallWatch;
  readonly turns: Turns;
  chooseModel(spec: AgentSpec, options: RunOptions): ChosenModel;
  priceOf(chosen: ChosenModel): ModelPrice | undefined;
}

export interface RunRequest {
  readonly spec: AgentSpec;
  readonly message: string;
  readonly options: RunOptions;
  readonly mode: RunMode;
  /** Structured runs: the check, and the schema for providers that know JSON schemas themselves. */
  readonly checkDocument?: (document: Json) => Promise<OutputCheck<unknown>>;
  readonly responseSchema?: JsonObject | undefined;
  /** The run and call that asked for this one. */
  readonly parent?: { readonly run: ActiveRun; readonly call: CallId };
  /** What a follow-up continues. */
  readonly earlier?: EarlierSession;
}

/** A run that has ended and goes on. */
export interface EarlierSession {
  readonly run: RunId;
  readonly log: RunLog;
  readonly history: readonly Message[];
  /** What it used. */
  readonly tokens: number;
  readonly cost: number;
  readonly activeMs: number;
}

/** The request of a session that goes on after a run; what the options leave open is as it was, but for the signal. */
export function toFollowUp(
  { spec, options }: RunRequest,
  message: string,
  changed: FollowUpOptions,
  earlier: EarlierSession,
): RunRequest {
  const { signal: _signal, ...kept } = options;
  return { spec, message, options: { ...kept, ...changed }, mode: { kind: 'plain' }, earlier };
}

/** A run that has not ended, as other parts of the engine see it. */
export interface ActiveRun {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly limits: ResolvedLimits;
  /** How many runs it is below one that a caller started. */
  readonly depth: number;
  /** Absent while it waits for its turn. */
  budget(): Budget | undefined;
  addChild(child: RunHandle): void;
}

/** What a run knows of the engine around it. */
export interface RunHost {
  readonly deps: RunsDeps;
  readonly offers: Offers;
  start(request: RunRequest): StartedRun;
  isActive(run: RunId): boolean;
  onEnded(run: ActiveRun): void;
}

export interface StartedRun {
  readonly handle: RunHandle;
  readonly result: Promise<RunResult>;
}
