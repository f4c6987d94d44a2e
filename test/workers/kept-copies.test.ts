import { expect, test } from 'vitest';
import { defineAgent } from '../../src/protocol/agent.ts';
import { KeptCopies, OfferNumbers } from '../../src/workers/kept-copies.ts';

const offer = (name: string) => ({
  tools: [{ name, description: '', input_schema: { type: 'object' } }],
  toolTokens: name.length,
  mutatingTools: [name],
});
/** What a thread gets of it. */
const sent = <T>(value: T): T => structuredClone(value);

test('the copies of one offer that a thread gets are one, those of another are not', () => {
  const numbers = new OfferNumbers();
  const copies = new KeptCopies();
  const [wide, narrow] = [offer('wide'), offer('narrow')];
  const [first, other, second] = [sent(wide), sent(narrow), sent(wide)];

  copies.shareOffer(numbers.of(wide), first);
  copies.shareOffer(numbers.of(narrow), other);
  copies.shareOffer(numbers.of({ ...wide }), second);

  expect(second.tools).toBe(first.tools);
  expect(second.mutatingTools).toBe(first.mutatingTools);
  expect([first, other, second]).toEqual([wide, narrow, wide]);
  expect(other.tools).not.toBe(first.tools);
});

test('an offer that changed is another one', () => {
  const numbers = new OfferNumbers();
  const before = offer('tool');

  const changed = { ...before, tools: [...before.tools] };

  expect(numbers.of(changed)).not.toBe(numbers.of(before));
});

test('more offers than are kept stay as they came', () => {
  const numbers = new OfferNumbers();
  const copies = new KeptCopies();
  const offers = Array.from({ length: 200 }, (_, index) => offer(`tool_${index}`));

  for (let round = 0; round < 2; round += 1) {
    for (const one of offers) {
      const copy = sent(one);
      copies.shareOffer(numbers.of(one), copy);
      expect(copy).toEqual(one);
    }
  }
});

test('agents keep what is their own besides a prompt they share', () => {
  const copies = new KeptCopies();
  const specs = ['one', 'two'].map((role) =>
    sent(defineAgent({ role, system_prompt: 'Work.', max_steps: role.length })),
  );

  for (const spec of specs) copies.sharePrompt(spec);

  expect(specs.map(({ role, system_prompt: prompt }) => [role, prompt])).toEqual([
    ['one', 'Work.'],
    ['two', 'Work.'],
  ]);
});
