import type { AgentOutcome, AgentStop, Handoff } from '../protocol/agent.ts';
import type { CancelListener } from '../protocol/cancellation.ts';
import type { Clock } from '../protocol/deps.ts';
import { type EngineError, toEngineError } from '../protocol/error.ts';
import { addUsage, type Message, noUsage, textOf, type ToolUseBlock, type Usage } from '../protocol/message.ts';
import type { CompletionRequest, CompletionResponse, StreamDelta } from '../protocol/model.ts';
import type { BatchOptions } from './batches.ts';
import { finalText, stopOf, toCounts } from './outcome.ts';
import { applyCompaction, type CompactionPolicy, planCompaction } from './compaction.ts';
import { createDeltaCoalescer, type DeltaCoalescer } from './deltas.ts';
import { textTokens } from './estimate.ts';
import type { AgentPorts, OfferedTools, RunControl, RunSettings, ToolAnswer } from './ports.ts';
import { renderSystem } from './prompt.ts';
import { repeatLimit, RepeatWatch } from './repeat-watch.ts';
import { toRequest } from './request.ts';
import { type Retried, retry } from './retry.ts';
import { readSummary } from './summary.ts';
import { toAssistantMessage, Transcript } from './transcript.ts';

/**
 * Opens a session: set-up in the order of agent-runtime section 2.
 * @throws EngineError `plugin` when an `augment_prompt` hook fails
 */
export async function openSession(
  settings: RunSettings,
  messages: readonly Message[],
  control: RunControl,
  ports: AgentPorts,
): Promise<Session> {
  return new Session(settings, await renderSystem(settings, ports), messages, control, ports);
}

/**
 * What the steps of one session share.
 *
 * A class, and its parts made when they are first needed, because an engine may hold thousands of sessions that wait.
 */
export class Session implements BatchOptions, Retried<CompletionResponse>, CancelListener {
  readonly settings: RunSettings;
  readonly transcript: Transcript;
  steps = 0;
  toolCalls = 0;
  /** Whether the last answer was cut off. */
  isCut = false;
  /** The answer that was cut off and is being continued. */
  cutFrom: Message | undefined;
  /** Whom the agent handed its conversation to. */
  handoff: Handoff | undefined;
  readonly #control: RunControl;
  readonly #ports: AgentPorts;
  #fixedTokens: number;
  #offered: OfferedTools;
  readonly #system: string;
  #usage = noUsage;
  #auxUsage: Usage | undefined;
  #deltas: DeltaCoalescer | undefined;
  #repeats: RepeatWatch | undefined;
  /** Ends the wait for the model. */
  #abandon: ((reason: unknown) => void) | undefined;

  constructor(
    settings: RunSettings,
    system: string,
    messages: readonly Message[],
    control: RunControl,
    ports: AgentPorts,
  ) {
    this.settings = settings;
    this.transcript = new Transcript(messages);
    this.#control = control;
    this.#ports = ports;
    this.#offered = settings;
    this.#system = system;
    control.cancellation.listen(this);
    this.#fixedTokens = textTokens(system) + settings.toolTokens;
  }

  get signal(): AbortSignal {
    return this.#control.cancellation.signal;
  }

  get clock(): Clock {
    return this.#ports.clock;
  }

  get maxRetries(): number {
    return this.settings.maxProviderRetries;
  }

  get baseDelayMs(): number {
    return this.settings.retryBaseDelayMs;
  }

  get maxParallel(): number {
    return this.settings.maxParallelTools;
  }

  isMutating(tool: string): boolean {
    return this.#offered.mutatingTools.includes(tool);
  }

  isCancelled(): boolean {
    return this.#control.cancellation.isCancelled;
  }

  isStopped(): boolean {
    const { cancellation, budget } = this.#control;
    return cancellation.isCancelled || this.#control.isStopRequested() || budget.exceeded() !== undefined;
  }

  takeTurn(): Promise<void> | undefined {
    return this.#ports.takeTurn?.();
  }

  callTool(call: ToolUseBlock): Promise<ToolAnswer> {
    return this.#ports.callTool(call);
  }

  cancelled(): AgentStop {
    const cause = this.#control.cause() ?? this.#control.budget.exceeded()?.cause;
    return cause === undefined ? { reason: 'cancelled' } : { reason: 'cancelled', cause };
  }

  toStop(error: unknown): AgentStop {
    return (this.isCancelled() ? undefined : stopOf(toEngineError(error))) ?? this.cancelled();
  }

  estimate(): number {
    return this.#fixedTokens + this.transcript.tokens();
  }

  /** The step is offered what its run is offered now. */
  joinTools(): void {
    const now = this.#ports.offeredTools?.();
    if (now === undefined || now.tools === this.#offered.tools) return;
    this.#fixedTokens += now.toolTokens - this.#offered.toolTokens;
    this.#offered = now;
  }

  /** Summarises the older turns when the run asks for it and the window fills up; failure changes nothing. */
  async compact(policy: CompactionPolicy): Promise<void> {
    const { settings, transcript } = this;
    const before_tokens = this.estimate();
    const state = { messages: transcript.snapshot(), estimate: before_tokens, window: settings.contextWindow };
    const plan = planCompaction(state, settings.model, policy);
    if (plan === undefined) return;
    try {
      const response = await this.#ports.completeAux(plan.request);
      this.#auxUsage = addUsage(this.#auxUsage ?? noUsage, toCounts(response.usage));
      transcript.replace(applyCompaction(state.messages, plan, readSummary(response)));
    } catch {
      return; // the run goes on uncompacted; continuation stays the fallback
    }
    const { run, spec } = settings;
    const after_tokens = this.estimate();
    this.#ports.publish({ type: 'context_compacted', run, role: spec.role, before_tokens, after_tokens });
  }

  /** The model call of a step, with the runner's retries. */
  complete(): Promise<CompletionResponse> {
    return this.attempt((thrown) => retry(this, thrown));
  }

  /** Rejects as soon as the run is cancelled; what the model answers after that is dropped. */
  attempt(onFailure: (thrown: unknown) => Promise<CompletionResponse>): Promise<CompletionResponse> {
    return new Promise((resolve, reject) => {
      this.#abandon = reject;
      const { cancellation } = this.#control;
      if (cancellation.isCancelled) {
        reject(cancellation.reason as Error);
        return;
      }
      const fail = (thrown: unknown): void => {
        this.#deltas?.flush();
        // why: once the run is cancelled this call was given up, and nobody waits for what comes of it
        if (cancellation.isCancelled) reject(thrown as Error);
        else resolve(onFailure(thrown));
      };
      try {
        this.#ports
          .complete(this.#toRequest(), (delta) => this.#showDelta(delta))
          .then((response) => {
            this.#deltas?.flush();
            resolve(response);
          }, fail);
      } catch (thrown) {
        fail(thrown); // of a provider whose method is no async function
      }
    });
  }

  /** One listener for all model calls of the session. */
  onCancelled(reason: unknown): void {
    this.#abandon?.(reason);
  }

  onRetry(attempt: number, delayMs: number, error: EngineError): void {
    const { run, model } = this.settings;
    const what = `model call (${model}): ${error.message}`;
    this.#ports.publish({ type: 'retrying', run, what, attempt, delay_ms: Math.round(delayMs) });
  }

  /** The answer of a step becomes part of the transcript. @returns it as it stands there */
  accept({ message, usage, stop_reason }: CompletionResponse): Message {
    this.steps += 1;
    const counted = toCounts(usage);
    this.#usage = addUsage(this.#usage, counted);
    this.#control.budget.add(counted);
    const answer = toAssistantMessage(message);
    this.isCut = stop_reason === 'max_tokens';
    this.#publishText(textOf(answer));
    this.transcript.push(answer);
    return answer;
  }

  /** So do those of its calls. */
  acceptAnswers(calls: readonly ToolUseBlock[], answers: readonly ToolAnswer[]): void {
    this.transcript.pushAnswers(calls, answers);
    this.#watchRepeats(calls, answers);
    this.handoff = answers.find((answer) => answer.handoff !== undefined)?.handoff;
  }

  /** Adds texts that joined the run; whether there were any. */
  joinSteering(): boolean {
    const texts = this.#ports.takeSteering?.() ?? [];
    for (const text of texts) this.transcript.inject(text);
    return texts.length > 0;
  }

  awaitSteering(): Promise<void> | undefined {
    return this.#ports.awaitSteering?.();
  }

  /** Ends the session: its last event, and what it came to. */
  end(stop: AgentStop): AgentOutcome {
    const outcome = this.#toOutcome(stop);
    const { role, steps, usage } = outcome;
    this.#ports.publish({
      type: 'agent_finished',
      run: this.settings.run,
      role,
      steps,
      usage,
      stop: JSON.stringify(stop),
    });
    return outcome;
  }

  #toRequest(): CompletionRequest {
    return toRequest(this.settings, {
      system: this.#system,
      offered: this.#offered,
      messages: this.transcript.snapshot(),
      cancellation: this.#control.cancellation,
    });
  }

  #publishText(text: string): void {
    const { run, spec } = this.settings;
    if (text.trim() !== '') this.#ports.publish({ type: 'agent_text', run, role: spec.role, text });
  }

  #watchRepeats(calls: readonly ToolUseBlock[], answers: readonly ToolAnswer[]): void {
    const { run, spec } = this.settings;
    this.#repeats ??= new RepeatWatch();
    for (const tool of this.#repeats.add(calls, answers)) {
      const times = `${repeatLimit} times in a row with the same result`;
      const message = `agent \`${spec.role}\` made the same call to \`${tool}\` ${times}`;
      this.#ports.publish({ type: 'log', run, level: 'warn', message });
    }
  }

  #toOutcome(stop: AgentStop): AgentOutcome {
    this.#control.cancellation.unlisten(this);
    const messages = this.transcript.snapshot();
    return {
      role: this.settings.spec.role,
      stop,
      final_text: finalText(messages, this.cutFrom),
      messages,
      steps: this.steps,
      tool_calls: this.toolCalls,
      usage: this.#usage,
      ...(this.#auxUsage === undefined ? {} : { aux_usage: this.#auxUsage }),
      ...(this.handoff === undefined ? {} : { handoff: this.handoff }),
    };
  }

  #showDelta(delta: StreamDelta): void {
    const { run, spec, subtask } = this.settings;
    this.#deltas ??= createDeltaCoalescer(({ kind, text }) =>
      this.#ports.publish({ type: 'agent_delta', run, role: spec.role, subtask, delta: { kind, text } }),
    );
    this.#deltas.add(delta);
  }
}
