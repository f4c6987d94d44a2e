import type { JsonObject } from '../protocol/json.ts';
import { errorOutput, type InputCheck, type Tool, type ToolContextData, type ToolOutput } from '../protocol/tool.ts';

export type CheckedInput =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly output: ToolOutput };

/** Permission and input of a call, in front of its handler: what to hand to `call`, or the error output (agent-runtime 16, 18.6). */
export async function checkInput(tool: Tool, input: JsonObject, context: ToolContextData): Promise<CheckedInput> {
  if (tool.validate === undefined) return { ok: true, value: input };
  const check: InputCheck = await tool.validate(input, context);
  // A validator may turn the input into anything; `call` of the same tool is typed by that validator.
  if (check.ok) return { ok: true, value: check.value as JsonObject };
  if ('output' in check) return { ok: false, output: check.output };
  return { ok: false, output: errorOutput(`Invalid input for \`${tool.name}\`: ${check.detail}.`) };
}
