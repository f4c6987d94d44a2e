import { isJsonObject } from '../protocol/json.ts';

/** A token count of a provider; 0 for anything that is no non-negative number, so that sums and budgets stay numbers. */
export function tokenCount(usage: unknown, key: string): number {
  const count = isJsonObject(usage) ? usage[key] : undefined;
  return typeof count === 'number' && Number.isFinite(count) && count >= 0 ? Math.round(count) : 0;
}
