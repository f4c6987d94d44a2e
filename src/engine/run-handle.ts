import type { ActorRef } from '../actors/actor.ts';
import type { RunCommand } from '../actors/run-actor.ts';
import type { Budget } from '../agent/budget.ts';
import type { Envelope } from '../bus/envelope.ts';
import type { AgentOutcome, CancelMode } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { parseCallId, type RunId } from '../protocol/ids.ts';
import type { ApprovalDecision } from '../tools/approvals.ts';
import type { RunLog } from './run-log.ts';

/** A run that was started. It goes on whether or not anyone holds the handle. */
export interface RunHandle {
  readonly id: RunId;
  readonly role: string;
  /**
   * How the run ended. Model and tool failures are part of it.
   * @throws EngineError `plugin` when an `augment_prompt` hook failed, before any event
   */
  readonly outcome: Promise<AgentOutcome>;
  /**
   * The run's events from number `from` on (default: from now on, with the ephemeral ones) until it ends.
   * @throws EngineError `invalid_request` for a `from` below 1
   */
  events(options?: { readonly from?: number }): AsyncGenerator<Envelope, void, undefined>;
  /**
   * Ends the run: `hard` (default) aborts what is in flight, `cooperative` lets the step in progress complete. Resolves when
   * the run has ended; never rejects for a run that already has.
   */
  cancel(options?: { readonly mode?: CancelMode }): Promise<void>;
  /** Adds a text to the next turn. @throws EngineError code `not_found` when the run has ended */
  steer(text: string): void;
  /** Lets a waiting call go on. @throws EngineError code `not_found` when nothing waits under that id */
  approve(call: string, comment?: string): Promise<void>;
  /** Refuses a waiting call; the model reads the comment. @throws EngineError code `not_found` */
  deny(call: string, comment?: string): Promise<void>;
  /** What the budget counted so far, repair and summary calls included. */
  used(): { readonly tokens: number; readonly cost: number };
}

export interface RunHandleParts {
  readonly run: RunId;
  readonly role: string;
  readonly actor: ActorRef<RunCommand>;
  readonly outcome: Promise<AgentOutcome>;
  readonly log: RunLog;
  readonly budget: Budget;
}

export function createRunHandle(parts: RunHandleParts): RunHandle {
  const { actor, outcome, log, budget } = parts;

  async function decide(call: string, decision: ApprovalDecision): Promise<void> {
    const id = parseCallId(call);
    if (actor.state() !== 'running') throw endedError();
    await actor.ask<void>((reply) => ({ type: 'decide', call: id, decision, reply }));
  }

  function endedError(): EngineError {
    return new EngineError('invalid_request', `run \`${parts.run}\` has ended`, { code: 'not_found' });
  }

  return {
    id: parts.run,
    role: parts.role,
    outcome,
    events: log.read,
    async cancel(options = {}) {
      actor.send({ type: 'cancel', mode: options.mode ?? 'hard' });
      await outcome.catch(() => {}); // the failure is the outcome's to tell
    },
    steer(text) {
      if (actor.state() !== 'running' && actor.state() !== 'starting') throw endedError();
      actor.send({ type: 'steer', text });
    },
    approve: (call, comment) => decide(call, { approved: true, ...(comment === undefined ? {} : { comment }) }),
    deny: (call, comment) => decide(call, { approved: false, ...(comment === undefined ? {} : { comment }) }),
    used: () => ({ tokens: budget.usedTokens(), cost: budget.usedCost() }),
  };
}
