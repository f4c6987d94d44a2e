import { EngineError } from './error.ts';

/**
 * A number among the options of a caller, as it is given; absent is fine.
 * @throws EngineError `config` naming the option and its range, when it is no whole number in it
 */
export function checkWhole(
  name: string,
  value: number | undefined,
  least: number,
  most = Number.POSITIVE_INFINITY,
): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least && value <= most)) return value;
  const range = most === Number.POSITIVE_INFINITY ? `from ${least} on` : `from ${least} to ${most}`;
  throw new EngineError('config', `option \`${name}\` must be a whole number ${range}, not ${String(value)}`);
}

/** @throws EngineError `config` when it is NaN, negative or no number: as a limit it would never be reached */
export function checkAmount(name: string, value: number | undefined): void {
  if (value === undefined || (typeof value === 'number' && value >= 0)) return;
  throw new EngineError('config', `option \`${name}\` must be a number from 0 on, not ${String(value)}`);
}

/** @throws EngineError `config` when it is none of the choices */
export function checkChoice(name: string, value: string | undefined, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value)) return;
  const list = choices.map((choice) => `\`${choice}\``).join(', ');
  throw new EngineError('config', `option \`${name}\` must be one of ${list}, not ${JSON.stringify(value)}`);
}
