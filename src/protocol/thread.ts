import type { WireError } from './error.ts';
import type { ToolContextData, ToolProgress } from './tool.ts';

/** One tool call for a worker thread: structured-cloneable data only. */
export interface ToolTask {
  /** File URL of the module that holds the tool. */
  readonly module: string;
  /** Its export; default: the one that holds a tool of this name. */
  readonly export?: string;
  readonly tool: string;
  /** What the validator let through; may hold anything that can be cloned. */
  readonly input: unknown;
  readonly context: ToolContextData;
}

/** How a call on a worker thread ended. */
export type ToolTaskResult =
  | { readonly ok: true; readonly output: unknown }
  /** An `Error`, thrown by the tool or by what runs it. */
  | { readonly ok: false; readonly error: WireError }
  /** Something else was thrown; kept when it is a text. */
  | { readonly ok: false; readonly thrown: string | undefined };

/** From the pool to a tool thread. */
export type ToolThreadCommand =
  | { readonly type: 'run'; readonly id: number; readonly task: ToolTask }
  | { readonly type: 'cancel'; readonly id: number; readonly reason: string };

/** From a tool thread to the pool. */
export type ToolThreadReport =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly id: number; readonly result: ToolTaskResult }
  | { readonly type: 'progress'; readonly id: number; readonly progress: ToolProgress }
  /** What code in the thread wrote to its standard output or error. */
  | { readonly type: 'output'; readonly call: string | undefined; readonly text: string }
  /** The call left an error behind that nobody caught; the thread is not to be used again. */
  | { readonly type: 'crashed'; readonly id: number; readonly reason: string }
  /** The same from a call that had already ended; `call` when it is known which. */
  | {
      readonly type: 'late_error';
      readonly call: string | undefined;
      readonly tool: string | undefined;
      readonly error: WireError;
    };

/** Fields of the memory a tool thread shares with the pool (32-bit integers). */
export const toolThreadFlags = {
  /** The call that is to end, for handlers that are too busy to hear of it. */
  cancelled: 0,
  /** The call that was begun last; one that never began may run elsewhere. */
  begun: 1,
  /** Grows while a call shows signs of life. */
  beats: 2,
  /** Grows with each command; a thread between two calls waits on it. */
  posted: 3,
} as const;

export const toolThreadFlagCount = 4;
