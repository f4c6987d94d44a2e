// What the coders write. It is carried out: their tests run it, the reviewer's too.

export const temperature = `/** @throws RangeError for an unknown unit */
export function toCelsius(value, unit) {
  switch (unit) {
    case 'C':
      return value;
    case 'F':
      return ((value - 32) * 5) / 9;
    case 'K':
      return value - 273.15;
    default:
      throw new RangeError(\`unknown unit of temperature: \${unit}\`);
  }
}
`;

export const weight = `const kilograms = { g: 0.001, kg: 1, oz: 0.028349523125, lb: 0.45359237 };

/** @throws RangeError for an unknown unit */
export function toKilograms(value, unit) {
  const factor = kilograms[unit];
  if (factor === undefined) throw new RangeError(\`unknown unit of weight: \${unit}\`);
  return value * factor;
}
`;

/** A test file of one function of the package. */
export function testOf(name: string, checks: string): string {
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ${name} } from 'units';

${checks}`;
}

export const lengthExport = "export { toMetres } from './length.js';\n";
export const temperatureExport = "export { toCelsius } from './temperature.js';\n";
export const weightExport = "export { toKilograms } from './weight.js';\n";

export const checkedTemperature = `${temperature.replace('export function toCelsius', 'function convert').replace('/** @throws RangeError for an unknown unit */\n', '')}
/** @throws RangeError for an unknown unit, and below absolute zero */
export function toCelsius(value, unit) {
  const celsius = convert(value, unit);
  if (celsius < -273.15) throw new RangeError(\`below absolute zero: \${value} \${unit}\`);
  return celsius;
}
`;
