import type { RunControl } from '../agent/ports.ts';
import type { Budget } from '../agent/budget.ts';
import type { CancelMode } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import type { CallId, RunId } from '../protocol/ids.ts';
import { childSignal } from '../protocol/signal.ts';
import type { ApprovalDecision, Approvals } from '../tools/approvals.ts';
import type { Behavior, Reply } from './actor.ts';

export type RunCommand =
  | { readonly type: 'cancel'; readonly mode: CancelMode }
  | { readonly type: 'steer'; readonly text: string }
  | {
      readonly type: 'decide';
      readonly call: CallId;
      readonly decision: ApprovalDecision;
      readonly reply: Reply<void>;
    };

export interface RunState {
  readonly isStopRequested: boolean;
  readonly steering: readonly string[];
}

export interface RunActorDeps {
  readonly run: RunId;
  readonly budget: Budget;
  readonly approvals: Approvals;
  /** The caller's own signal; its abort is a hard cancel. */
  readonly signal: AbortSignal | undefined;
  /** Executes the run; settles the outcome itself. */
  execute(control: RunControl, inbox: RunInbox): Promise<void>;
  /** Called after each text that joined. */
  onSteered(text: string): void;
}

/** What reaches a run while it executes. */
export interface RunInbox {
  /** The texts that joined since the last ask. */
  takeSteering(): readonly string[];
  /** Hands commands on to a run that executes elsewhere, which then keeps its own texts. */
  forward(listener: (command: Forwarded) => void): void;
}

export type Forwarded = Extract<RunCommand, { readonly type: 'cancel' | 'steer' }>;

/** A run as an actor: it executes beside the mailbox, commands reach it at any time, it ends with the run. */
export function createRunBehavior(deps: RunActorDeps): Behavior<RunState, RunCommand> {
  let current: RunState = { isStopRequested: false, steering: [] };
  let cancelHard: (() => void) | undefined;
  let forward: ((command: Forwarded) => void) | undefined;

  function update(next: RunState): RunState {
    current = next;
    return next;
  }

  return {
    name: deps.run,
    kind: 'run',
    init(context) {
      context.run(async (stopped) => {
        using limit = childSignal(deps.signal);
        const onStop = (): void => limit.abort(stopped.reason);
        const abort = (): void => limit.abort(new EngineError('cancelled', 'the run was cancelled'));
        stopped.addEventListener('abort', onStop, { once: true });
        cancelHard = abort;
        const control: RunControl = {
          signal: limit.signal,
          isStopRequested: () => current.isStopRequested,
          cause: () => undefined,
          budget: deps.budget,
        };
        await deps.execute(control, {
          takeSteering() {
            const { steering } = current;
            if (steering.length > 0) update({ ...current, steering: [] });
            return steering;
          },
          forward: (listener) => void (forward = listener),
        });
        stopped.removeEventListener('abort', onStop);
        void context.self.stop(); // the actor's own end: whoever waits for it awaits `done`
      });
      return current;
    },
    receive(_state, command) {
      switch (command.type) {
        case 'cancel':
          if (command.mode === 'hard') cancelHard?.();
          forward?.(command);
          return update({ ...current, isStopRequested: true });
        case 'steer':
          deps.onSteered(command.text);
          if (forward !== undefined) {
            forward(command);
            return current;
          }
          return update({ ...current, steering: [...current.steering, command.text] });
        case 'decide':
          try {
            deps.approvals.decide(command.call, command.decision);
            command.reply.resolve();
          } catch (error) {
            command.reply.reject(error);
          }
          return current;
      }
    },
  };
}
