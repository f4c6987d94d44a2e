import type { AgentOutcome, AgentStop } from '../protocol/agent.ts';
import type { EngineError } from '../protocol/error.ts';
import { addUsage, type Message, noUsage, textOf, type Usage } from '../protocol/message.ts';

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

/** How a run stops whose model call failed; nothing when it failed because the run was cancelled. */
export function stopOf(error: EngineError): AgentStop | undefined {
  const { kind, code, message } = error;
  if (kind === 'cancelled') return undefined;
  if (kind === 'context_too_long') return { reason: 'context_window' };
  return code === kind ? { reason: 'error', kind, message } : { reason: 'error', kind, message, code };
}

/** What an outcome says. With a cut answer: all text from it on, without separator. Else the last assistant message's text. */
export function finalText(messages: readonly Message[], cutFrom: Message | undefined): string {
  if (cutFrom === undefined) {
    const last = messages.findLast((message) => message.role === 'assistant');
    return last === undefined ? '' : textOf(last);
  }
  return messages
    .slice(messages.lastIndexOf(cutFrom))
    .filter((message) => message.role === 'assistant')
    .flatMap((message) => message.content)
    .map((block) => (block.type === 'text' ? block.text : ''))
    .join('');
}

/** What a provider reports, as whole numbers from 0 on. */
export function toCounts(usage: Usage): Usage {
  const count = (value: number): number => (Number.isFinite(value) && value > 0 ? Math.floor(value) : 0);
  return {
    input_tokens: count(usage.input_tokens),
    output_tokens: count(usage.output_tokens),
    cache_read_tokens: count(usage.cache_read_tokens),
    cache_write_tokens: count(usage.cache_write_tokens),
  };
}
