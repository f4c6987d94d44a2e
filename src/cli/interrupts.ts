import type { RunHandle } from '../engine/run-handle.ts';
import { killDescendants } from './descendants.ts';
import { exitCodes } from './failure.ts';
import type { CliIo } from './io.ts';

/** What Ctrl-C does while a command runs (contract README, decision 7). */
export interface Interrupts extends Disposable {
  /** Whether the user pressed it. */
  readonly happened: boolean;
  /** From now on Ctrl-C stops this run: first after the step in progress, then at once. */
  stop(run: Pick<RunHandle, 'cancel'>): void;
  /** Nothing is left to end gently: the next Ctrl-C kills. */
  finish(): void;
}

/** Takes Ctrl-C over. Without a run, or the third time, it kills what was started and leaves with code 130. */
export function takeInterrupts(io: CliIo): Interrupts {
  let presses = 0;
  let run: Pick<RunHandle, 'cancel'> | undefined;

  const off = io.onInterrupt(() => {
    presses += 1;
    if (run !== undefined && presses === 1) {
      io.err('\nStopping after the step in progress. Press Ctrl-C again to stop at once.\n');
      cancel(run, 'cooperative');
    } else if (run !== undefined && presses === 2) {
      io.err('\nStopping at once. Press Ctrl-C again to kill everything.\n');
      cancel(run, 'hard');
    } else {
      killDescendants();
      process.exit(exitCodes.interrupted);
    }
  });

  return {
    get happened() {
      return presses > 0;
    },
    stop: (started) => void (run = started),
    finish: () => void (run = undefined),
    [Symbol.dispose]: off,
  };
}

function cancel(run: Pick<RunHandle, 'cancel'>, mode: 'cooperative' | 'hard'): void {
  // resolves with the run, whose outcome is what is looked at; it does not reject
  void run.cancel({ mode });
}
