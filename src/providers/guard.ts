import { EngineError } from '../protocol/error.ts';
import { cancelledCall } from './retry.ts';

export interface Limit {
  readonly ms: number;
  /** Message of the `network` error when it passes. */
  readonly message: string;
}

export interface GuardLimits {
  readonly total: Limit;
  /** Starts again with each byte. */
  readonly silence?: Limit;
  /** Starts again with each sign of progress. */
  readonly keepAlive?: Limit;
}

/** The end of one exchange: the caller's abort or a passed limit, whichever comes first. */
export interface Guard extends Disposable {
  readonly signal: AbortSignal;
  sawBytes(): void;
  sawProgress(): void;
  /** Why the signal aborted: `cancelled` or `network`; absent while it has not. */
  failure(): EngineError | undefined;
}

/** Watches one exchange. Dispose it at once when the exchange ends: it hangs on the caller's signal and holds timers. */
export function createGuard(parent: AbortSignal | undefined, limits: GuardLimits): Guard {
  const controller = new AbortController();
  let failure: EngineError | undefined;
  const timers: NodeJS.Timeout[] = [];

  function end(error: EngineError): void {
    failure ??= error;
    controller.abort(failure);
  }
  function watch(limit: Limit | undefined): NodeJS.Timeout | undefined {
    if (limit === undefined) return undefined;
    const timer = setTimeout(() => end(new EngineError('network', limit.message, { code: 'timeout' })), limit.ms);
    timers.push(timer);
    return timer;
  }

  watch(limits.total);
  const silence = watch(limits.silence);
  const keepAlive = watch(limits.keepAlive);
  const follow = (): void => end(cancelledCall(parent?.reason));
  if (parent?.aborted === true) follow();
  else parent?.addEventListener('abort', follow, { once: true });

  return {
    signal: controller.signal,
    sawBytes: () => void silence?.refresh(),
    sawProgress: () => void keepAlive?.refresh(),
    failure: () => failure,
    [Symbol.dispose]() {
      for (const timer of timers) clearTimeout(timer);
      parent?.removeEventListener('abort', follow);
    },
  };
}
