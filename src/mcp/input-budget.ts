import type { RpcId } from '../protocol/jsonrpc.ts';
import { maxInputRounds } from './input-policy.ts';

/** Requests of a legacy server that need an answer of the user or a model. */
const costly: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage']);

/**
 * Limits how often a legacy server may ask (mcp-host 5.4: 8 per call). Its requests do not say which call they belong to,
 * so each is charged to the youngest open call that has asks left; outside of calls 8 are allowed in all.
 */
export interface InputBudget {
  open(call: RpcId): void;
  close(call: RpcId): void;
  /** `ok`; `refuse`; or refuse and fail this call, the only open one. */
  charge(method: string): 'ok' | 'refuse' | { readonly call: RpcId };
}

export function createInputBudget(): InputBudget {
  const calls = new Map<RpcId, number>();
  let outside = 0;
  return {
    open(call) {
      calls.set(call, 0);
    },
    close(call) {
      calls.delete(call);
    },
    charge(method) {
      if (!costly.has(method)) return 'ok';
      for (const [call, asked] of [...calls].toReversed()) {
        if (asked >= maxInputRounds) continue;
        calls.set(call, asked + 1);
        return 'ok';
      }
      const [only, ...others] = calls.keys();
      if (only !== undefined) return others.length === 0 ? { call: only } : 'refuse';
      outside += 1;
      return outside <= maxInputRounds ? 'ok' : 'refuse';
    },
  };
}
