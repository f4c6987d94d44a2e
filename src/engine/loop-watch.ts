import type { Bus } from '../bus/bus.ts';
import type { Logger } from '../protocol/deps.ts';
import { OpenList } from '../protocol/open-list.ts';
import type { CallWatch, WatchedCall } from '../tools/dispatch.ts';

export interface LoopWatch extends CallWatch, Disposable {}

/** How often the loop is asked while calls wait on this thread, and how late it may answer, in milliseconds (P). */
const tickMs = 50;
const stallMs = 250;

/**
 * Tells when the main thread stood still while tools ran on it, and names them: the one whose code held the thread, or all
 * that were open when several might have. Costs a timer while calls wait, and nothing else.
 */
export function createLoopWatch(deps: {
  readonly bus: Pick<Bus, 'publish'>;
  readonly logger: Logger;
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number;
}): LoopWatch {
  const { bus, logger, now } = deps;
  const open = new OpenList<WatchedCall>();
  let timer: NodeJS.Timeout | undefined;
  let enteredAt = 0;
  let seenAt = 0;

  function startTimer(): void {
    seenAt = now();
    timer = setInterval(() => {
      look();
      if (open.size === 0) stopTimer();
    }, tickMs);
    timer.unref();
  }

  function stopTimer(): void {
    clearInterval(timer);
    timer = undefined;
  }

  /** Late is what comes later than the next look was due. */
  function look(): void {
    const at = now();
    const late = at - seenAt - tickMs;
    seenAt = at;
    if (late >= stallMs) report(late, open.values());
  }

  function report(stalledMs: number, calls: readonly WatchedCall[]): void {
    if (calls.length === 0) return;
    const stalled_ms = Math.round(stalledMs);
    const named = calls.map(({ asked: { tool, context } }) => ({ run: context.run ?? null, call: context.call, tool }));
    bus.publish({ type: 'loop_stalled', stalled_ms, calls: named });
    const tools = [...new Set(named.map(({ tool }) => `\`${tool}\``))].join(', ');
    logger.warn(
      `the main thread stood still for ${stalled_ms} ms while ${tools} ran on it; define the tool by its module, so that it runs on a thread, or let it wait now and then`,
      { target: 'vibe::engine', stalled_ms, calls: named },
    );
  }

  return {
    enter(call) {
      if (timer !== undefined) look();
      open.add(call);
      enteredAt = now();
    },
    leave(call, isWaiting) {
      const heldMs = now() - enteredAt;
      if (heldMs >= stallMs) {
        report(heldMs, [call]);
        seenAt = now();
      }
      if (!isWaiting) open.remove(call);
      else if (timer === undefined) startTimer();
    },
    end(call) {
      if (timer !== undefined) look();
      open.remove(call);
    },
    [Symbol.dispose]: stopTimer,
  };
}
