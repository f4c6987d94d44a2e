export interface FloodGate {
  /** Whether one more may pass; what may not is counted. */
  admit(): boolean;
  /** How many were held back since the last call. */
  takeSuppressed(): number;
}

/** Lets `burst` pass at once and then `perSecond`, evenly. */
export function createFloodGate(
  limits: { readonly burst: number; readonly perSecond: number },
  elapsed: () => number,
): FloodGate {
  let tokens = limits.burst;
  let refilledAt = elapsed();
  let suppressed = 0;
  return {
    admit() {
      const now = elapsed();
      tokens = Math.min(limits.burst, tokens + ((now - refilledAt) * limits.perSecond) / 1_000);
      refilledAt = now;
      if (tokens < 1) {
        suppressed += 1;
        return false;
      }
      tokens -= 1;
      return true;
    },
    takeSuppressed: () => takeCount(),
  };

  function takeCount(): number {
    const count = suppressed;
    suppressed = 0;
    return count;
  }
}

/** Lets at most `count` pass within any `windowMs`. */
export function createWindowGate(count: number, windowMs: number, elapsed: () => number): FloodGate {
  const admitted: number[] = [];
  let next = 0;
  let suppressed = 0;
  return {
    admit() {
      const now = elapsed();
      const oldest = admitted[next];
      if (oldest !== undefined && now - oldest < windowMs) {
        suppressed += 1;
        return false;
      }
      admitted[next] = now;
      next = (next + 1) % count;
      return true;
    },
    takeSuppressed() {
      const total = suppressed;
      suppressed = 0;
      return total;
    },
  };
}
