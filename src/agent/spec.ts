import type { AgentSpec, ThinkingLevel, ToolSelection } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';

/** Copies of a spec with one thing changed; the given spec stays as it is. `defineAgent` makes the first one. */
export function withDescription(spec: AgentSpec, description: string): AgentSpec {
  return { ...spec, description };
}

export function withTools(spec: AgentSpec, tools: ToolSelection): AgentSpec {
  return { ...spec, tools };
}

export function withThinking(spec: AgentSpec, thinking: ThinkingLevel): AgentSpec {
  return { ...spec, thinking };
}

/** @throws EngineError `config` for a number of model round trips that is no integer ≥ 0 */
export function withMaxSteps(spec: AgentSpec, maxSteps: number): AgentSpec {
  if (!Number.isSafeInteger(maxSteps) || maxSteps < 0) {
    throw new EngineError('config', `agent \`${spec.role}\`: \`max_steps\` must be an integer of at least 0`);
  }
  return { ...spec, max_steps: maxSteps };
}

/** Whether the answer ends with a JSON document. */
export function withStructuredOutput(spec: AgentSpec, structuredOutput = true): AgentSpec {
  return { ...spec, structured_output: structuredOutput };
}
