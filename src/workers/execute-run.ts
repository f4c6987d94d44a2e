import { type ContinuationPolicy, runWithContinuation } from '../agent/continuation.ts';
import { runAgent } from '../agent/loop.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { AgentPorts, RunControl, RunSettings } from '../agent/ports.ts';
import { runStructured } from '../agent/structured.ts';
import { resumeMessages } from '../agent/transcript.ts';
import type { AgentOutcome } from '../protocol/agent.ts';
import type { Logger } from '../protocol/deps.ts';
import { EngineError, toWireError, type WireError } from '../protocol/error.ts';
import type { Json } from '../protocol/json.ts';
import { type Message, userText } from '../protocol/message.ts';
import type { CompletionRequest, CompletionResponse } from '../protocol/model.ts';
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
export async function executeRun(job: RunJob, control: RunControl, ports: RunPorts): Promise<RunResult> {
  const { settings, mode } = job;
  const { role } = settings.spec;
  const sessionPorts: AgentPorts = { ...ports, completeAux };
  const session = (message: string, history?: readonly Message[]): Promise<AgentOutcome> =>
    runAgent(
      settings,
      history === undefined ? [userText(message)] : resumeMessages(history, message),
      control,
      sessionPorts,
    );

  switch (mode.kind) {
    case 'plain':
      return { outcome: await session(job.message, job.history) };
    case 'structured': {
      const { message, history } = job;
      const result = await runStructured(
        { run: session, completeAux, check: (document) => ports.checkDocument(document) },
        { role, model: settings.model, message, hint: mode.hint, ...(history === undefined ? {} : { history }) },
      );
      if (result.ok) return { outcome: result.outcome, value: result.value };
      return { outcome: result.outcome, error: toWireError(result.error) };
    }
    case 'continuation': {
      const publishInfo = (message: string): void =>
        ports.publish({ type: 'log', run: settings.run, level: 'info', message });
      const first = (message: string): Promise<AgentOutcome> => session(message, takeHistory());
      const outcome = await runWithContinuation(
        { run: first, completeAux, publishInfo, logger: ports.logger },
        { role, model: settings.model, message: job.message, policy: mode.policy },
      );
      return { outcome };
    }
  }

  /** The history belongs to the first session; later ones start afresh from a summary. */
  function takeHistory(): readonly Message[] | undefined {
    const { history } = job;
    job = { ...job, history: undefined };
    return history;
  }

  /** Repair, summary and compaction calls: counted by the budget, never made after the run was told to end. */
  async function completeAux(request: CompletionRequest): Promise<CompletionResponse> {
    if (control.signal.aborted || control.isStopRequested() || control.budget.exceeded() !== undefined)
      throw cancelled();
    try {
      const response = await untilAborted(ports.completeAux({ ...request, signal: control.signal }), control.signal);
      control.budget.add(response.usage);
      return response;
    } catch (error) {
      throw control.signal.aborted ? cancelled() : error;
    }
  }
}

function cancelled(): EngineError {
  return new EngineError('cancelled', 'agent run was cancelled');
}
