import { EngineError, toEngineError } from '../protocol/error.ts';
import { maxTimerMs } from '../protocol/signal.ts';

/** Commands one actor may hold (architecture, actor model). */
export const defaultMailboxCapacity = 1_000;
/** How long `init` and `stop` may take. */
export const defaultLifecycleMs = 30_000;

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

export interface ActorDeps {
  readonly mailboxCapacity?: number;
  readonly initMs?: number;
  readonly stopMs?: number;
  onDeadLetter?(actor: string, kind: string): void;
}

/** Starts an actor; `init` begins at once, commands wait until it is through. */
export function startActor<S, C>(behavior: Behavior<S, C>, deps: ActorDeps = {}): ActorRef<C> {
  const capacity = deps.mailboxCapacity ?? defaultMailboxCapacity;
  const { name, kind } = behavior;
  const controller = new AbortController();
  const pending = new Set<(error: EngineError) => void>();
  const tasks = new Set<Promise<void>>();
  const { promise: done, resolve: exit } = createDeferred<ExitReason>();
  let mailbox: C[] = [];
  let current: ActorState = 'starting';
  let state: S;
  let hasState = false;
  let isDrainQueued = false;
  let stopping: Promise<ExitReason> | undefined;

  const self: ActorRef<C> = {
    name,
    kind,
    state: () => current,
    mailboxDepth: () => mailbox.length,
    send(command) {
      if (!isOpen()) deps.onDeadLetter?.(name, kind);
      else enqueue(command);
    },
    ask,
    stop: () => (stopping ??= stop()),
    done,
  };
  const context: ActorContext<C> = { self, signal: controller.signal, run, fail };

  const started = start();
  return self;

  async function start(): Promise<void> {
    try {
      const initial = behavior.init(context);
      // why: what is ready needs no deadline, and a run starts an actor each
      state = await (initial instanceof Promise
        ? within(initial, deps.initMs, `actor \`${name}\` did not start`)
        : initial);
      hasState = true;
      if (current !== 'starting') return;
      current = 'running';
      queueDrain();
    } catch (error) {
      fail(error);
    }
  }

  function isOpen(): boolean {
    return current === 'starting' || current === 'running';
  }

  function enqueue(command: C): void {
    if (mailbox.length >= capacity) {
      const message = `the mailbox of actor \`${name}\` is full (${capacity} commands)`;
      throw new EngineError('other', message, { code: 'mailbox_full' });
    }
    mailbox.push(command);
    queueDrain();
  }

  function queueDrain(): void {
    if (isDrainQueued || current !== 'running' || mailbox.length === 0) return;
    isDrainQueued = true;
    queueMicrotask(drain);
  }

  function drain(): void {
    isDrainQueued = false;
    const batch = mailbox;
    mailbox = [];
    for (const [index, command] of batch.entries()) {
      if (current !== 'running') {
        mailbox = [...batch.slice(index), ...mailbox];
        return;
      }
      try {
        state = behavior.receive(state, command, context);
      } catch (error) {
        fail(error);
      }
    }
  }

  function ask<R>(make: (reply: Reply<R>) => C, options: AskOptions = {}): Promise<R> {
    if (!isOpen()) {
      deps.onDeadLetter?.(name, kind);
      return Promise.reject(endedError());
    }
    return new Promise<R>((resolve, reject) => {
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
      const onTime = (): void =>
        onEnd(
          new EngineError('other', `actor \`${name}\` did not answer within ${options.timeoutMs} ms`, {
            code: 'timeout',
          }),
        );
      pending.add(onEnd);
      if (options.signal?.aborted) {
        onAbort();
        return;
      }
      options.signal?.addEventListener('abort', onAbort, { once: true });
      if (options.timeoutMs !== undefined) timer = setTimeout(onTime, Math.min(options.timeoutMs, maxTimerMs));
      try {
        enqueue(make({ resolve: (value) => void (settle() && resolve(value)), reject: onEnd }));
      } catch (error) {
        onEnd(error);
      }
    });
  }

  function run(task: (signal: AbortSignal) => Promise<void>): void {
    const running = task(controller.signal)
      .catch((error: unknown) => {
        if (isOpen()) fail(error);
      })
      .finally(() => void tasks.delete(running));
    tasks.add(running);
  }

  function fail(error: unknown): void {
    if (!isOpen()) return;
    current = 'failed';
    const known = toEngineError(error);
    stopping ??= end({ kind: 'failed', error: known });
  }

  async function stop(): Promise<ExitReason> {
    if (!isOpen()) return await done;
    current = 'stopping';
    return await end({ kind: 'stopped' });
  }

  async function end(reason: ExitReason): Promise<ExitReason> {
    const ended = reason.kind === 'failed' ? reason.error : endedError();
    controller.abort(ended);
    let result = reason;
    // why: what a late `init` opens must be closed too
    await started;
    try {
      if (hasState && behavior.stop !== undefined) {
        await within(Promise.resolve(behavior.stop(state, context)), deps.stopMs, `actor \`${name}\` did not stop`);
      }
      if (tasks.size > 0) {
        await within(Promise.all(tasks), deps.stopMs, `tasks of actor \`${name}\` did not end`);
      }
    } catch (error) {
      if (result.kind === 'stopped') result = { kind: 'failed', error: toEngineError(error) };
    }
    mailbox = [];
    const error = result.kind === 'failed' ? result.error : ended;
    for (const settle of pending) settle(error);
    current = result.kind === 'failed' ? 'failed' : 'stopped';
    exit(result);
    return result;
  }

  // why: without a stack, which would cost every run more than a step and says nothing about an end that was meant
  function endedError(): EngineError {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return new EngineError('other', `actor \`${name}\` has ended`, { code: 'actor_stopped' });
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

function createDeferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let settle: ((value: T) => void) | undefined;
  const promise = new Promise<T>((resolve) => (settle = resolve));
  return { promise, resolve: (value) => settle?.(value) };
}
