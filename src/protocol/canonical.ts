import { createHash } from 'node:crypto';

/**
 * JSON with one spelling per value: keys sorted by code unit, no blanks, absent (`undefined`) properties left out, numbers
 * and texts as `JSON.stringify` writes them (RFC 8785 for plain data).
 * @throws TypeError for a value JSON cannot hold, such as a bigint
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return toText(value);
  // why: built as text, since an object of its own would put keys that look like numbers first and lose `__proto__`
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/** SHA-256 of the canonical JSON, in lower-case hex: the same for values that differ only in the order of keys. */
export function canonicalHash(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value), 'utf8').digest('hex');
}

/** What JSON has no word for (`undefined` in a list, a function) reads `null`, as in `JSON.stringify`. */
function toText(value: unknown): string {
  return (JSON.stringify(value) as string | undefined) ?? 'null';
}
