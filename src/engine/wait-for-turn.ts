import type { ActorControl, RunInbox } from '../actors/run-actor.ts';
import type { Ticket } from './admission.ts';

/** A run that is told to end while it waits gives up its place and goes on at once, to its end. */
export async function waitForTurn(
  control: ActorControl,
  inbox: RunInbox,
  ticket: Ticket,
  turn: Promise<void>,
): Promise<void> {
  const cancelled = new Promise<false>((resolve) => {
    const onCancel = (): void => resolve(false);
    control.cancellation.listen({ onCancelled: onCancel });
    inbox.listen({ cancel: onCancel });
  });
  const isTurn = await Promise.race([turn.then(() => true), cancelled]);
  inbox.listen({});
  if (!isTurn) ticket.leave();
}
