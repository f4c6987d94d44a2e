import { type ContinuationPolicy, runWithContinuation } from '../agent/continuation.ts';
import { runAgent } from '../agent/loop.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { AgentPorts, OfferedTools, RunControl, RunSettings, ToolAnswer } from '../agent/ports.ts';
import { runStructured } from '../agent/structured.ts';
import { resumeMessages } from '../agent/transcript.ts';
import type { BusEvent } from '../bus/events.ts';
import type { AgentOutcome, TaskInfo } from '../protocol/agent.ts';
import type { Logger } from '../protocol/deps.ts';
import { EngineError, toWireError, type WireError } from '../protocol/error.ts';
import type { Json } from '../protocol/json.ts';
import { type Message, type ToolUseBlock, userText } from '../protocol/message.ts';
import type { CompletionRequest, CompletionResponse, OnDelta } from '../protocol/model.ts';
import { untilAborted } from '../protocol/signal.ts';

/** How the sessions of a run follow each other. */
export type RunMode =
  | { readonly kind: 'plain' }
  /** The answer is read as JSON; `hint` tells a repair call its shape. */
  | { readonly kind: 'structured'; readonly hint: string }
  | { readonly kind: 'continuation'; readonly policy: ContinuationPolicy };

/** One run as data: the same for inline and thread placement. */
export interface RunJob {
  readonly settings: RunSettings;
  readonly mode: RunMode;
  readonly message: string;
  /** An earlier conversation that the message continues. */
  readonly history?: readonly Message[] | undefined;
}

export interface RunPorts extends AgentPorts {
  /** Checks a document against the schema of a structured run, which never leaves the main thread. */
  checkDocument(document: Json): Promise<OutputCheck<unknown>>;
  readonly logger: Logger;
}

/** Plain data: an error is in its wire form. */
export interface RunResult {
  readonly outcome: AgentOutcome;
  /** The document of a structured run that succeeded. */
  readonly value?: unknown;
  /** Why a structured run has no value. */
  readonly error?: WireError;
}

/**
 * Executes a run wherever it was placed; what differs between placements is behind the ports.
 * @throws EngineError `plugin` when an `augment_prompt` hook fails
 */
export function executeRun(job: RunJob, control: RunControl, ports: RunPorts): Promise<RunResult> {
  const sessions = new Sessions(job, control, ports);
  const { mode } = job;
  switch (mode.kind) {
    case 'plain':
      return sessions.run(job.message, job.history).then(toResult);
    case 'structured':
      return executeStructured(job, mode.hint, sessions, ports);
    case 'continuation':
      return executeContinued(job, mode.policy, sessions, ports);
  }
}

const toResult = (outcome: AgentOutcome): RunResult => ({ outcome });

async function executeStructured(
  { settings, message, history }: RunJob,
  hint: string,
  sessions: Sessions,
  ports: RunPorts,
): Promise<RunResult> {
  const { spec, model } = settings;
  const result = await runStructured(
    {
      run: (text, earlier) => sessions.run(text, earlier),
      completeAux: (request) => sessions.repair(request),
      check: (document) => ports.checkDocument(document),
    },
    { role: spec.role, model, message, hint, ...(history === undefined ? {} : { history }) },
  );
  if (result.ok) return { outcome: result.outcome, value: result.value };
  return { outcome: result.outcome, error: toWireError(result.error) };
}

async function executeContinued(
  { settings, message, history }: RunJob,
  policy: ContinuationPolicy,
  sessions: Sessions,
  ports: RunPorts,
): Promise<RunResult> {
  const { run, spec, model } = settings;
  let earlier = history;
  const outcome = await runWithContinuation(
    {
      run(text) {
        // the history belongs to the first session; later ones start afresh from a summary
        const first = earlier;
        earlier = undefined;
        return sessions.run(text, first);
      },
      completeAux: (request) => sessions.completeAux(request),
      publishInfo: (info) => ports.publish({ type: 'log', run, level: 'info', message: info }),
      logger: ports.logger,
    },
    { role: spec.role, model, message, policy },
  );
  return { outcome };
}

/** The sessions of one run, and their ports: those of the run, with its model calls beside the loop watched over. */
class Sessions implements AgentPorts {
  readonly clock: AgentPorts['clock'];
  readonly #job: RunJob;
  readonly #control: RunControl;
  readonly #ports: RunPorts;

  constructor(job: RunJob, control: RunControl, ports: RunPorts) {
    this.clock = ports.clock;
    this.#job = job;
    this.#control = control;
    this.#ports = ports;
  }

  run(message: string, history: readonly Message[] | undefined): Promise<AgentOutcome> {
    const messages = history === undefined ? [userText(message)] : resumeMessages(history, message);
    return runAgent(this.#job.settings, messages, this.#control, this);
  }

  complete(request: CompletionRequest, onDelta: OnDelta): Promise<CompletionResponse> {
    return this.#ports.complete(request, onDelta);
  }

  /** Summary and compaction calls: counted by the budget, never made after the run was told to end. */
  async completeAux(request: CompletionRequest): Promise<CompletionResponse> {
    if (this.#control.budget.exceeded() !== undefined) throw cancelled();
    return await this.repair(request);
  }

  /**
   * The same for the one call that makes JSON of a finished answer: a step that used the budget up has completed its run, and
   * what it cost is lost when its answer is not read (docs/adr/0020).
   */
  async repair(request: CompletionRequest): Promise<CompletionResponse> {
    const { cancellation, budget } = this.#control;
    if (cancellation.isCancelled || this.#control.isStopRequested()) throw cancelled();
    try {
      const { signal } = cancellation;
      const response = await untilAborted(this.#ports.completeAux({ ...request, signal }), signal);
      budget.add(response.usage);
      return response;
    } catch (error) {
      throw cancellation.isCancelled ? cancelled() : error;
    }
  }

  callTool(call: ToolUseBlock): Promise<ToolAnswer> {
    return this.#ports.callTool(call);
  }

  augmentPrompt(role: string, task: TaskInfo): Promise<readonly string[]> {
    return this.#ports.augmentPrompt(role, task);
  }

  publish(event: BusEvent): void {
    this.#ports.publish(event);
  }

  offeredTools(): OfferedTools | undefined {
    return this.#ports.offeredTools?.();
  }

  takeTurn(): Promise<void> | undefined {
    return this.#ports.takeTurn?.();
  }

  takeSteering(): readonly string[] {
    return this.#ports.takeSteering?.() ?? [];
  }

  awaitSteering(): Promise<void> | undefined {
    return this.#ports.awaitSteering?.();
  }
}

function cancelled(): EngineError {
  return new EngineError('cancelled', 'agent run was cancelled');
}
