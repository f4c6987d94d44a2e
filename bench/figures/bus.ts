import { EventEmitter } from 'eventemitter3';
import { createBus } from '../../src/bus/bus.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import type { RunId } from '../../src/protocol/ids.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { type Contender, measure } from '../measure.ts';
import { type Row, toRow } from '../report.ts';

const observers = 10;

/** `publish` (schema check, freeze, number, time) to ten observers against a bare emit of the same event to ten. */
export async function measureBus(): Promise<readonly Row[]> {
  const ours = createOurs();
  const reference = createReference();
  const [oursNs = [], referenceNs = []] = await measure([ours, reference]);
  return [
    toRow({
      name: 'bus',
      unit: 'ns',
      goal: 4,
      ours: oursNs,
      reference: { name: reference.name, series: referenceNs },
    }),
  ];
}

function createOurs(): Contender {
  const bus = createBus({ clock: systemClock, logger: silentLogger });
  const run = 'a3f1c0de-0000-4000-8000-000000000001' as RunId;
  let seen = 0;
  for (let index = 0; index < observers; index += 1) {
    bus.on('agent_text', ({ event }) => {
      seen += event.text.length;
    });
  }
  return {
    name: 'publish',
    run(count) {
      const before = seen;
      for (let index = 0; index < count; index += 1) {
        bus.publish({ type: 'agent_text', run, role: 'coder', text: 'looking' });
      }
      expectSeen(seen - before, count);
    },
  };
}

function createReference(): Contender {
  const emitter = new EventEmitter<string>();
  const run = 'a3f1c0de-0000-4000-8000-000000000001';
  let seen = 0;
  for (let index = 0; index < observers; index += 1) {
    emitter.on('agent_text', (event: { readonly text: string }) => {
      seen += event.text.length;
    });
  }
  return {
    name: 'eventemitter3 emit',
    run(count) {
      const before = seen;
      for (let index = 0; index < count; index += 1) {
        emitter.emit('agent_text', { type: 'agent_text', run, role: 'coder', text: 'looking' });
      }
      expectSeen(seen - before, count);
    },
  };
}

function expectSeen(characters: number, count: number): void {
  if (characters !== count * observers * 'looking'.length) throw new Error('an observer missed an event');
}
