import { setMaxListeners } from 'node:events';
import type { RunControl } from '../agent/ports.ts';
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
      /** The arguments it is about, when the decider names them. */
      readonly hash: string | undefined;
      readonly reply: Reply<void>;
    };

export interface RunState {
  readonly isStopRequested: boolean;
  readonly steering: readonly string[];
}

/** How a run learns that it should end; its budget is not the actor's business. */
export type ActorControl = Omit<RunControl, 'budget'>;

export interface RunActorDeps {
  readonly run: RunId;
  readonly approvals: Approvals;
  /** The caller's own signal; its abort is a hard cancel. */
  readonly signal: AbortSignal | undefined;
  /** Executes the run; settles the outcome itself. */
  execute(control: ActorControl, inbox: RunInbox): Promise<void>;
  /** Called after each text that joined. */
  onSteered(text: string): void;
}

/** What reaches a run while it executes. */
export interface RunInbox {
  /** The texts that joined since the last ask. */
  takeSteering(): readonly string[];
  /** Hears further commands, instead of the listener before. */
  listen(listener: RunListener): void;
}

export interface RunListener {
  /** Takes the texts that join; without it they wait for `takeSteering`. */
  steer?(text: string): void;
  /** Hears of a cancel sent to the run; a hard one has aborted the signal before. */
  cancel?(mode: CancelMode): void;
}

/** A run as an actor: it executes beside the mailbox, commands reach it at any time, it ends with the run. */
export function createRunBehavior(deps: RunActorDeps): Behavior<RunState, RunCommand> {
  let current: RunState = { isStopRequested: false, steering: [] };
  let listener: RunListener = {};
  let cancelHard: (() => void) | undefined;

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
        // why: one listener for each call in flight and each run of the caller is as many as it should be (reliability BU6)
        for (const signal of [limit.signal, deps.signal]) if (signal !== undefined) setMaxListeners(0, signal);
        const onStop = (): void => limit.abort(stopped.reason);
        const abort = (): void => limit.abort(new EngineError('cancelled', 'the run was cancelled'));
        stopped.addEventListener('abort', onStop, { once: true });
        cancelHard = abort;
        const control: ActorControl = {
          signal: limit.signal,
          isStopRequested: () => current.isStopRequested,
          cause: () => undefined,
        };
        await deps.execute(control, {
          takeSteering() {
            const { steering } = current;
            if (steering.length > 0) update({ ...current, steering: [] });
            return steering;
          },
          listen: (next) => void (listener = next),
        });
        stopped.removeEventListener('abort', onStop);
        void context.self.stop(); // the actor's own end: whoever waits for it awaits `done`
      });
      return current;
    },
    receive(_state, command) {
      switch (command.type) {
        case 'cancel':
          update({ ...current, isStopRequested: true });
          if (command.mode === 'hard') cancelHard?.();
          listener.cancel?.(command.mode);
          return current;
        case 'steer':
          deps.onSteered(command.text);
          if (listener.steer === undefined)
            return update({ ...current, steering: [...current.steering, command.text] });
          listener.steer(command.text);
          return current;
        case 'decide':
          try {
            deps.approvals.decide(command.call, command.decision, command.hash);
            command.reply.resolve();
          } catch (error) {
            command.reply.reject(error);
          }
          return current;
      }
    },
  };
}
