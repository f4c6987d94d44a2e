import { setMaxListeners } from 'node:events';
import type { CallId } from '../src/protocol/ids.ts';
import type { JsonObject } from '../src/protocol/json.ts';
import { defaultPermissions, type ToolContext, type ToolOutput } from '../src/protocol/tool.ts';
import { createBuiltinTools } from '../src/tools/builtin.ts';
import { toPooledTool } from '../src/workers/pooled-tool.ts';
import type { ToolPool } from '../src/workers/tool-pool.ts';

/** Calls of a built-in tool on a pool as dispatch makes them: input checked, then sent to a thread. */
export function toBuiltinCall(name: string, root: string, pool: ToolPool): (input: JsonObject) => Promise<string> {
  const builtin = createBuiltinTools({ bash: { checkCommand: () => ({ allow: true }) } });
  const found = builtin.find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`there is no tool \`${name}\``);
  const tool = toPooledTool(found, pool);
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const context: ToolContext = {
    workspace_root: root,
    permissions: defaultPermissions,
    agent: 'bench',
    call: '0123456789ab' as CallId,
    signal,
  };
  return async (input) => {
    const checked = await tool.validate?.(input, context);
    if (checked?.ok !== true) throw new Error(`the input of \`${name}\` is wrong`);
    const output = (await tool.call(checked.value as JsonObject, context)) as ToolOutput;
    return output.content;
  };
}
