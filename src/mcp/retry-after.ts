/** Longest wait that is taken over, in milliseconds: 1 h (AG11). */
const maxWaitMs = 3_600_000;

/** `Retry-After` as milliseconds from `now`: decimal seconds or an HTTP date; anything else is absent (AG11). */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Math.min(Math.round(Number(text) * 1_000), maxWaitMs);
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - now), maxWaitMs);
}
