import type { ToolUseBlock } from '../protocol/message.ts';
import type { ToolAnswer } from './ports.ts';

/** What a call that never started is answered with (agent-runtime section 2 and 18.1). */
export const notExecutedText = 'Tool call was not executed.';

const notExecuted: ToolAnswer = { content: notExecutedText, is_error: true };

/** Calls of one step that may run side by side; a mutating call is alone. Batches run one after the other. */
export function splitIntoBatches(
  calls: readonly ToolUseBlock[],
  isMutating: (tool: string) => boolean,
): readonly (readonly ToolUseBlock[])[] {
  const batches: ToolUseBlock[][] = [];
  let open: ToolUseBlock[] | undefined;
  for (const call of calls) {
    if (isMutating(call.name)) {
      batches.push([call]);
      open = undefined;
    } else if (open === undefined) {
      open = [call];
      batches.push(open);
    } else open.push(call);
  }
  return batches;
}

export interface BatchOptions {
  /** Whether calls of a tool run alone; unknown tools do not. */
  isMutating(tool: string): boolean;
  readonly maxParallel: number;
  /** When it turns true, calls not started yet are answered without running. */
  isCancelled(): boolean;
  callTool(call: ToolUseBlock): Promise<ToolAnswer>;
}

/** The answers of all calls of a step, by position, in call order whatever order they finish in. */
export async function executeCalls(
  calls: readonly ToolUseBlock[],
  options: BatchOptions,
): Promise<readonly ToolAnswer[]> {
  const batches = splitIntoBatches(calls, (tool) => options.isMutating(tool));
  const [only] = batches;
  if (batches.length === 1 && only !== undefined) return await executeBatch(only, options);
  const answers: ToolAnswer[] = [];
  for (const batch of batches) answers.push(...(await executeBatch(batch, options)));
  return answers;
}

function executeBatch(batch: readonly ToolUseBlock[], options: BatchOptions): Promise<readonly ToolAnswer[]> {
  if (batch.length > options.maxParallel) return executeSideBySide(batch, options);
  return Promise.all(
    batch.map((call) => (options.isCancelled() ? Promise.resolve(notExecuted) : options.callTool(call))),
  );
}

async function executeSideBySide(
  batch: readonly ToolUseBlock[],
  options: BatchOptions,
): Promise<readonly ToolAnswer[]> {
  const answers: ToolAnswer[] = Array.from({ length: batch.length }, () => notExecuted);
  let next = 0;
  async function work(): Promise<void> {
    while (next < batch.length && !options.isCancelled()) {
      const index = next;
      next += 1;
      answers[index] = await options.callTool(batch[index] as ToolUseBlock);
    }
  }
  const lanes = Math.max(1, Math.min(options.maxParallel, batch.length));
  await Promise.all(Array.from({ length: lanes }, work));
  return answers;
}
