import type { Clock } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import { type ActorDeps, type ActorRef, type ActorState, type Behavior, type ExitReason, startActor } from './actor.ts';

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
  info(): ActorInfo;
  stop(): Promise<ExitReason>;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { clock } = options;
  const maxStarts = options.maxStarts ?? 5;
  const upMs = options.upMs ?? 60_000;
  const delayMs = options.delayMs ?? ((restart: number) => 500 * 2 ** restart);
  const emit = (event: SupervisorEvent): void => options.onEvent?.(event);
  const children = new Set<Entry>();
  let deadLetters = 0;
  let stopping: Promise<void> | undefined;

  function startChild<S, C>(spec: ChildSpec<S, C>): Child<C> {
    const waiting = new AbortController();
    let starts = 0;
    let recentStarts = 0;
    let isStopped = false;
    let ref = begin();
    const entry: Entry = {
      info: () => ({
        name: ref.name,
        kind: ref.kind,
        state: ref.state(),
        mailbox: ref.mailboxDepth(),
        starts,
        ...(spec.parent === undefined ? {} : { parent: spec.parent }),
      }),
      stop() {
        isStopped = true;
        waiting.abort();
        return ref.stop();
      },
    };
    children.add(entry);
    const gone = live().finally(() => void children.delete(entry));
    return { ref: () => ref, stop: () => entry.stop().then(() => gone), gone };

    function begin(): ActorRef<C> {
      starts += 1;
      recentStarts += 1;
      const behavior = spec.behavior();
      const started = startActor(behavior, { ...spec.actor, onDeadLetter: () => void (deadLetters += 1) });
      emit({ type: 'started', actor: behavior.name, kind: behavior.kind });
      return started;
    }

    async function live(): Promise<ExitReason> {
      for (;;) {
        const startedAt = clock.elapsed();
        const reason = await ref.done;
        const who = { actor: ref.name, kind: ref.kind };
        emit(reason.kind === 'failed' ? { type: 'failed', ...who, error: reason.error } : { type: 'stopped', ...who });
        if (isStopped || !shouldRestart(spec.restart, reason)) return reason;
        if (clock.elapsed() - startedAt >= upMs) recentStarts = 1;
        if (recentStarts >= maxStarts) {
          emit({ type: 'gave_up', ...who, starts });
          return reason;
        }
        await clock.sleep(delayMs(recentStarts - 1), waiting.signal).catch(() => {}); // a stop ends the wait
        if (waiting.signal.aborted) return reason;
        ref = begin();
        emit({ type: 'restarted', ...who, starts });
      }
    }
  }

  async function stopAll(): Promise<void> {
    for (const child of [...children].reverse()) await child.stop();
  }

  return {
    start(spec) {
      if (stopping !== undefined) {
        throw new EngineError('other', 'the engine is closing; no new actors start', { code: 'engine_closed' });
      }
      return startChild(spec);
    },
    list: () => [...children].map((child) => child.info()),
    deadLetters: () => deadLetters,
    stop: () => (stopping ??= stopAll()),
  };
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
