import type { TaskInfo } from '../../src/index.ts';

/** What this example has the factory make of the project beside it. */
export const task: TaskInfo = {
  title: 'Convert temperatures and weights',
  description:
    'The package converts lengths only. It should convert temperatures to degrees Celsius and weights to kilograms too, ' +
    'refuse what cannot exist, and say so in its README.',
};
