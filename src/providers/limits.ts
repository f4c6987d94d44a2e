import { EngineError } from '../protocol/error.ts';

/** Limits of the HTTP providers, in milliseconds unless said otherwise. */
export interface HttpLimits {
  /** One request without streaming. */
  readonly requestMs: number;
  /** One stream, however lively. */
  readonly streamMs: number;
  /** A stream without a byte, the wait for its first one included. */
  readonly silenceMs: number;
  /** A stream of nothing but keep-alives. */
  readonly keepAliveMs: number;
  /** Attempts per call, the first included; 0 counts as 1. */
  readonly attempts: number;
  /** Wait before the first retry; doubles with each. */
  readonly retryBaseMs: number;
}

/** Sources: agent-runtime section 15; reliability AG9. */
export const defaultHttpLimits: HttpLimits = {
  requestMs: 300_000,
  streamMs: 1_800_000,
  silenceMs: 180_000,
  keepAliveMs: 300_000,
  attempts: 4,
  retryBaseMs: 1_000,
};

/** Keys of an `extra.limits` table and what they set. */
const limitKeys: ReadonlyMap<string, keyof HttpLimits> = new Map([
  ['request_ms', 'requestMs'],
  ['stream_ms', 'streamMs'],
  ['silence_ms', 'silenceMs'],
  ['keep_alive_ms', 'keepAliveMs'],
  ['attempts', 'attempts'],
  ['retry_base_ms', 'retryBaseMs'],
]);

/** Longest duration that is taken. Source: reliability FR11. */
const maxMs = 2_147_483_000;
const mayBeZero: ReadonlySet<keyof HttpLimits> = new Set<keyof HttpLimits>(['attempts', 'retryBaseMs']);

/**
 * Reads an `extra.limits` table over the defaults.
 * @param where names the table in messages
 * @throws EngineError `config` for an unknown key or a value that is no duration
 */
export function parseHttpLimits(table: object | undefined, where: string): HttpLimits {
  const limits: Record<keyof HttpLimits, number> = { ...defaultHttpLimits };
  for (const [key, value] of Object.entries(table ?? {})) {
    const name = limitKeys.get(key);
    if (name === undefined) throw new EngineError('config', `${where}: unknown key \`extra.limits.${key}\``);
    const least = mayBeZero.has(name) ? 0 : 1;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > maxMs) {
      throw new EngineError(
        'config',
        `${where}: \`extra.limits.${key}\` must be a whole number from ${least} to ${maxMs}`,
      );
    }
    limits[name] = value;
  }
  return limits;
}
