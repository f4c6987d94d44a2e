import type { EngineError } from '../protocol/error.ts';

export type ActorState = 'starting' | 'running' | 'stopping' | 'stopped' | 'failed';

export type ExitReason = { readonly kind: 'stopped' } | { readonly kind: 'failed'; readonly error: EngineError };

/** The answering end of an `ask`; the first answer counts. */
export interface Reply<R> {
  resolve(value: R): void;
  reject(error: unknown): void;
}

/**
 * What an actor does. State changes only in `receive`, which is synchronous: long work goes through `ctx.run`, and its
 * result comes back as a command or settles a reply. So no I/O can hold up a mailbox.
 */
export interface Behavior<S, C> {
  /** Name for people, unique among living actors of a kind. */
  readonly name: string;
  readonly kind: string;
  init(context: ActorContext<C>): S | Promise<S>;
  receive(state: S, command: C, context: ActorContext<C>): S;
  stop?(state: S, context: ActorContext<C>): void | Promise<void>;
}

export interface ActorContext<C> {
  readonly self: ActorRef<C>;
  /** Aborts when the actor stops or fails; tasks must obey it. */
  readonly signal: AbortSignal;
  /** Runs a task beside the mailbox. A task that rejects makes the actor fail. */
  run(task: (signal: AbortSignal) => Promise<void>): void;
  /** Ends the actor as failed, after the current command. */
  fail(error: unknown): void;
}

export interface AskOptions {
  /** Limit of the whole wait in milliseconds. Default: none. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ActorRef<C> {
  readonly name: string;
  readonly kind: string;
  state(): ActorState;
  mailboxDepth(): number;
  /**
   * Queues a command. A command to an actor that has ended is counted as a dead letter and dropped.
   * @throws EngineError code `mailbox_full`
   */
  send(command: C): void;
  /**
   * Queues a command made around a reply and waits for its answer.
   * @throws EngineError code `mailbox_full`, `actor_stopped`, `timeout`, or what the actor failed or answered with
   */
  ask<R>(make: (reply: Reply<R>) => C, options?: AskOptions): Promise<R>;
  /** Refuses new commands, runs `stop`, settles what waits. A second stop joins the first. */
  stop(): Promise<ExitReason>;
  /** Resolves with the exit reason; never rejects. */
  readonly done: Promise<ExitReason>;
}

/** Hears what becomes of an actor. */
export interface ActorOwner {
  /** A command was sent to it after its end. */
  onDeadLetter?(actor: string, kind: string): void;
  /** It has ended; told once, and never before `startActor` has returned. */
  onExit?(reason: ExitReason): void;
}

export interface ActorDeps extends ActorOwner {
  readonly mailboxCapacity?: number;
  readonly initMs?: number;
  readonly stopMs?: number;
}
