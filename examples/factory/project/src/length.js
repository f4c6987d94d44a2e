const metres = { m: 1, km: 1000, ft: 0.3048, mi: 1609.344 };

/** @throws RangeError for an unknown unit */
export function toMetres(value, unit) {
  const factor = metres[unit];
  if (factor === undefined) throw new RangeError(`unknown unit of length: ${unit}`);
  return value * factor;
}
