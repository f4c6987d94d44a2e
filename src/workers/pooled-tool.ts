import { fromWireError, type WireError } from '../protocol/error.ts';
import type { Tool, ToolContext, ToolContextData } from '../protocol/tool.ts';
import { toOutput } from '../tools/output.ts';
import type { ToolPool } from './tool-pool.ts';

/**
 * The same tool with its calls on worker threads, when it is not mutating and names a module (agent-runtime 18.4); else the
 * tool itself. Permission and input stay with the caller, on the main thread: schemas never cross. The number of the thread
 * is the field `thread` of the output's metadata, for observers.
 */
export function toPooledTool(tool: Tool, pool: ToolPool): Tool {
  const { worker, name } = tool;
  if (worker === undefined || tool.is_mutating === true) return tool;
  const { module, stall } = worker;
  return {
    ...tool,
    runs_in: 'thread',
    async call(input, context) {
      let thread: number | undefined;
      const result = await pool.run(
        {
          module,
          ...(worker.export === undefined ? {} : { export: worker.export }),
          tool: name,
          input,
          context: toData(context),
        },
        {
          signal: context.signal,
          stall,
          onProgress: context.onProgress,
          onStarted(id) {
            thread = id;
            context.onStarted?.();
          },
          graceMs: context.graceMs,
        },
      );
      if (result.ok) {
        const output = toOutput(result.output);
        return { ...output, metadata: { ...output.metadata, thread } };
      }
      throw 'error' in result ? toError(result.error) : result.thrown;
    },
  };
}

function toData(context: ToolContext): ToolContextData {
  const { workspace_root, permissions, task_id, agent, call, run } = context;
  return {
    workspace_root,
    permissions,
    ...(task_id === undefined ? {} : { task_id }),
    agent,
    call,
    ...(run === undefined ? {} : { run }),
  };
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
