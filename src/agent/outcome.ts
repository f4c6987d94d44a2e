import type { AgentOutcome } from '../protocol/agent.ts';
import { addUsage, noUsage, type Usage } from '../protocol/message.ts';

/** Two sessions of one run as one outcome: steps, tool calls and usage are summed, everything else is the second's. */
export function sumSessions(first: AgentOutcome, second: AgentOutcome): AgentOutcome {
  const summed: AgentOutcome = {
    ...second,
    steps: first.steps + second.steps,
    tool_calls: first.tool_calls + second.tool_calls,
    usage: addUsage(first.usage, second.usage),
  };
  return first.aux_usage === undefined ? summed : addAuxUsage(summed, first.aux_usage);
}

/** Counts a repair or summary call; such calls are no steps and never part of `usage` (agent-runtime 18.9). */
export function addAuxUsage(outcome: AgentOutcome, usage: Usage): AgentOutcome {
  return { ...outcome, aux_usage: addUsage(outcome.aux_usage ?? noUsage, usage) };
}
