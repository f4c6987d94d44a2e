import { cancelSourceOf } from '../protocol/cancellation.ts';
import { EngineError, fromWireError, isEngineError, messageOf, type WireError } from '../protocol/error.ts';
import type { ToolTask } from '../protocol/thread.ts';
import {
  errorOutput,
  type Tool,
  type ToolContext,
  type ToolContextData,
  type ToolOutput,
  type ToolWorker,
} from '../protocol/tool.ts';
import { toOutput } from '../tools/output.ts';
import { stalled } from './tool-job.ts';
import type { ToolPool } from './tool-pool.ts';

/**
 * The same tool with its calls on worker threads, when it is not mutating and names a module (agent-runtime 18.4); else the
 * tool itself. Permission and input stay with the caller, on the main thread: schemas never cross. The number of the thread
 * is the field `thread` of the output's metadata, for observers.
 */
export function toPooledTool(tool: Tool, pool: ToolPool): Tool {
  const { worker, name } = tool;
  if (worker === undefined || tool.is_mutating === true) return tool;
  return {
    ...tool,
    runs_in: 'thread',
    async call(input, context) {
      let thread: number | undefined;
      const runOn = async (part: unknown): Promise<unknown> => {
        const result = await pool.run(toTask(name, worker, part, context), {
          cancel: cancelSourceOf(context),
          stall: worker.stall,
          maxAtOnce: worker.max_at_once,
          onProgress: context.onProgress,
          onStarted(id) {
            thread ??= id;
            context.onStarted?.();
          },
          graceMs: context.graceMs,
        });
        if (result.ok) return result.output;
        throw 'error' in result ? toError(result.error) : result.thrown;
      };
      const value = worker.spread === undefined ? runOn(input) : worker.spread(runOn, input, pool.maxThreads);
      const output = await toResult(value);
      const { content, is_error, metadata } = output;
      return { content, is_error, metadata: metadata === undefined ? { thread } : { ...metadata, thread } };
    },
  };
}

type Writable<T> = { -readonly [Field in keyof T]: T[Field] };

function toTask(tool: string, worker: ToolWorker, input: unknown, context: ToolContext): ToolTask {
  const { module, export: name } = worker;
  const task: Writable<ToolTask> = { module, tool, input, context: toData(context) };
  if (name !== undefined) task.export = name;
  return task;
}

async function toResult(value: Promise<unknown>): Promise<ToolOutput> {
  try {
    return toSafeOutput(await value);
  } catch (error) {
    if (isEngineError(error) && error.data === stalled) return errorOutput(error.message);
    throw error;
  }
}

/** @throws EngineError code `uncloneable` for a value that crossed but cannot be shown as JSON */
function toSafeOutput(value: unknown): ToolOutput {
  try {
    return toOutput(value);
  } catch (cause) {
    throw new EngineError('tool', messageOf(cause), { code: 'uncloneable', cause });
  }
}

function toData(context: ToolContext): ToolContextData {
  const { workspace_root, permissions, task_id, agent, call, run } = context;
  // why: not by spreading, after which each further key costs V8 more than the rest of the task
  const data: Writable<ToolContextData> = { workspace_root, permissions, agent, call };
  if (task_id !== undefined) data.task_id = task_id;
  if (run !== undefined) data.run = run;
  return data;
}

/** An error with the name, message and fields it had on its thread. */
function toError(wire: WireError): Error {
  if (wire.name === 'EngineError') return fromWireError(wire);
  const error = new Error(
    wire.message,
    wire.cause === undefined ? undefined : { cause: new Error(wire.cause.message) },
  );
  Object.defineProperty(error, 'name', { value: wire.name, enumerable: false, configurable: true, writable: true });
  return typeof wire.data === 'object' && wire.data !== null ? Object.assign(error, wire.data) : error;
}
