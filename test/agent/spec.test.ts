import { expect, test } from 'vitest';
import { withDescription, withMaxSteps, withStructuredOutput, withThinking, withTools } from '../../src/agent/spec.ts';
import { defineAgent } from '../../src/protocol/agent.ts';

test('builders return copies with one thing changed', () => {
  const spec = Object.freeze(defineAgent({ role: 'r', system_prompt: 'p' }));

  expect(withTools(spec, { named: ['grep'] })).toEqual({ ...spec, tools: { named: ['grep'] } });
  expect(withThinking(spec, 'max')).toEqual({ ...spec, thinking: 'max' });
  expect(withMaxSteps(spec, 0)).toEqual({ ...spec, max_steps: 0 });
  expect(withStructuredOutput(spec)).toEqual({ ...spec, structured_output: true });
  expect(withStructuredOutput(withStructuredOutput(spec), false)).toEqual(spec);
  expect(withDescription(spec, 'd')).toEqual({ ...spec, description: 'd' });
});

test('a number of steps that cannot be one is refused', () => {
  const spec = defineAgent({ role: 'r', system_prompt: 'p' });

  for (const steps of [-1, 1.5, NaN, Infinity]) {
    expect(() => withMaxSteps(spec, steps)).toThrow(
      expect.objectContaining({ kind: 'config', message: 'agent `r`: `max_steps` must be an integer of at least 0' }),
    );
  }
});
