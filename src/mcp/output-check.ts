import vm from 'node:vm';
import { Validator } from '@cfworker/json-schema';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { McpCallResult, McpToolDefinition } from '../protocol/mcp.ts';
import { invalidResult } from './errors.ts';

/** How long one check may take, in milliseconds: a pattern of a foreign schema may never end by itself (WK8). */
const maxCheckMs = 100;

/**
 * Checks structured content against the tool's output schema, when it has one (mcp-host 5.2). A schema that cannot be
 * used, or takes too long, judges nothing.
 * @throws EngineError `result_invalid`
 */
export function checkOutput(tool: McpToolDefinition | undefined, result: McpCallResult): void {
  if (tool?.outputSchema === undefined || result.isError) return;
  if (result.structuredContent === undefined) throw invalidResult('tools/call', 'structured content is missing');
  if (!isValid(tool.outputSchema, result.structuredContent)) {
    throw invalidResult('tools/call', 'structured content does not match the output schema');
  }
}

function isValid(schema: JsonObject, value: Json): boolean {
  const check = (): boolean => {
    const validator = new Validator(schema, '2020-12', true);
    return validator.validate(value).valid;
  };
  try {
    return hasPattern(schema) ? runWithin(check, maxCheckMs) : check();
  } catch {
    // why: an invalid pattern, an endless `$ref` or the time limit says nothing about the value
    return true;
  }
}

/** Runs a synchronous function under a time limit; V8 interrupts it, also inside a regular expression. */
function runWithin<T>(work: () => T, ms: number): T {
  let result: { readonly value: T } | undefined;
  const context = vm.createContext({ run: () => (result = { value: work() }) });
  vm.runInContext('run()', context, { timeout: ms });
  if (result === undefined) throw new Error('not run');
  return result.value;
}

function hasPattern(schema: JsonObject): boolean {
  return /"(?:pattern|patternProperties|format)":/.test(JSON.stringify(schema));
}
