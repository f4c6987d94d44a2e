import { setMaxListeners } from 'node:events';
import type { RunControl } from '../agent/ports.ts';
import type { CancelMode } from '../protocol/agent.ts';
import { Cancellation } from '../protocol/cancellation.ts';
import { EngineError } from '../protocol/error.ts';
import type { CallId, RunId } from '../protocol/ids.ts';
import type { ApprovalDecision } from '../tools/approvals.ts';
import type { ActorContext, Behavior, Reply } from './behavior.ts';

export type RunCommand =
  | { readonly type: 'cancel'; readonly mode: CancelMode }
  | {
      readonly type: 'decide';
      readonly call: CallId;
      readonly decision: ApprovalDecision;
      /** The arguments it is about, when the decider names them. */
      readonly hash: string | undefined;
      readonly reply: Reply<void>;
    };

/** How a run learns that it should end; its budget is not the actor's business. */
export type ActorControl = Omit<RunControl, 'budget'>;

export interface RunActorDeps {
  readonly id: RunId;
  /** The caller's own signal; its abort is a hard cancel. */
  readonly signal: AbortSignal | undefined;
  /** Executes the run; settles the outcome itself. */
  execute(control: ActorControl, inbox: RunInbox): Promise<void>;
  /** Called with each text that joined. */
  onSteered(text: string): void;
  /** Answers a call that waits for approval. @throws EngineError when it cannot */
  decide(call: CallId, decision: ApprovalDecision, hash: string | undefined): void;
}

/** What reaches a run while it executes. */
export interface RunInbox {
  /**
   * Joins a text, at once and not through the mailbox: what was accepted must be there when the run looks for the last time.
   * False when it came too late.
   */
  join(text: string): boolean;
  /** The texts that joined since the last ask. */
  takeSteering(): readonly string[];
  /** Hears further commands, instead of the listener before. */
  listen(listener: RunListener): void;
}

export interface RunListener {
  /** Takes a text, false when it is too late; without it texts wait for `takeSteering`. */
  steer?(text: string): boolean;
  /** Hears of a cancel sent to the run; a hard one has aborted the signal before. */
  cancel?(mode: CancelMode): void;
}

/**
 * A run as an actor: it executes beside the mailbox, commands reach it at any time, it ends with the run.
 *
 * A class, because its memory counts: an engine may hold thousands of runs that wait.
 */
export class RunActor implements Behavior<undefined, RunCommand>, ActorControl, RunInbox {
  readonly name: RunId;
  readonly kind = 'run';
  readonly #deps: RunActorDeps;
  readonly cancellation = new Cancellation();
  #isStopRequested = false;
  #hasEnded = false;
  #steering: readonly string[] = noTexts;
  #listener: RunListener = nobody;

  constructor(deps: RunActorDeps) {
    this.name = deps.id;
    this.#deps = deps;
  }

  isStopRequested(): boolean {
    return this.#isStopRequested;
  }

  cause(): undefined {
    return undefined;
  }

  join(text: string): boolean {
    if (this.#listener.steer === undefined) this.#steering = [...this.#steering, text];
    else if (!this.#listener.steer(text)) return false;
    this.#deps.onSteered(text);
    return true;
  }

  takeSteering(): readonly string[] {
    const taken = this.#steering;
    this.#steering = noTexts;
    return taken;
  }

  listen(listener: RunListener): void {
    this.#listener = listener;
  }

  init(context: ActorContext<RunCommand>): undefined {
    const { signal } = this.#deps;
    if (signal !== undefined) {
      // why: one listener for each run of the caller is as many as it should be (reliability BU6)
      setMaxListeners(0, signal);
      if (signal.aborted) this.handleEvent();
      else signal.addEventListener('abort', this, { once: true });
    }
    // the actor's own end: whoever waits for it awaits `done`
    context.run(() => this.#deps.execute(this, this).then(() => this.#onExecuted(context)));
  }

  /** The abort of the caller's own signal. */
  handleEvent(): void {
    this.cancellation.cancel(this.#deps.signal?.reason);
  }

  receive(_state: undefined, command: RunCommand): undefined {
    switch (command.type) {
      case 'cancel':
        this.#isStopRequested = true;
        if (command.mode === 'hard') this.#abort();
        this.#listener.cancel?.(command.mode);
        return;
      case 'decide':
        try {
          this.#deps.decide(command.call, command.decision, command.hash);
          command.reply.resolve();
        } catch (error) {
          command.reply.reject(error);
        }
    }
  }

  stop(): void {
    if (!this.#hasEnded) this.#abort();
  }

  #onExecuted(context: ActorContext<RunCommand>): void {
    this.#hasEnded = true;
    this.#deps.signal?.removeEventListener('abort', this);
    void context.self.stop();
  }

  #abort(): void {
    this.cancellation.cancel(new EngineError('cancelled', 'the run was cancelled'));
  }
}

const noTexts: readonly string[] = [];
const nobody: RunListener = {};
