import type { ActorControl } from '../actors/run-actor.ts';
import type { Budget } from '../agent/budget.ts';
import type { Cancellation } from '../protocol/cancellation.ts';
import type { OwnedControl } from './run-ports.ts';

/** What a run is controlled by where its actor lives: the actor, and the whole of its budget. */
export class OwnControl implements OwnedControl {
  readonly cancellation: Cancellation;
  readonly budget: Budget;
  readonly #actor: ActorControl;

  constructor(actor: ActorControl, budget: Budget) {
    this.cancellation = actor.cancellation;
    this.budget = budget;
    this.#actor = actor;
  }

  isStopRequested(): boolean {
    return this.#actor.isStopRequested();
  }

  cause(): ReturnType<OwnedControl['cause']> {
    return this.#actor.cause();
  }
}
