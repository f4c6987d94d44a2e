import { expect, test } from 'vitest';
import { defineAgent } from '../../src/protocol/agent.ts';
import type { RunThreadJob } from '../../src/workers/run-port.ts';
import { KeptCopies, OfferNumbers } from '../../src/workers/kept-copies.ts';

const offerOf = (name: string) => ({
  tools: [{ name, description: '', input_schema: { type: 'object' } }],
  toolTokens: name.length,
  mutatingTools: [name],
});
type Offer = ReturnType<typeof offerOf>;

const numbers = new OfferNumbers();

/** What a thread gets of a run that is offered this. */
function jobOf(offered: Offer, role = 'worker', prompt = 'Work.'): Pick<RunThreadJob, 'offer' | 'job'> {
  const settings = { spec: defineAgent({ role, system_prompt: prompt }), ...structuredClone(offered) };
  return { offer: numbers.of(offered), job: { settings } as unknown as RunThreadJob['job'] };
}

test('runs that are offered the same share one copy, others have their own', () => {
  const copies = new KeptCopies();
  const [wide, narrow] = [offerOf('wide'), offerOf('narrow')];
  const [first, other, second] = [jobOf(wide), jobOf(narrow), jobOf(wide)];

  for (const job of [first, other, second]) copies.share(job);

  expect(second.job.settings.tools).toBe(first.job.settings.tools);
  expect(second.job.settings.mutatingTools).toBe(first.job.settings.mutatingTools);
  expect(other.job.settings.tools).toEqual(narrow.tools);
});

test('an offer that changed is another one', () => {
  const before = offerOf('tool');

  const changed = { ...before, tools: [...before.tools] };

  expect(numbers.of(changed)).not.toBe(numbers.of(before));
  expect(numbers.of({ ...before })).toBe(numbers.of(before));
});

test('many other offers do not push out what a run still has', () => {
  const copies = new KeptCopies();
  const wide = offerOf('wide');
  const first = jobOf(wide);
  copies.share(first);
  for (let count = 0; count < 200; count += 1) copies.share(jobOf(offerOf(`own_${count}`)));
  const later = jobOf(wide);

  copies.share(later);

  expect(later.job.settings.tools).toBe(first.job.settings.tools);
});

test('nothing is kept when the last run that had it is over', () => {
  const copies = new KeptCopies();
  const [wide, wider] = [offerOf('wide'), offerOf('wider')];
  const [first, second] = [jobOf(wide), jobOf(wide)];
  const runs = [copies.share(first), copies.share(second)];
  const joined = runs[0]?.offer(numbers.of(wider), structuredClone(wider));
  runs[0]?.release();
  const third = jobOf(wide);
  const ofThird = copies.share(third);
  expect(third.job.settings.tools).toBe(first.job.settings.tools); // the second has it still

  ofThird.release();
  runs[1]?.release();

  const last = jobOf(wide);
  const ofLast = copies.share(last);
  expect(last.job.settings.tools).not.toBe(first.job.settings.tools);
  expect(ofLast.offer(numbers.of(wider), structuredClone(wider)).tools).not.toBe(joined?.tools);
});

test('agents keep what is their own besides a prompt they share', () => {
  const copies = new KeptCopies();
  const jobs = ['one', 'two'].map((role) => jobOf(offerOf('tool'), role));

  for (const job of jobs) copies.share(job);

  expect(jobs.map(({ job }) => [job.settings.spec.role, job.settings.spec.system_prompt])).toEqual([
    ['one', 'Work.'],
    ['two', 'Work.'],
  ]);
});
