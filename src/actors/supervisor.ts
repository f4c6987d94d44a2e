import type { Clock } from '../protocol/deps.ts';
import { EngineError, toEngineError } from '../protocol/error.ts';
import { ForgetfulMap } from '../protocol/forgetful-map.ts';
import { startActor } from './actor.ts';
import type { ActorDeps, ActorOwner, ActorRef, ActorState, Behavior, ExitReason } from './behavior.ts';

/** `temporary`: never again; `transient`: after a failure; `permanent`: always, until stopped. */
export type RestartKind = 'temporary' | 'transient' | 'permanent';

export interface ChildSpec<S, C> {
  /** Makes the behavior anew for each start. */
  behavior(): Behavior<S, C>;
  readonly restart: RestartKind;
  /** Name of the actor this one works for. */
  readonly parent?: string;
  readonly actor?: ActorDeps;
}

export interface SupervisorOptions {
  readonly clock: Clock;
  /** Starts allowed before the supervisor gives up; a child that stayed up for `upMs` starts counting anew. Default 5. */
  readonly maxStarts?: number;
  /** Default 60 000. */
  readonly upMs?: number;
  /** Wait before the n-th restart (from 0), in milliseconds. Default 500 · 2ⁿ. */
  delayMs?(restart: number): number;
  onEvent?(event: SupervisorEvent): void;
}

export type SupervisorEvent =
  | { readonly type: 'started' | 'stopped'; readonly actor: string; readonly kind: string }
  | { readonly type: 'failed'; readonly actor: string; readonly kind: string; readonly error: EngineError }
  | { readonly type: 'restarted' | 'gave_up'; readonly actor: string; readonly kind: string; readonly starts: number };

export interface ActorInfo {
  readonly name: string;
  readonly kind: string;
  readonly state: ActorState;
  /** Commands waiting. */
  readonly mailbox: number;
  readonly starts: number;
  /** Name of the actor it works for; absent for those of the engine itself. */
  readonly parent?: string;
}

/** A child that outlives the single actor behind it. */
export interface Child<C> {
  /** The living actor; after a restart another one. */
  ref(): ActorRef<C>;
  stop(): Promise<ExitReason>;
  /** Resolves when the child is gone for good. */
  readonly gone: Promise<ExitReason>;
}

/** Starts children in order, restarts each by its own policy, stops them in reverse. */
export interface Supervisor {
  /** @throws EngineError code `engine_closed` after `stop` began */
  start<S, C>(spec: ChildSpec<S, C>): Child<C>;
  list(): readonly ActorInfo[];
  /** Commands sent to actors that had ended. */
  deadLetters(): number;
  /** Stops all children, the newest first, each within its own limit; a second stop joins the first. */
  stop(): Promise<void>;
}

interface Entry {
  /** Counts the children started. */
  readonly number: number;
  info(): ActorInfo;
  stop(): Promise<ExitReason>;
}

/** What the children of a supervisor share. */
interface Care {
  readonly clock: Clock;
  readonly maxStarts: number;
  readonly upMs: number;
  delayMs(restart: number): number;
  emit(event: SupervisorEvent): void;
  onDeadLetter(): void;
  onGone(child: Entry): void;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { clock } = options;
  const children = new ForgetfulMap<number, Entry>();
  let started = 0;
  let deadLetters = 0;
  let stopping: Promise<void> | undefined;

  const care: Care = {
    clock,
    maxStarts: options.maxStarts ?? 5,
    upMs: options.upMs ?? 60_000,
    delayMs: options.delayMs ?? ((restart: number) => 500 * 2 ** restart),
    emit: (event) => options.onEvent?.(event),
    onDeadLetter: () => void (deadLetters += 1),
    onGone: (child) => children.delete(child.number),
  };

  function startChild<S, C>(spec: ChildSpec<S, C>): Child<C> {
    started += 1;
    const child = new Supervised(started, spec, care);
    children.set(started, child);
    return child;
  }

  async function stopAll(): Promise<void> {
    for (const child of children.values().toReversed()) await child.stop();
  }

  return {
    start(spec) {
      if (stopping !== undefined) {
        throw new EngineError('other', 'the engine is closing; no new actors start', { code: 'engine_closed' });
      }
      return startChild(spec);
    },
    list: () => children.values().map((child) => child.info()),
    deadLetters: () => deadLetters,
    stop: () => (stopping ??= stopAll()),
  };
}

// why: a class, because every run is a child
class Supervised<S, C> implements Child<C>, Entry, ActorOwner {
  readonly number: number;
  readonly #spec: ChildSpec<S, C>;
  readonly #care: Care;
  #ref: ActorRef<C>;
  #starts = 0;
  #recentStarts = 0;
  #startedAt = 0;
  #isStopped = false;
  /** Present while it waits for a restart. */
  #waiting: AbortController | undefined;
  #left: ExitReason | undefined;
  #gone: Promise<ExitReason> | undefined;
  #leaveWith: ((reason: ExitReason) => void) | undefined;

  constructor(number: number, spec: ChildSpec<S, C>, care: Care) {
    this.number = number;
    this.#spec = spec;
    this.#care = care;
    this.#ref = this.#begin();
  }

  get gone(): Promise<ExitReason> {
    const left = this.#left;
    this.#gone ??= left === undefined ? new Promise((resolve) => (this.#leaveWith = resolve)) : Promise.resolve(left);
    return this.#gone;
  }

  ref(): ActorRef<C> {
    return this.#ref;
  }

  info(): ActorInfo {
    const { name, kind } = this.#ref;
    const { parent } = this.#spec;
    return {
      name,
      kind,
      state: this.#ref.state(),
      mailbox: this.#ref.mailboxDepth(),
      starts: this.#starts,
      ...(parent === undefined ? {} : { parent }),
    };
  }

  async stop(): Promise<ExitReason> {
    this.#isStopped = true;
    this.#waiting?.abort();
    await this.#ref.stop();
    return await this.gone;
  }

  #begin(): ActorRef<C> {
    this.#starts += 1;
    this.#recentStarts += 1;
    this.#startedAt = this.#care.clock.elapsed();
    const behavior = this.#spec.behavior();
    const ref = startActor(behavior, this.#spec.actor, this);
    this.#care.emit({ type: 'started', actor: behavior.name, kind: behavior.kind });
    return ref;
  }

  onDeadLetter(): void {
    this.#care.onDeadLetter();
  }

  onExit(reason: ExitReason): void {
    const { emit, clock, upMs, maxStarts } = this.#care;
    const { name: actor, kind } = this.#ref;
    if (reason.kind === 'failed') emit({ type: 'failed', actor, kind, error: reason.error });
    else emit({ type: 'stopped', actor, kind });
    if (this.#isStopped || !shouldRestart(this.#spec.restart, reason)) {
      this.#leave(reason);
      return;
    }
    if (clock.elapsed() - this.#startedAt >= upMs) this.#recentStarts = 1;
    if (this.#recentStarts < maxStarts) {
      void this.#restart(reason);
      return;
    }
    emit({ type: 'gave_up', actor, kind, starts: this.#starts });
    this.#leave(reason);
  }

  #leave(reason: ExitReason): void {
    this.#care.onGone(this);
    this.#left = reason;
    this.#leaveWith?.(reason);
  }

  async #restart(reason: ExitReason): Promise<void> {
    const waiting = new AbortController();
    this.#waiting = waiting;
    const { clock, delayMs, emit } = this.#care;
    await clock.sleep(delayMs(this.#recentStarts - 1), waiting.signal).catch(() => {}); // a stop ends the wait
    this.#waiting = undefined;
    if (waiting.signal.aborted) {
      this.#leave(reason);
      return;
    }
    try {
      this.#ref = this.#begin();
    } catch (thrown) {
      const error = toEngineError(thrown);
      emit({ type: 'failed', actor: this.#ref.name, kind: this.#ref.kind, error });
      this.#leave({ kind: 'failed', error });
      return;
    }
    emit({ type: 'restarted', actor: this.#ref.name, kind: this.#ref.kind, starts: this.#starts });
  }
}

function shouldRestart(restart: RestartKind, reason: ExitReason): boolean {
  switch (restart) {
    case 'temporary':
      return false;
    case 'transient':
      return reason.kind === 'failed';
    case 'permanent':
      return true;
  }
}
