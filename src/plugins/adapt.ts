import type { Logger } from '../protocol/deps.ts';
import { describeError, isEngineError, messageOf } from '../protocol/error.ts';
import type { HookSet } from '../protocol/hook.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import type { Tool, ToolContext } from '../protocol/tool.ts';
import type { HookAnswer, PluginToolResult, ToolDescriptor } from '../protocol/vpp.ts';

/** What tools and hooks need of a plugin, whichever process stands behind it at the moment. */
export interface RemoteCalls {
  callTool(tool: string, input: JsonObject, context: ToolContext): Promise<PluginToolResult>;
  beforeTool(tool: string, input: JsonObject, signal?: AbortSignal): Promise<HookAnswer>;
}

/** A listed tool as an entry of the registry; the call keeps its own time limit. */
export function toTool(descriptor: ToolDescriptor, plugin: string, remote: RemoteCalls): Tool {
  const { name, description, input_schema, mutating } = descriptor;
  return {
    name,
    description,
    // why: providers refuse a whole request over one schema that is no object
    input_schema: isJsonObject(input_schema) ? input_schema : { type: 'object' },
    is_mutating: mutating,
    timeout_ms: 0,
    owner: plugin,
    runs_in: 'process',
    call: (input, context) => remote.callTool(name, input, context),
  };
}

/** The hook of a plugin: it can refuse, and whatever keeps it from answering is a refusal (plugin-protocol section 9). */
export function toHookSet(plugin: string, remote: RemoteCalls, logger: Logger): HookSet {
  return {
    name: plugin,
    timeoutMs: 0,
    async beforeTool({ tool, input, context }) {
      try {
        const answer = await remote.beforeTool(tool, input, context.signal);
        return answer.decision === 'abort' ? { abort: answer.reason } : undefined;
      } catch (error) {
        const isCancelled = isEngineError(error) && error.kind === 'cancelled';
        if (!isCancelled) logger.warn(`before_tool hook failed: ${describeError(error)}`);
        return { abort: `hook plugin unavailable: ${messageOf(error)}` };
      }
    },
  };
}
