import { AsyncLocalStorage } from 'node:async_hooks';
import { Cancellation, signalSource, withLazySignal } from '../protocol/cancellation.ts';
import { EngineError, isEngineError, messageOf, toWireError, type WireError } from '../protocol/error.ts';
import {
  type ToolTask,
  type ToolTaskResult,
  type ToolThreadCommand,
  toolThreadFlags,
  type ToolThreadReport,
} from '../protocol/thread.ts';
import type { ToolContext, ToolProgress } from '../protocol/tool.ts';
import type { LoadHandler } from './tool-module.ts';

export interface ToolThreadDeps {
  /** Memory shared with the pool, see `toolThreadFlags`. */
  readonly flags: Int32Array;
  readonly load: LoadHandler;
  /** @throws DataCloneError for a report that cannot be cloned */
  post(report: ToolThreadReport, transfer: readonly ArrayBuffer[]): void;
  /** A call is over and answered. */
  onIdle?(): void;
}

/** The thread's side of the pool: one call at a time. */
export interface ToolThread {
  receive(command: ToolThreadCommand): void;
  /** An error nobody caught: ends the call it comes from, or is told as late when that call is over. */
  onUncaught(error: unknown): void;
  /** What code in this thread writes to its standard output or error. */
  onOutput(text: string): void;
  /** Whether the code now running belongs to a call that is over. */
  isLate(): boolean;
}

class Call {
  readonly id: number;
  readonly task: ToolTask;
  #cancellation: Cancellation | undefined;

  constructor(id: number, task: ToolTask) {
    this.id = id;
    this.task = task;
  }

  /** Made at first use, because most calls never look at it. */
  get cancellation(): Cancellation {
    return (this.#cancellation ??= new Cancellation());
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }
}

export function createToolThread(deps: ToolThreadDeps): ToolThread {
  const { flags } = deps;
  const owners = new AsyncLocalStorage<Call>();
  let current: Call | undefined;
  let ended = 0;

  async function run(call: Call): Promise<void> {
    const result = await execute(call);
    if (current !== call) return; // it crashed meanwhile, which was told already
    current = undefined;
    ended += 1;
    answer(call, result);
    deps.onIdle?.();
  }

  async function execute(call: Call): Promise<ToolTaskResult> {
    try {
      const handler = await deps.load(call.task);
      return { ok: true, output: await handler(call.task.input, createContext(call, deps)) };
    } catch (error) {
      return error instanceof Error ? { ok: false, error: toToolError(error) } : { ok: false, thrown: toText(error) };
    }
  }

  function answer({ id, task }: Call, result: ToolTaskResult): void {
    try {
      deps.post({ type: 'done', id, result }, result.ok ? buffersOf(result.output) : []);
    } catch (cause) {
      const message = `the result of tool \`${task.tool}\` cannot be sent between threads: ${messageOf(cause)} ${mainThreadHint}`;
      const error = new EngineError('tool', message, { code: 'uncloneable' });
      deps.post({ type: 'done', id, result: { ok: false, error: toWireError(error) } }, []);
    }
  }

  return {
    receive(command) {
      if (command.type === 'run') {
        const call = new Call(command.id, command.task);
        current = call;
        Atomics.store(flags, toolThreadFlags.begun, call.id);
        void owners.run(call, run, call); // settles by its report, never rejects
      } else if (current?.id === command.id) {
        current.cancellation.cancel(cancelReason(command.reason));
      }
    },
    onUncaught(error) {
      const owner = owners.getStore();
      // With no owner known it is the running call's, unless an earlier call of this thread may have left it behind.
      const isOwn = current !== undefined && (owner === current || (owner === undefined && ended === 0));
      if (isOwn && current !== undefined) {
        const { id } = current;
        current = undefined;
        deps.post({ type: 'crashed', id, reason: messageOf(error) }, []);
        return;
      }
      const { call, tool } = { call: owner?.task.context.call, tool: owner?.task.tool };
      deps.post({ type: 'late_error', call, tool, error: toToolError(error) }, []);
    },
    onOutput(text) {
      deps.post(
        { type: 'output', call: owners.getStore()?.task.context.call, text: text.slice(0, maxOutputCharacters) },
        [],
      );
    },
    isLate() {
      const owner = owners.getStore();
      return owner !== undefined && owner !== current;
    },
  };
}

function createContext(call: Call, deps: ToolThreadDeps): ToolContext {
  const { flags } = deps;
  // why: what arrived is a copy of its own, and completing it costs far less than copying it once more
  const context = Object.assign(call.task.context, {
    [signalSource]: call,
    throwIfCancelled() {
      Atomics.add(flags, toolThreadFlags.beats, 1);
      if (Atomics.load(flags, toolThreadFlags.cancelled) !== call.id) return;
      throw call.cancellation.reason ?? cancelReason('cancelled');
    },
    onProgress: (progress: ToolProgress) => deps.post({ type: 'progress', id: call.id, progress }, []),
  });
  return withLazySignal(context);
}

function cancelReason(reason: string): DOMException {
  return new DOMException(reason, 'AbortError');
}

/** An error as data. Of a foreign error class its own fields travel along: cloning would lose them. */
function toToolError(error: unknown): WireError {
  const wire = toWireError(error);
  if (isEngineError(error) || !(error instanceof Error)) return wire;
  const own: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(error)) {
    if (key !== 'cause' && (value === null || typeof value !== 'object') && typeof value !== 'function')
      own[key] = value;
    else if (key === 'data') own[key] = toPlain(value);
  }
  return Object.keys(own).length === 0 ? wire : { ...wire, data: own };
}

function toPlain(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return undefined; // data that cannot travel is left behind
  }
}

function toText(thrown: unknown): string | undefined {
  return typeof thrown === 'string' ? thrown : undefined;
}

/** The way out for what cannot be cloned. */
export const mainThreadHint =
  'A tool that is defined without a module URL runs on the main thread, where nothing is cloned.';

/** More of one write to the console is not passed on. */
const maxOutputCharacters = 8_192;
/** Smaller binary results are cheaper to copy than to hand over. */
const minTransferBytes = 16 * 1_024;

/** Memory of a result that is handed over instead of copied: the result itself or one of its fields. */
function buffersOf(output: unknown): readonly ArrayBuffer[] {
  if (typeof output !== 'object' || output === null) return [];
  const values: readonly unknown[] =
    output instanceof ArrayBuffer || ArrayBuffer.isView(output) ? [output] : Object.values(output);
  const buffers = new Set<ArrayBuffer>();
  for (const value of values) {
    const buffer = value instanceof ArrayBuffer ? value : ownBuffer(value);
    if (buffer !== undefined && buffer.byteLength >= minTransferBytes) buffers.add(buffer);
  }
  return [...buffers];
}

/** The memory behind a view that covers all of it; a part of a larger block belongs to others too. */
function ownBuffer(value: unknown): ArrayBuffer | undefined {
  if (!ArrayBuffer.isView(value) || !(value.buffer instanceof ArrayBuffer)) return undefined;
  return value.byteLength === value.buffer.byteLength ? value.buffer : undefined;
}
