import { expect, test } from 'vitest';
import { Cancellation } from '../../src/protocol/cancellation.ts';
import { OfferNumbers } from '../../src/workers/kept-copies.ts';
import { type RunChannel, RunLink, type ThreadRun } from '../../src/workers/run-link.ts';
import { type RunControlMessage, runCounters } from '../../src/workers/run-port.ts';

/** A link whose thread is this test. */
function openLink() {
  const cancellation = new Cancellation();
  const run = {
    job: { settings: { tools: [] } },
    provider: {},
    budget: { remaining: () => ({}), onExceeded: () => () => {} },
    control: { cancellation, isStopRequested: () => false },
    onControl: () => {},
  } as unknown as ThreadRun;
  const sent: RunControlMessage[] = [];
  const channel: RunChannel = { thread: 7, send: (_run, message) => void sent.push(message), answer: () => {} };
  const link = new RunLink(run, { number: 1, offers: new OfferNumbers(), unheard: [], onToldCancel: () => {} });
  return { link, channel, cancellation, sent };
}

test('what a run said before it heard of its cancel is no sign that it heard', () => {
  const { link, channel, cancellation, sent } = openLink();
  link.receive(channel, [1, [], [], [], [], null]);
  cancellation.cancel(new Error('enough'));

  link.receive(channel, [1, [], [], [], [], null]);

  expect(sent).toEqual([{ control: 'cancel', mode: 'hard' }]);
  expect(link.hasHeardCancel).toBe(false);
  Atomics.store(link.job.counters, runCounters.heardCancel, 1); // as the thread does
  expect(link.hasHeardCancel).toBe(true);
});

test('a run that has not begun finds in shared memory that it is to end, and is told once it is known where', () => {
  const { link, channel, cancellation, sent } = openLink();
  const { counters } = link.job;

  cancellation.cancel(new Error('enough'));

  expect(Atomics.load(counters, runCounters.toldCancel)).toBe(1);
  expect(sent).toEqual([]);
  link.receive(channel, [1, [], [], [], [], null]);
  expect(sent).toEqual([{ control: 'cancel', mode: 'hard' }]);
});
