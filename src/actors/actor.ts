import { EngineError, toEngineError } from '../protocol/error.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import type {
  ActorContext,
  ActorDeps,
  ActorOwner,
  ActorRef,
  ActorState,
  AskOptions,
  Behavior,
  ExitReason,
  Reply,
} from './behavior.ts';

/** Commands one actor may hold (architecture, actor model). */
export const defaultMailboxCapacity = 1_000;
/** How long `init` and `stop` may take. */
export const defaultLifecycleMs = 30_000;

/** Starts an actor; `init` begins at once, commands wait until it is through. */
export function startActor<S, C>(
  behavior: Behavior<S, C>,
  deps: ActorDeps = {},
  owner: ActorOwner = deps,
): ActorRef<C> {
  return new Actor(behavior, deps, owner);
}

// why: a class, and its parts made when they are first needed, because every run is an actor
class Actor<S, C> implements ActorRef<C>, ActorContext<C> {
  readonly name: string;
  readonly kind: string;
  readonly #behavior: Behavior<S, C>;
  readonly #deps: ActorDeps;
  readonly #owner: ActorOwner;
  #result: ExitReason | undefined;
  #done: Promise<ExitReason> | undefined;
  #exit: ((reason: ExitReason) => void) | undefined;
  /** Present once `init` is through. */
  #state: { current: S } | undefined;
  #phase: ActorState = 'starting';
  #starting: Promise<void> | undefined;
  #stopping: Promise<ExitReason> | undefined;
  #mailbox: C[] | undefined;
  #isDrainQueued = false;
  #controller: AbortController | undefined;
  #pending: Set<(error: EngineError) => void> | undefined;
  #tasks = 0;
  #onIdle: (() => void) | undefined;

  constructor(behavior: Behavior<S, C>, deps: ActorDeps, owner: ActorOwner) {
    this.name = behavior.name;
    this.kind = behavior.kind;
    this.#behavior = behavior;
    this.#deps = deps;
    this.#owner = owner;
    this.#start();
  }

  get done(): Promise<ExitReason> {
    const result = this.#result;
    this.#done ??= result === undefined ? new Promise((resolve) => (this.#exit = resolve)) : Promise.resolve(result);
    return this.#done;
  }

  get self(): ActorRef<C> {
    return this;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (!this.#isOpen()) this.#controller.abort(this.#endedError());
    }
    return this.#controller.signal;
  }

  state(): ActorState {
    return this.#phase;
  }

  mailboxDepth(): number {
    return this.#mailbox?.length ?? 0;
  }

  send(command: C): void {
    if (this.#isOpen()) this.#enqueue(command);
    else this.#owner.onDeadLetter?.(this.name, this.kind);
  }

  ask<R>(make: (reply: Reply<R>) => C, options: AskOptions = {}): Promise<R> {
    if (!this.#isOpen()) {
      this.#owner.onDeadLetter?.(this.name, this.kind);
      return Promise.reject(this.#endedError());
    }
    return new Promise<R>((resolve, reject) => {
      const pending = (this.#pending ??= new Set());
      let timer: NodeJS.Timeout | undefined;
      const settle = (): boolean => {
        clearTimeout(timer);
        options.signal?.removeEventListener('abort', onAbort);
        return pending.delete(onEnd);
      };
      const onEnd = (error: unknown): void => {
        if (settle()) reject(error as Error);
      };
      const onAbort = (): void => onEnd(options.signal?.reason);
      const onTime = (): void => {
        const message = `actor \`${this.name}\` did not answer within ${options.timeoutMs} ms`;
        onEnd(new EngineError('other', message, { code: 'timeout' }));
      };
      pending.add(onEnd);
      if (options.signal?.aborted) {
        onAbort();
        return;
      }
      options.signal?.addEventListener('abort', onAbort, { once: true });
      if (options.timeoutMs !== undefined) timer = setTimeout(onTime, Math.min(options.timeoutMs, maxTimerMs));
      try {
        this.#enqueue(make({ resolve: (value) => void (settle() && resolve(value)), reject: onEnd }));
      } catch (error) {
        onEnd(error);
      }
    });
  }

  stop(): Promise<ExitReason> {
    return (this.#stopping ??= this.#stop());
  }

  run(task: (signal: AbortSignal) => Promise<void>): void {
    this.#tasks += 1;
    // why: a task that does not take the signal needs none, and one costs more than the task's own start
    const running = task.length === 0 ? (task as () => Promise<void>)() : task(this.signal);
    running.then(
      () => this.#endTask(),
      (error: unknown) => {
        if (this.#isOpen()) this.fail(error);
        this.#endTask();
      },
    );
  }

  fail(error: unknown): void {
    if (!this.#isOpen()) return;
    this.#phase = 'failed';
    this.#stopping ??= this.#end({ kind: 'failed', error: toEngineError(error) });
  }

  #start(): void {
    try {
      const initial = this.#behavior.init(this);
      // why: what is ready needs no deadline and no turn of the loop
      if (initial instanceof Promise) this.#starting = this.#startLater(initial);
      else this.#begin(initial);
    } catch (error) {
      this.fail(error);
    }
  }

  async #startLater(initial: Promise<S>): Promise<void> {
    try {
      this.#begin(await within(initial, this.#deps.initMs, `actor \`${this.name}\` did not start`));
    } catch (error) {
      this.fail(error);
    }
  }

  #begin(initial: S): void {
    this.#state = { current: initial };
    if (this.#phase !== 'starting') return;
    this.#phase = 'running';
    this.#queueDrain();
  }

  #isOpen(): boolean {
    return this.#phase === 'starting' || this.#phase === 'running';
  }

  #enqueue(command: C): void {
    const mailbox = (this.#mailbox ??= []);
    const capacity = this.#deps.mailboxCapacity ?? defaultMailboxCapacity;
    if (mailbox.length >= capacity) {
      const message = `the mailbox of actor \`${this.name}\` is full (${capacity} commands)`;
      throw new EngineError('other', message, { code: 'mailbox_full' });
    }
    mailbox.push(command);
    this.#queueDrain();
  }

  #queueDrain(): void {
    if (this.#isDrainQueued || this.#phase !== 'running' || this.mailboxDepth() === 0) return;
    this.#isDrainQueued = true;
    queueMicrotask(() => this.#drain());
  }

  #drain(): void {
    this.#isDrainQueued = false;
    const batch = this.#mailbox ?? [];
    const state = this.#state;
    if (state === undefined) return;
    this.#mailbox = [];
    for (const command of batch) {
      if (this.#phase !== 'running') return; // the replies of the others are settled by the end
      try {
        state.current = this.#behavior.receive(state.current, command, this);
      } catch (error) {
        this.fail(error);
      }
    }
  }

  #endTask(): void {
    this.#tasks -= 1;
    if (this.#tasks === 0) this.#onIdle?.();
  }

  async #stop(): Promise<ExitReason> {
    if (!this.#isOpen()) return await this.done;
    this.#phase = 'stopping';
    return await this.#end({ kind: 'stopped' });
  }

  async #end(reason: ExitReason): Promise<ExitReason> {
    let result = reason;
    this.#controller?.abort(reason.kind === 'failed' ? reason.error : this.#endedError());
    // why: what a late `init` opens must be closed too
    if (this.#starting !== undefined) await this.#starting;
    try {
      const stopped = this.#state === undefined ? undefined : this.#behavior.stop?.(this.#state.current, this);
      if (stopped instanceof Promise) {
        await within(stopped, this.#deps.stopMs, `actor \`${this.name}\` did not stop`);
      }
      if (this.#tasks > 0) {
        const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
        await within(idle, this.#deps.stopMs, `tasks of actor \`${this.name}\` did not end`);
      }
    } catch (error) {
      if (result.kind === 'stopped') result = { kind: 'failed', error: toEngineError(error) };
    }
    this.#mailbox = undefined;
    if (this.#pending !== undefined) {
      const error = result.kind === 'failed' ? result.error : this.#endedError();
      for (const settle of this.#pending) settle(error);
    }
    this.#phase = result.kind === 'failed' ? 'failed' : 'stopped';
    this.#result = result;
    this.#exit?.(result);
    queueMicrotask(() => this.#owner.onExit?.(result));
    return result;
  }

  // why: without a stack, which would cost every run more than a step and says nothing about an end that was meant
  #endedError(): EngineError {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return new EngineError('other', `actor \`${this.name}\` has ended`, { code: 'actor_stopped' });
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }
}

async function within<T>(work: Promise<T>, limitMs = defaultLifecycleMs, what = ''): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const onTime = (): void => reject(new EngineError('other', `${what} within ${limitMs} ms`, { code: 'timeout' }));
    timer = setTimeout(onTime, Math.min(limitMs, maxTimerMs));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
