import type { CancelListener } from '../protocol/cancellation.ts';
import { isEngineError } from '../protocol/error.ts';
import { errorOutput, type ToolOutput } from '../protocol/tool.ts';
import { cancelledOutput } from './call-gate.ts';
import type { CallLimit } from './call-limit.ts';

/** The end of a call that is waited for: the first that comes. */
export class CallEnd implements CancelListener {
  readonly #graceMs: number;
  readonly #onEnd: (output: ToolOutput | undefined) => void;
  #graceTimer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** @param onEnd told the output, or nothing when the call was stopped */
  constructor(graceMs: number, onEnd: (output: ToolOutput | undefined) => void) {
    this.#graceMs = graceMs;
    this.#onEnd = onEnd;
  }

  settle(output: ToolOutput | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#graceTimer !== undefined) clearTimeout(this.#graceTimer);
    this.#onEnd(output);
  }

  onCancelled(): void {
    this.#graceTimer = setTimeout(() => this.settle(undefined), this.#graceMs);
  }
}

/** Whether a call failed because it was told to end. */
export function isAbort(error: unknown, limit: CallLimit): boolean {
  if (!limit.isCancelled) return false;
  if (error === limit.reason) return true;
  if (isEngineError(error)) return error.kind === 'cancelled';
  return error instanceof Error && error.name === 'AbortError';
}

/** The result of a call that was ended early. */
export function stoppedOutput(tool: string, limit: CallLimit): ToolOutput {
  if (!limit.hasTimedOut) return cancelledOutput(tool);
  return errorOutput(`Tool \`${tool}\` timed out after ${limit.timeoutMs} ms and was stopped.`, { timed_out: true });
}
