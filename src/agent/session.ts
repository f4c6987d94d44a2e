import {
  type AgentOutcome,
  type AgentStop,
  type CancelCause,
  effectiveMaxTokens,
  type Handoff,
  thinkingBudgets,
} from '../protocol/agent.ts';
import { toEngineError } from '../protocol/error.ts';
import { addUsage, type Message, noUsage, textOf, type ToolUseBlock, type Usage } from '../protocol/message.ts';
import type { CompletionRequest, CompletionResponse } from '../protocol/model.ts';
import { untilAborted } from '../protocol/signal.ts';
import { toToolSpec } from '../protocol/tool.ts';
import { applyCompaction, planCompaction } from './compaction.ts';
import { createDeltaCoalescer } from './deltas.ts';
import { textTokens, toolsTokens } from './estimate.ts';
import type { AgentPorts, OfferedTool, RunControl, RunSettings, ToolAnswer } from './ports.ts';
import { appendAugmentations, renderSystemPrompt, toPromptVariables } from './prompt.ts';
import { createRepeatWatch, repeatLimit } from './repeat-watch.ts';
import { withRetries } from './retry.ts';
import { readSummary } from './summary.ts';
import { createTranscript, type Transcript } from './transcript.ts';

/** What the steps of one session share. */
export interface Session {
  readonly settings: RunSettings;
  readonly control: RunControl;
  readonly transcript: Transcript;
  readonly tools: ReadonlyMap<string, OfferedTool>;
  steps: number;
  toolCalls: number;
  /** The answer that was cut off and is being continued. */
  cutFrom: Message | undefined;
  /** Whom the agent handed its conversation to. */
  handoff: Handoff | undefined;
  readonly callTool: AgentPorts['callTool'];
  isStopped(): boolean;
  cancelled(): AgentStop;
  toStop(error: unknown): AgentStop;
  estimate(): number;
  /** Summarises the older turns when the run asks for it and the window fills up; failure changes nothing. */
  compact(): Promise<void>;
  complete(): Promise<CompletionResponse>;
  count(usage: Usage): void;
  publishText(text: string): void;
  /** Adds texts that joined the run; whether there were any. */
  joinSteering(): boolean;
  watchRepeats(calls: readonly ToolUseBlock[], answers: readonly ToolAnswer[]): void;
  finish(stop: AgentStop): AgentOutcome;
}

/** Set-up in the order of agent-runtime section 2: prompt, tools, token counts, request. */
export async function openSession(
  settings: RunSettings,
  messages: readonly Message[],
  control: RunControl,
  ports: AgentPorts,
): Promise<Session> {
  const { spec, run, subtask } = settings;
  const system = await renderSystem(settings, ports);
  const transcript = createTranscript(messages);
  const specs = settings.tools.map(toToolSpec);
  const fixedTokens = textTokens(system) + toolsTokens(specs);
  const deltas = createDeltaCoalescer((delta) =>
    ports.publish({
      type: 'agent_delta',
      run,
      role: spec.role,
      subtask,
      delta: { kind: delta.kind, text: delta.text },
    }),
  );
  const repeats = createRepeatWatch();
  const budgetTokens = thinkingBudgets[spec.thinking];
  const fixedRequest = {
    model: settings.model,
    system,
    tools: specs,
    max_tokens: effectiveMaxTokens(spec.max_tokens, spec.thinking),
    ...(budgetTokens === undefined ? {} : { thinking_budget: budgetTokens }),
    ...(settings.responseSchema === undefined ? {} : { response_schema: settings.responseSchema }),
    cache_turns: true,
    signal: control.signal,
    // why: a copy that adds a key costs V8 far more than one that replaces it
    messages: [] as readonly Message[],
  };
  let usage = noUsage;
  let auxUsage: Usage | undefined;

  const session: Session = {
    settings,
    control,
    transcript,
    tools: new Map(settings.tools.map((tool) => [tool.name, tool])),
    steps: 0,
    toolCalls: 0,
    cutFrom: undefined,
    handoff: undefined,
    callTool: (call) => ports.callTool(call),
    isStopped: () => control.signal.aborted || control.isStopRequested() || control.budget.exceeded() !== undefined,
    cancelled: () => toCancelled(control.cause() ?? control.budget.exceeded()?.cause),
    toStop(error) {
      if (control.signal.aborted) return session.cancelled();
      const known = toEngineError(error);
      if (known.kind === 'context_too_long') return { reason: 'context_window' };
      if (known.kind === 'cancelled') return session.cancelled();
      const stop = { reason: 'error', kind: known.kind, message: known.message } as const;
      return known.code === known.kind ? stop : { ...stop, code: known.code };
    },
    estimate: () => fixedTokens + transcript.tokens(),
    async compact() {
      if (settings.compaction === undefined) return;
      const before = session.estimate();
      const state = { messages: transcript.snapshot(), estimate: before, window: settings.contextWindow };
      const plan = planCompaction(state, settings.model, settings.compaction);
      if (plan === undefined) return;
      try {
        const response = await ports.completeAux(plan.request);
        auxUsage = addUsage(auxUsage ?? noUsage, toCounts(response.usage));
        transcript.replace(applyCompaction(state.messages, plan, readSummary(response)));
      } catch {
        return; // the run goes on uncompacted; continuation stays the fallback
      }
      const after = session.estimate();
      ports.publish({ type: 'context_compacted', run, role: spec.role, before_tokens: before, after_tokens: after });
    },
    async complete() {
      const request: CompletionRequest = { ...fixedRequest, messages: transcript.snapshot() };
      const attempt = (): Promise<CompletionResponse> =>
        untilAborted(ports.complete(request, deltas.add), control.signal).finally(deltas.flush);
      return await withRetries(attempt, {
        maxRetries: settings.maxProviderRetries,
        baseDelayMs: settings.retryBaseDelayMs,
        clock: ports.clock,
        signal: control.signal,
        isStopped: session.isStopped,
        onRetry: (number, delayMs, error) =>
          ports.publish({
            type: 'retrying',
            run,
            what: `model call (${settings.model}): ${error.message}`,
            attempt: number,
            delay_ms: Math.round(delayMs),
          }),
      });
    },
    count(reported) {
      const counted = toCounts(reported);
      usage = addUsage(usage, counted);
      control.budget.add(counted);
    },
    publishText(text) {
      if (text.trim() !== '') ports.publish({ type: 'agent_text', run, role: spec.role, text });
    },
    joinSteering() {
      const texts = ports.takeSteering?.() ?? [];
      for (const text of texts) transcript.inject(text);
      return texts.length > 0;
    },
    watchRepeats(calls, answers) {
      for (const [index, answer] of answers.entries()) {
        const call = calls[index];
        const tool = call === undefined ? undefined : repeats.add(call, answer);
        if (tool === undefined) continue;
        const times = `${repeatLimit} times in a row with the same result`;
        const message = `agent \`${spec.role}\` made the same call to \`${tool}\` ${times}`;
        ports.publish({ type: 'log', run, level: 'warn', message });
      }
    },
    finish: (stop) => ({
      role: spec.role,
      stop,
      final_text: finalText(transcript.snapshot(), session.cutFrom),
      messages: transcript.snapshot(),
      steps: session.steps,
      tool_calls: session.toolCalls,
      usage,
      ...(auxUsage === undefined ? {} : { aux_usage: auxUsage }),
      ...(session.handoff === undefined ? {} : { handoff: session.handoff }),
    }),
  };
  return session;
}

async function renderSystem(settings: RunSettings, ports: AgentPorts): Promise<string> {
  const { spec, task, workspaceRoot, vars } = settings;
  const variables = toPromptVariables({ task, workspaceRoot, now: ports.clock.now() }, vars);
  const additions = await ports.augmentPrompt(spec.role, task ?? { title: '', description: '' });
  return appendAugmentations(renderSystemPrompt(spec.system_prompt, variables), additions);
}

function toCancelled(cause: CancelCause | undefined): AgentStop {
  return cause === undefined ? { reason: 'cancelled' } : { reason: 'cancelled', cause };
}

/** With a cut answer: all text from it on, without separator. Else the text of the last assistant message. */
function finalText(messages: readonly Message[], cutFrom: Message | undefined): string {
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

function toCounts(usage: Usage): Usage {
  const count = (value: number): number => (Number.isFinite(value) && value > 0 ? Math.floor(value) : 0);
  return {
    input_tokens: count(usage.input_tokens),
    output_tokens: count(usage.output_tokens),
    cache_read_tokens: count(usage.cache_read_tokens),
    cache_write_tokens: count(usage.cache_write_tokens),
  };
}
