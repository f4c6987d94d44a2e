import type { Supervisor } from '../actors/supervisor.ts';
import type { ModelPrice } from '../agent/budget.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { Bus } from '../bus/bus.ts';
import type { Hooks } from '../bus/hooks.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import type { NewId } from '../protocol/ids.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { Provider, ProviderRef } from '../protocol/model.ts';
import type { Permissions } from '../protocol/tool.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { RunMode, RunResult } from '../workers/execute-run.ts';
import type { RunPool } from '../workers/run-pool.ts';
import type { RunLimits, RunOptions } from './options.ts';
import type { RunHandle } from './run-handle.ts';

/** A provider chosen for a run, and the model id it is asked for (may be empty). */
export interface ChosenModel {
  readonly provider: Provider;
  readonly model: string;
  readonly contextWindow?: number | undefined;
  /** The provider as data, for another thread; absent when it was given as an object. */
  readonly ref: ProviderRef | undefined;
}

export interface RunsDeps {
  readonly bus: Bus;
  readonly hooks: Hooks;
  readonly tools: ToolRegistry;
  readonly supervisor: Supervisor;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly root: string;
  /** Weaker sources of limits, the strongest first. */
  readonly limits: readonly RunLimits[];
  readonly permissions: Partial<Permissions>;
  readonly defaults: Pick<RunOptions, 'approver' | 'budget' | 'placement'>;
  readonly runPool: RunPool;
  /** Whether placement `auto` sends a run to a thread now. */
  shouldLeaveMainThread(): boolean;
  chooseModel(spec: AgentSpec, options: RunOptions): ChosenModel;
  priceOf(model: string): ModelPrice | undefined;
}

export interface RunRequest {
  readonly spec: AgentSpec;
  readonly message: string;
  readonly options: RunOptions;
  readonly mode: RunMode;
  /** Structured runs: the check, and the schema for providers that know JSON schemas themselves. */
  readonly checkDocument?: (document: Json) => Promise<OutputCheck<unknown>>;
  readonly responseSchema?: JsonObject | undefined;
}

export interface StartedRun {
  readonly handle: RunHandle;
  readonly result: Promise<RunResult>;
}
