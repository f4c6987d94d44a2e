import type { SupervisorEvent } from '../actors/supervisor.ts';
import type { BusEvent } from '../bus/events.ts';

/** What a supervisor tells, as an event of the bus. */
export function toActorEvent(event: SupervisorEvent): BusEvent {
  const { actor, kind } = event;
  switch (event.type) {
    case 'started':
      return { type: 'actor_started', actor, kind };
    case 'stopped':
      return { type: 'actor_stopped', actor, kind };
    case 'failed':
      return { type: 'actor_failed', actor, kind, message: event.error.message };
    case 'restarted':
      return { type: 'actor_restarted', actor, kind, starts: event.starts };
    case 'gave_up':
      return { type: 'actor_gave_up', actor, kind, starts: event.starts };
  }
}
