import { EngineError } from '../protocol/error.ts';
import type { ActorRef, Behavior, Reply } from './behavior.ts';
import type { Supervisor } from './supervisor.ts';

/** A call to make on a connection; its answer goes to the reply. */
export interface ConnectionCommand<C> {
  readonly work: (connection: C) => Promise<unknown>;
  readonly reply: Reply<unknown>;
}

export interface Ownership<C> {
  readonly name: string;
  readonly kind: string;
  readonly connection: C;
  /** Settles when nothing of the connection is left; the reason when it ended by itself. */
  readonly ended: Promise<string | undefined>;
  stop(): Promise<unknown>;
}

export interface OwnedConnection<C> {
  /** Goes through the actor's mailbox; after the actor's end straight to the connection, which says why it is closed. */
  ask<R>(work: (connection: C) => Promise<R>): Promise<R>;
  /** Ends actor and connection. */
  stop(): Promise<unknown>;
}

/**
 * Puts an open connection to another process under the supervisor as an actor: its calls are commands, its end is the
 * actor's end. Who opened it decides about a new one.
 */
export function ownConnection<C>(supervisor: Supervisor, owned: Ownership<C>): OwnedConnection<C> {
  const child = supervisor.start<C, ConnectionCommand<C>>({
    behavior: () => createBehavior(owned),
    restart: 'temporary',
  });
  const ref: ActorRef<ConnectionCommand<C>> = child.ref();
  return {
    ask<R>(work: (connection: C) => Promise<R>) {
      const state = ref.state();
      if (state !== 'running' && state !== 'starting') return work(owned.connection);
      return ref.ask<R>((reply) => ({ work, reply: reply as Reply<unknown> }));
    },
    stop: () => ref.stop(),
  };
}

function createBehavior<C>(owned: Ownership<C>): Behavior<C, ConnectionCommand<C>> {
  return {
    name: owned.name,
    kind: owned.kind,
    init(context) {
      context.run(async () => {
        const reason = await owned.ended;
        if (context.signal.aborted) return;
        if (reason === undefined) void context.self.stop(); // nobody waits: `done` tells
        else throw new EngineError('plugin', reason, { code: 'closed' });
      });
      return owned.connection;
    },
    receive(connection, { work, reply }, context) {
      context.run(() => work(connection).then(reply.resolve, reply.reject));
      return connection;
    },
    async stop() {
      await owned.stop();
    },
  };
}
