import type { ActorRef } from '../actors/behavior.ts';
import { type ActorControl, RunActor, type RunActorDeps, type RunCommand, type RunInbox } from '../actors/run-actor.ts';
import type { Budget, ModelPrice } from '../agent/budget.ts';
import type { RunSettings } from '../agent/ports.ts';
import type { Envelope } from '../bus/envelope.ts';
import type { BusEvent } from '../bus/events.ts';
import type { AgentOutcome, CancelMode, Handoff } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { type CallId, parseCallId, type RunId } from '../protocol/ids.ts';
import { type Message, userText } from '../protocol/message.ts';
import { type ApprovalDecision, type ApprovalRequest, type Approvals, createApprovals } from '../tools/approvals.ts';
import { createRunRules, type Rules, type RunRules } from '../tools/rules.ts';
import type { RunResult } from '../workers/execute-run.ts';
import type { Ticket } from './admission.ts';
import type { ChosenModel } from './chosen-model.ts';
import { startChildRun } from './child-run.ts';
import type { Offer, OfferTo } from './offer.ts';
import type { ResolvedLimits } from './options.ts';
import type { Place } from './placement.ts';
import { OwnControl } from './own-control.ts';
import { executePrepared } from './run-execution.ts';
import type { ApproveOptions, DenyOptions, FollowUpOptions, RunHandle, RunHandleState } from './run-handle.ts';
import { RunLog } from './run-log.ts';
import type { PreparedRun } from './run-ports.ts';
import { type ActiveRun, type RunHost, type RunRequest, toFollowUp } from './run-request.ts';
import { openBudget, toRunSettings } from './run-settings.ts';
import { waitForTurn } from './wait-for-turn.ts';

/** What a run was found to need, before it has a place. */
export interface ResolvedRun {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly chosen: ChosenModel;
  readonly limits: ResolvedLimits;
  readonly price: ModelPrice | undefined;
  /** Of the engine and of the run. */
  readonly rules: readonly Rules[];
  readonly ticket: Ticket | undefined;
}

/**
 * A run from its start to its end, and what its caller holds of it.
 *
 * A class, and its parts made when they are first needed, because an engine may hold thousands of runs that wait.
 */
export class Run implements RunHandle, ActiveRun, PreparedRun, RunActorDeps {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly chosen: ChosenModel;
  readonly limits: ResolvedLimits;
  readonly price: ModelPrice | undefined;
  readonly depth: number;
  readonly result: Promise<RunResult>;
  readonly outcome: Promise<AgentOutcome>;
  readonly #host: RunHost;
  readonly #ruleSources: readonly Rules[];
  readonly #ticket: Ticket | undefined;
  readonly #log: RunLog;
  readonly #actor: ActorRef<RunCommand>;
  #resolve: (result: RunResult) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #state: RunHandleState;
  #canJoin = true;
  #inbox: RunInbox | undefined;
  #budget: Budget | undefined;
  #activeMs = 0;
  #offer: Offer | undefined;
  #offeredAt = 0;
  #settings: RunSettings | undefined;
  #rules: RunRules | undefined;
  #approvals: Approvals | undefined;
  #handoff: Handoff | undefined;
  #place: Place | undefined;
  #children: RunHandle[] | undefined;
  #last: AgentOutcome | undefined;
  /** The session that went on after this one. */
  #next: RunHandle | undefined;

  constructor(resolved: ResolvedRun, host: RunHost) {
    const { request, ticket } = resolved;
    const { parent, earlier } = request;
    this.id = resolved.id;
    this.request = request;
    this.chosen = resolved.chosen;
    this.limits = resolved.limits;
    this.price = resolved.price;
    this.depth = parent === undefined ? 0 : parent.run.depth + 1;
    this.#host = host;
    this.#ruleSources = resolved.rules;
    this.#ticket = ticket;
    this.#log = earlier?.log ?? new RunLog(host.deps.bus, this.id);
    this.#state = ticket?.turn === undefined ? 'running' : 'queued';
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.outcome = this.result.then(outcomeOf);
    this.outcome.catch(ignore); // a caller that only watches events must not meet an unhandled rejection
    this.#actor = host.deps.supervisor
      .start({
        restart: 'temporary',
        behavior: () => new RunActor(this),
        actor: actorDeps,
        ...(parent === undefined ? {} : { parent: parent.run.id }),
      })
      .ref();
  }

  get role(): string {
    return this.request.spec.role;
  }

  /** The caller's own. */
  get signal(): AbortSignal | undefined {
    return this.request.options.signal;
  }

  state(): RunHandleState {
    return this.#state;
  }

  used(): { readonly tokens: number; readonly cost: number } {
    const { earlier } = this.request;
    return {
      tokens: this.#budget?.usedTokens() ?? earlier?.tokens ?? 0,
      cost: this.#budget?.usedCost() ?? earlier?.cost ?? 0,
    };
  }

  events(options?: { readonly from?: number }): AsyncGenerator<Envelope, void, undefined> {
    return this.#log.read(options);
  }

  async cancel(options: { readonly mode?: CancelMode } = {}): Promise<void> {
    this.#actor.send({ type: 'cancel', mode: options.mode ?? 'hard' });
    await this.outcome.catch(ignore); // the failure is the outcome's to tell
  }

  steer(text: string): void {
    if (!this.#canJoin || this.#inbox?.join(text) !== true) throw this.#endedError();
  }

  children(): readonly RunHandle[] {
    return [...(this.#children ?? [])];
  }

  waiting(): readonly ApprovalRequest[] {
    return this.#approvals?.waiting() ?? [];
  }

  async approve(call: string, options?: string | ApproveOptions): Promise<void> {
    await this.#decide(call, true, options);
  }

  async deny(call: string, options?: string | DenyOptions): Promise<void> {
    await this.#decide(call, false, options);
  }

  followUp(text: string, options: FollowUpOptions = {}): RunHandle {
    if (this.#next !== undefined) return this.#next.followUp(text, options);
    if (this.#state !== 'ended' || this.#host.isActive(this.id)) {
      throw new EngineError('invalid_request', `run \`${this.id}\` is still active; use \`steer\``);
    }
    const log = this.#log;
    const earlier = { run: this.id, log, history: this.#transcript(), ...this.used(), activeMs: this.#activeMs };
    log.reopen();
    try {
      this.#next = this.#host.start(toFollowUp(this.request, text, options, earlier)).handle;
      return this.#next;
    } catch (error) {
      log.end();
      throw error;
    }
  }

  budget(): Budget | undefined {
    return this.#budget;
  }

  addChild(child: RunHandle): void {
    (this.#children ??= []).push(child);
  }

  get offer(): Offer {
    const { offers, deps } = this.#host;
    const revision = deps.tools.revision();
    if (this.#offer !== undefined && revision === this.#offeredAt) return this.#offer;
    this.#offeredAt = revision;
    const to = {
      depth: this.depth,
      startChild: (tool, task, context) => startChildRun(this, tool, task, context, this.#host.start),
      onHandoff: (handoff) => (this.#handoff ??= handoff),
    } satisfies OfferTo;
    const { spec } = this.request;
    this.#offer = this.#offer === undefined ? offers.make(spec, to) : offers.renew(this.#offer, spec, to);
    return this.#offer;
  }

  get settings(): RunSettings {
    return (this.#settings ??= toRunSettings(this, this.#host.deps.root));
  }

  get rules(): RunRules {
    return (this.#rules ??= createRunRules(this.#ruleSources, this.role));
  }

  get approvals(): Approvals {
    const { bus, defaults } = this.#host.deps;
    return (this.#approvals ??= createApprovals({
      approver: this.request.options.approver ?? defaults.approver,
      timeoutMs: this.limits.approvalTimeoutMs,
      publish: bus.publish,
    }));
  }

  seen(): Iterable<BusEvent> {
    return this.#log.seen();
  }

  onPlaced(place: Place): void {
    this.#place = place;
  }

  handoff(): Handoff | undefined {
    return this.#handoff;
  }

  onSession(isOpen: boolean): void {
    this.#canJoin = isOpen;
  }

  onSteered(text: string): void {
    this.#host.deps.bus.publish({ type: 'run_steered', run: this.id, text });
  }

  decide(call: CallId, decision: ApprovalDecision, hash: string | undefined): void {
    this.approvals.decide(call, decision, hash);
  }

  async execute(actor: ActorControl, inbox: RunInbox): Promise<void> {
    this.#inbox = inbox;
    try {
      const ticket = this.#ticket;
      // why: also without a wait not at once, the caller gets its handle before anything happens
      await (ticket?.turn === undefined ? undefined : waitForTurn(actor, inbox, ticket, ticket.turn));
      this.#end(await this.#begin(actor, inbox));
    } catch (error) {
      this.#fail(error);
    }
  }

  #begin(actor: ActorControl, inbox: RunInbox): Promise<RunResult> {
    this.#state = 'running';
    const budget = openBudget(this.request, this.price, this.#host.deps);
    this.#budget = budget;
    return executePrepared(this, new OwnControl(actor, budget), inbox, this.#host.deps);
  }

  #end(result: RunResult): void {
    this.#last = result.outcome;
    this.#close();
    this.#resolve(result);
  }

  #fail(error: unknown): void {
    this.#close();
    this.#reject(error);
  }

  #close(): void {
    this.#state = 'ended';
    this.#canJoin = false;
    this.#activeMs = this.#budget?.usedMs() ?? this.request.earlier?.activeMs ?? 0;
    this.#log.end();
    this.#place?.leave();
    this.#ticket?.leave();
    this.#host.onEnded(this);
  }

  #transcript(): readonly Message[] {
    const { earlier, options, message } = this.request;
    return this.#last?.messages ?? [...(earlier?.history ?? options.history ?? []), userText(message)];
  }

  async #decide(call: string, approved: boolean, options: string | ApproveOptions = {}): Promise<void> {
    const id = parseCallId(call);
    if (this.#state !== 'running') throw this.#endedError();
    const { hash, ...given } = typeof options === 'string' ? { comment: options } : options;
    const decision: ApprovalDecision = { ...given, approved };
    await this.#actor.ask<void>((reply) => ({ type: 'decide', call: id, decision, hash, reply }));
  }

  #endedError(): EngineError {
    return new EngineError('invalid_request', `run \`${this.id}\` has ended`, { code: 'not_found' });
  }
}

const actorDeps = { stopMs: 1_000 }; // its own end is waited for before its actor is stopped
const ignore = (): void => {};
const outcomeOf = ({ outcome }: RunResult): AgentOutcome => outcome;
