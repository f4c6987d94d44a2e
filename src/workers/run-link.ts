import type { Budget, ModelPrice } from '../agent/budget.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { RunControl, RunSettings } from '../agent/ports.ts';
import type { CancelListener } from '../protocol/cancellation.ts';
import type { Json } from '../protocol/json.ts';
import type { BusEvent } from '../bus/events.ts';
import { EngineError, messageOf, toWireError } from '../protocol/error.ts';
import type { Usage } from '../protocol/message.ts';
import type { CompletionRequest, Provider, ProviderRef } from '../protocol/model.ts';
import type { RunJob, RunPorts, RunResult } from './execute-run.ts';
import {
  type AskAnswer,
  type ReportedDelta,
  type ReportedUsage,
  type RunAsk,
  type RunControlMessage,
  type RunCounters,
  runCounters,
  type RunNews,
  type RunNumber,
  type RunReport,
  type RunThreadJob,
  type RunThreadResult,
  type SignedThinkingEntries,
} from './run-port.ts';
import { enterText } from './text-gate.ts';
import { collectSignedThinking } from './run-thinking.ts';
import type { Sent } from './thread-choice.ts';
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
  /** @throws DataCloneError for a message that cannot be cloned */
  send(run: RunNumber, message: RunControlMessage): void;
  answer(answer: AskAnswer): void;
}

/** What a link is made with, besides its run. */
export interface LinkOptions {
  readonly number: RunNumber;
  readonly offers: OfferNumbers;
  /** What the run did not hear yet where it was before. */
  readonly unheard: readonly RunNews[];
  /** Called when the run was told to end at once. */
  onToldCancel(link: RunLink): void;
}

/** The main thread's side of one run in a thread. A class, because thousands of runs may wait there. */
export class RunLink implements CancelListener, Sent {
  readonly number: RunNumber;
  /** Resolves when the last report was read; with nothing when the thread is gone without one. */
  readonly ended: Promise<RunThreadResult | undefined>;
  readonly #run: ThreadRun;
  readonly #options: LinkOptions;
  readonly #counters: RunCounters = new Int32Array(new SharedArrayBuffer(4 * Int32Array.BYTES_PER_ELEMENT));
  readonly #offExceeded: () => void;
  #resolveEnded: (result: RunThreadResult | undefined) => void = () => {};
  #hasResult = false;
  #sentTo: number | undefined;
  #channel: RunChannel | undefined;
  /** What the run is to hear once it is known where it is. */
  #unheard: RunNews[] = [];
  #isClosed = false;
  #failure: unknown;
  #lastCheck: OutputCheck<unknown> | undefined;

  constructor(run: ThreadRun, options: LinkOptions) {
    this.number = options.number;
    this.#options = options;
    this.#run = run;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    run.control.cancellation.listen(this);
    for (const news of options.unheard) this.#send(news);
    run.onControl((news) => this.#send(news));
    this.#offExceeded = run.budget.onExceeded((stop) => this.#send({ control: 'spent', stop }));
  }

  /** What the thread gets. */
  get job(): RunThreadJob {
    const { job, ref, budget, price, provider, control } = this.#run;
    return {
      run: this.number,
      job,
      offer: this.#options.offers.of(job.settings),
      provider: ref,
      budget: budget.remaining(),
      price,
      observesRequests: provider.onRequest !== undefined,
      isStopRequested: control.isStopRequested(),
      signedThinking: collectSignedThinking(provider, job.history ?? []),
      counters: this.#counters,
    };
  }

  /** Why something the run said was refused; no event is shown after that. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Whether its last report was read. */
  get hasResult(): boolean {
    return this.#hasResult;
  }

  /** The thread it was posted to, once it was. */
  get sentTo(): number | undefined {
    return this.#sentTo;
  }

  /** The thread the run executes in, once it has begun. */
  get thread(): number | undefined {
    return this.#channel?.thread;
  }

  /** Whether the run has heard that it is to end at once. */
  get hasHeardCancel(): boolean {
    return Atomics.load(this.#counters, runCounters.heardCancel) === 1;
  }

  /** What the run did not hear, for where it executes next. */
  takeUnheard(): readonly RunNews[] {
    return this.#unheard.splice(0);
  }

  /** Takes what the run says. */
  receive(channel: RunChannel, report: RunReport): void {
    const [, , , , asks, result] = report;
    if (this.#isClosed || this.#hasResult) return;
    if (this.#channel === undefined) this.#join(channel);
    try {
      this.#show(report);
    } catch (error) {
      // why: a throw in a message listener would end the process; inline the same throw ends the run, so it does here
      this.#fail(error);
    }
    for (const ask of asks) void this.#answer(channel, ask);
    Atomics.add(this.#counters, runCounters.readReports, 1);
    if (result === null) return;
    this.#hasResult = true;
    this.#resolveEnded(result);
  }

  /** The thread is gone. */
  onGone(): void {
    this.#resolveEnded(undefined);
  }

  onSent(thread: number): void {
    this.#sentTo = thread;
  }

  onCancelled(): void {
    Atomics.store(this.#counters, runCounters.toldCancel, 1);
    this.#send({ control: 'cancel', mode: 'hard' });
    this.#options.onToldCancel(this);
  }

  /** What the run came to, with what only this side has. */
  accept(result: RunResult, signedThinking: SignedThinkingEntries): RunResult {
    for (const [call, thinking] of signedThinking) this.#run.provider.signedThinking?.set(call, thinking);
    const check = this.#lastCheck;
    return result.error === undefined && check?.ok === true ? { ...result, value: check.value } : result;
  }

  close(): void {
    this.#isClosed = true;
    this.#run.control.cancellation.unlisten(this);
    this.#offExceeded();
  }

  #join(channel: RunChannel): void {
    this.#channel = channel;
    for (const news of this.takeUnheard()) this.#post(channel, news);
  }

  #send(news: RunNews): boolean {
    if (news.control === 'steer' && !enterText(this.#counters)) return false;
    if (this.#channel === undefined) this.#unheard.push(news);
    else this.#post(this.#channel, news);
    return true;
  }

  #post(channel: RunChannel, news: RunNews): void {
    try {
      const { offers } = this.#options;
      channel.send(this.number, news.control === 'tools' ? { ...news, offer: offers.of(news.offered) } : news);
    } catch (error) {
      this.#fail(toThreadError(error));
    }
  }

  async #answer(channel: RunChannel, ask: RunAsk): Promise<void> {
    let answer: AskAnswer;
    try {
      answer = [this.number, ask[0], await this.#ask(ask)];
    } catch (error) {
      if (ask[1] === 'call') this.#fail(error); // a call settles with its answer: this is a fault of an observer
      answer = [this.number, ask[0], undefined, toWireError(error)];
    }
    if (!this.#isClosed) channel.answer(answer);
  }

  #ask(ask: RunAsk): Promise<unknown> {
    const { ports } = this.#run;
    switch (ask[1]) {
      case 'call':
        return ports.callTool({ type: 'tool_use', id: ask[2], name: ask[3], input: ask[4] });
      case 'augment_prompt':
        return ports.augmentPrompt(ask[2], ask[3]);
      case 'check_document':
        return this.#check(ask[2]);
      case 'observe_request':
        return this.#observe(ask[2]);
    }
  }

  async #check(document: Json): Promise<OutputCheck<unknown>> {
    const check = await this.#run.ports.checkDocument(document);
    this.#lastCheck = check;
    // why: what a schema makes of a document may be of any kind, so the value stays here
    return check.ok ? { ok: true, value: undefined } : check;
  }

  async #observe(request: Omit<CompletionRequest, 'signal'>): Promise<void> {
    const { provider, control } = this.#run;
    await provider.onRequest?.({ ...request, signal: control.cancellation.signal });
  }

  #show([, events, usage, logs]: RunReport): void {
    const { job, ports } = this.#run;
    for (const counted of usage) this.#run.onUsage(toUsage(counted));
    if (this.#failure === undefined) {
      for (const event of events) ports.publish('type' in event ? event : toDelta(event, job.settings));
    }
    for (const { level, message, fields } of logs) ports.logger[level](message, fields);
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
