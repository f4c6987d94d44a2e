import type { Envelope } from '../bus/envelope.ts';
import type { AgentOutcome, CancelMode } from '../protocol/agent.ts';
import type { RunId } from '../protocol/ids.ts';
import type { ApprovalDecision, ApprovalRequest } from '../tools/approvals.ts';
import type { RunOptions } from './options.ts';

export type RunHandleState = 'queued' | 'running' | 'ended';

/** Settings of a follow-up; what they leave open is as in the run before. The signal of that run no longer counts. */
export type FollowUpOptions = Pick<RunOptions, 'signal' | 'budget' | 'placement' | 'vars'>;

/** A run that was started. It goes on whether or not anyone holds the handle. */
export interface RunHandle {
  readonly id: RunId;
  readonly role: string;
  /** `queued` while it waits for its turn. */
  state(): RunHandleState;
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
  /**
   * Goes on after the run has ended, however it did: another session with its transcript, under the same id, its events
   * numbered after the ones before. What the run used counts towards its budget. A further one, asked of any handle of the
   * run, goes on after the last; to branch off, start a run with its `history`.
   * @throws EngineError `invalid_request` while the run is active, code `engine_closed` after `close`, `overloaded` as `run`
   */
  followUp(text: string, options?: FollowUpOptions): RunHandle;
  /** The child runs it started so far, in order. */
  children(): readonly RunHandle[];
  /** Calls that wait for approval now, in the order they were asked about. */
  waiting(): readonly ApprovalRequest[];
  /**
   * Lets a waiting call go on; counts once.
   * @throws EngineError `invalid_request`, code `not_found` when nothing waits under that id, or when the call has other
   * arguments than those named by `hash`; `config` for a rule in `always` that cannot be read
   */
  approve(call: string, options?: string | ApproveOptions): Promise<void>;
  /** Refuses a waiting call; the model reads the comment. @throws EngineError as `approve` */
  deny(call: string, options?: string | DenyOptions): Promise<void>;
  /** What the budget counted so far, repair and summary calls included. */
  used(): { readonly tokens: number; readonly cost: number };
}

/** A text in their place is the comment. */
export interface DenyOptions {
  readonly comment?: string;
  /** `hash` of the request that was looked at: the decision then counts for those arguments only. */
  readonly hash?: string;
}

export interface ApproveOptions extends DenyOptions, Pick<ApprovalDecision, 'always'> {}
