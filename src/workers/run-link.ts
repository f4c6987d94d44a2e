import type { Budget, ModelPrice } from '../agent/budget.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { RunControl, RunSettings, ToolAnswer } from '../agent/ports.ts';
import type { CancelListener } from '../protocol/cancellation.ts';
import type { TaskInfo } from '../protocol/agent.ts';
import type { Json } from '../protocol/json.ts';
import type { BusEvent } from '../bus/events.ts';
import { EngineError, messageOf, toWireError } from '../protocol/error.ts';
import type { Usage } from '../protocol/message.ts';
import type { CompletionRequest, Provider, ProviderRef } from '../protocol/model.ts';
import type { RunJob, RunPorts, RunResult } from './execute-run.ts';
import {
  type PortAnswer,
  type ReportedCall,
  type ReportedDelta,
  type ReportedUsage,
  type RunControlMessage,
  type RunCounters,
  runCounters,
  type RunNews,
  type RunNumber,
  type RunPort,
  type RunReport,
  type RunThreadJob,
  type SignedThinkingEntries,
} from './run-port.ts';
import { enterText } from './text-gate.ts';
import { collectSignedThinking } from './run-thinking.ts';
import type { OfferNumbers } from './kept-copies.ts';

/** A run to execute in a thread. */
export interface ThreadRun {
  readonly job: RunJob;
  /** Whose turn a waiting run takes. */
  readonly tenant: string;
  /** Part of a run that has a place: waiting for another would be waiting for itself. */
  readonly isChild: boolean;
  /** The provider on the main thread; another one is made from `ref` in the run's. */
  readonly provider: Provider;
  readonly ref: ProviderRef;
  readonly price: ModelPrice | undefined;
  /** Of this side; what is left of it is the run's limit. */
  readonly budget: Pick<Budget, 'remaining' | 'onExceeded' | 'restart'>;
  /** Told what the run uses. */
  onUsage(usage: Usage): void;
  readonly control: RunControl;
  readonly ports: RunPorts;
  /** Takes what a run that waits for room is to hear when it is told to end, in either way. */
  onWaiting(goOn: () => void): void;
  /** Takes what sends a cooperative stop and the texts that join; it returns false for a text that comes too late. */
  onControl(send: (news: RunNews) => boolean): void;
}

/** Where a run talks with its thread. */
export interface RunChannel {
  /** The number Node gives the thread. */
  readonly thread: number;
  send(run: RunNumber, message: RunControlMessage): void;
  answer(run: RunNumber, call: number, answer: ToolAnswer): void;
}

/** The main thread's side of one run in a thread. A class, because thousands of runs may wait there. */
export class RunLink implements CancelListener, RunPort {
  readonly number: RunNumber;
  /** Resolves when the last report was read, or the thread is gone. */
  readonly ended: Promise<void>;
  readonly #run: ThreadRun;
  readonly #offers: OfferNumbers;
  readonly #onCancelled: () => void;
  readonly #counters: RunCounters = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  readonly #offExceeded: () => void;
  #end: () => void = () => {};
  #channel: RunChannel | undefined;
  /** What the run is to hear once it is known where it is. */
  #unsent: RunControlMessage[] | undefined;
  #heardCancel: boolean | undefined;
  #failure: unknown;
  #lastCheck: OutputCheck<unknown> | undefined;

  /** @param onCancelled called when the run was told to end at once */
  constructor(number: RunNumber, run: ThreadRun, offers: OfferNumbers, onCancelled: () => void) {
    this.number = number;
    this.#offers = offers;
    this.#run = run;
    this.#onCancelled = onCancelled;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    run.control.cancellation.listen(this);
    run.onControl((message) => this.#send(message));
    this.#offExceeded = run.budget.onExceeded((stop) => this.#send({ control: 'spent', stop }));
  }

  /** What the thread gets. */
  get job(): RunThreadJob {
    const { job, ref, budget, price, provider, control } = this.#run;
    return {
      run: this.number,
      job,
      offer: this.#offers.of(job.settings),
      provider: ref,
      budget: budget.remaining(),
      price,
      observesRequests: provider.onRequest !== undefined,
      cancelled: control.cancellation.isCancelled ? 'hard' : control.isStopRequested() ? 'cooperative' : undefined,
      signedThinking: collectSignedThinking(provider, job.history ?? []),
      counters: this.#counters,
    };
  }

  /** Why an event of the run was refused; nothing it says after that is shown. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The thread the run executes in, once it has begun. */
  get thread(): number | undefined {
    return this.#channel?.thread;
  }

  /** Whether the thread showed a sign of life since the run was cancelled hard; undefined while it was not. */
  get hasHeardCancel(): boolean | undefined {
    return this.#heardCancel;
  }

  /** Takes what the run says. */
  receive(channel: RunChannel, [, events, usage, logs, calls, isLast]: RunReport): void {
    if (this.#channel === undefined) this.#join(channel);
    if (this.#heardCancel === false) this.#heardCancel = true;
    const { job, ports, onUsage } = this.#run;
    for (const counted of usage) onUsage(toUsage(counted));
    for (const event of events) this.#publish('type' in event ? event : toDelta(event, job.settings));
    for (const { level, message, fields } of logs) ports.logger[level](message, fields);
    for (const call of calls) void this.#answerCall(channel, call);
    Atomics.add(this.#counters, runCounters.readReports, 1);
    if (isLast) this.#end();
  }

  /** The thread is gone. */
  onGone(): void {
    this.#end();
  }

  onCancelled(): void {
    this.#heardCancel = false;
    this.#send({ control: 'cancel', mode: 'hard' });
    this.#onCancelled();
  }

  augmentPrompt(role: string, task: TaskInfo): Promise<PortAnswer<readonly string[]>> {
    return answer(() => this.#run.ports.augmentPrompt(role, task));
  }

  checkDocument(document: Json): Promise<PortAnswer<OutputCheck<unknown>>> {
    return answer(async () => {
      const check = await this.#run.ports.checkDocument(document);
      this.#lastCheck = check;
      // why: what a schema makes of a document may be of any kind, so the value stays here
      return check.ok ? { ok: true, value: undefined } : check;
    });
  }

  async observeRequest(request: Omit<CompletionRequest, 'signal'>): Promise<void> {
    const { provider, control } = this.#run;
    await provider.onRequest?.({ ...request, signal: control.cancellation.signal });
  }

  /** What the run came to, with what only this side has. */
  accept(result: RunResult, signedThinking: SignedThinkingEntries): RunResult {
    for (const [call, thinking] of signedThinking) this.#run.provider.signedThinking?.set(call, thinking);
    const check = this.#lastCheck;
    return result.error === undefined && check?.ok === true ? { ...result, value: check.value } : result;
  }

  close(): void {
    this.#run.control.cancellation.unlisten(this);
    this.#offExceeded();
  }

  #join(channel: RunChannel): void {
    this.#channel = channel;
    for (const message of this.#unsent ?? []) channel.send(this.number, message);
    this.#unsent = undefined;
  }

  #send(news: RunNews): boolean {
    if (news.control === 'steer' && !enterText(this.#counters)) return false;
    const message = news.control === 'tools' ? { ...news, offer: this.#offers.of(news.offered) } : news;
    if (this.#channel === undefined) (this.#unsent ??= []).push(message);
    else this.#channel.send(this.number, message);
    return true;
  }

  async #answerCall(channel: RunChannel, [number, id, name, input]: ReportedCall): Promise<void> {
    try {
      channel.answer(this.number, number, await this.#run.ports.callTool({ type: 'tool_use', id, name, input }));
    } catch (error) {
      this.#fail(error);
    }
  }

  // why: a throw in a message listener would end the process; inline the same throw ends the run, so it does here
  #publish(event: BusEvent): void {
    if (this.#failure !== undefined) return;
    try {
      this.#run.ports.publish(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#send({ control: 'cancel', mode: 'hard' });
  }
}

function toUsage([input_tokens, output_tokens, cache_read_tokens, cache_write_tokens]: ReportedUsage): Usage {
  return { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens };
}

function toDelta([kind, text]: ReportedDelta, { run, spec, subtask }: RunSettings): BusEvent<'agent_delta'> {
  return { type: 'agent_delta', run, role: spec.role, subtask, delta: { kind, text } };
}

async function answer<T>(work: () => Promise<T>): Promise<PortAnswer<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, error: toWireError(error) };
  }
}

/** Why a run did not come back from its thread. */
export function toThreadError(error: unknown): EngineError {
  if (error instanceof Error && error.name === 'DataCloneError') {
    const message = `the run cannot be sent to a thread: ${messageOf(error)}`;
    return new EngineError('invalid_request', message, { code: 'uncloneable', cause: error });
  }
  return new EngineError('other', `the thread of the run ended: ${messageOf(error)}`, {
    code: 'worker_exited',
    cause: error,
  });
}
