import type { BusEvent } from '../bus/events.ts';
import { canonicalHash } from '../protocol/canonical.ts';
import { EngineError, messageOf } from '../protocol/error.ts';
import type { CallId, RunId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import { childSignal, untilAborted } from '../protocol/signal.ts';
import { parseRule } from './rule-pattern.ts';

/** A call that waits for a decision. */
export interface ApprovalRequest {
  readonly run: RunId;
  readonly call: CallId;
  readonly role: string;
  readonly tool: string;
  readonly input: JsonObject;
  /** Why the call needs a decision; null when the tool itself asks for one. */
  readonly reason: string | null;
  /** SHA-256 of the canonical JSON of `{input, tool}`: a decision that names it counts for these arguments only. */
  readonly hash: string;
  /** The rule that `always: true` adds: it means this call and no other. */
  readonly rule: string;
}

export interface ApprovalDecision {
  readonly approved: boolean;
  /** The model reads why it was refused. */
  readonly comment?: string;
  /**
   * With an approval: answer the same question by itself until the run ends, for this very call (`true`) or for what a
   * rule such as `bash(npm test *)` means. What `deny` forbids stays forbidden.
   */
  readonly always?: boolean | string;
}

/** Decides calls: a callback, or `bus` to wait for `run.approve` / `run.deny`, which also answer in place of a callback. */
export type Approver =
  | 'bus'
  | ((request: ApprovalRequest, signal: AbortSignal) => ApprovalDecision | Promise<ApprovalDecision>);

/** The open questions of one run. A decision counts once, for the call it names, in any order. */
export interface Approvals {
  /** Waits for a decision and publishes both events. Rejects with the signal's reason when the run ends first. */
  ask(request: ApprovalRequest, subtask: string | null, signal: AbortSignal): Promise<ApprovalDecision>;
  /**
   * Answers an open question.
   * @param hash when given, the arguments the decision is about
   * @throws EngineError `invalid_request`, code `not_found` when nothing waits for that call; `config` for a bad rule in
   * `always`; the question then stays open
   */
  decide(call: CallId, decision: ApprovalDecision, hash?: string): void;
  /** What waits, in the order it was asked. */
  waiting(): readonly ApprovalRequest[];
}

/** What an approval is bound to. */
export function hashCall(tool: string, input: JsonObject): string {
  return canonicalHash({ input, tool });
}

export interface ApprovalOptions {
  readonly approver: Approver | undefined;
  /** Absent: waits without limit. */
  readonly timeoutMs?: number | undefined;
  publish(event: BusEvent): void;
}

export function createApprovals(options: ApprovalOptions): Approvals {
  return new OpenApprovals(options);
}

interface Question {
  readonly request: ApprovalRequest;
  answer(decision: ApprovalDecision): void;
}

// why: a class, and its map made when it is first needed, because every run has one
class OpenApprovals implements Approvals {
  readonly #options: ApprovalOptions;
  #open: Map<CallId, Question> | undefined;

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  async ask(request: ApprovalRequest, subtask: string | null, signal: AbortSignal): Promise<ApprovalDecision> {
    const { run, role, tool, input, call, reason } = request;
    const { timeoutMs, approver } = this.#options;
    // why before the event: whoever hears of the question finds it among those that wait
    const answered = approver === undefined ? undefined : this.#list(request);
    this.#options.publish({ type: 'tool_approval_requested', run, role, tool, input, call, subtask, reason });
    using limit = childSignal(signal, timeoutMs);
    let decision: ApprovalDecision;
    try {
      decision =
        approver === undefined || answered === undefined
          ? { approved: false, comment: 'no approver is configured' }
          : await this.#decisionOf(approver, request, answered, limit.signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const comment = limit.timedOut
        ? `no decision within ${timeoutMs} ms`
        : `the approver failed: ${messageOf(error)}`;
      decision = { approved: false, comment };
    }
    const approved = decision.approved === true;
    const comment = typeof decision.comment === 'string' ? decision.comment : describeAlways(decision, request);
    this.#options.publish({ type: 'tool_approval_resolved', run, call, approved, comment });
    return { ...decision, approved };
  }

  decide(call: CallId, decision: ApprovalDecision, hash?: string): void {
    const question = this.#open?.get(call);
    if (question === undefined) {
      throw new EngineError('invalid_request', `no call \`${call}\` of this run waits for approval`, {
        code: 'not_found',
      });
    }
    if (hash !== undefined && hash !== question.request.hash) {
      throw new EngineError('invalid_request', `the decision is about other arguments than those of call \`${call}\``);
    }
    question.answer(checkDecision(decision));
    this.#open?.delete(call);
  }

  waiting(): readonly ApprovalRequest[] {
    return [...(this.#open?.values() ?? [])].map(({ request }) => request);
  }

  #list(request: ApprovalRequest): Promise<ApprovalDecision> {
    const open = (this.#open ??= new Map());
    return new Promise((resolve) => open.set(request.call, { request, answer: resolve }));
  }

  async #decisionOf(
    approver: Approver,
    request: ApprovalRequest,
    answered: Promise<ApprovalDecision>,
    signal: AbortSignal,
  ): Promise<ApprovalDecision> {
    using asking = childSignal(signal);
    try {
      // why: whoever is first decides, and the callback is told when it is not
      const called = approver === 'bus' ? [] : [askCallback(approver, request, asking.signal)];
      return await untilAborted(Promise.race([answered, ...called]), signal);
    } finally {
      this.#open?.delete(request.call);
      asking.abort(new EngineError('cancelled', 'the question was answered'));
    }
  }
}

async function askCallback(
  approver: Exclude<Approver, 'bus'>,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalDecision> {
  return checkDecision(await approver(request, signal));
}

/** @throws EngineError `config` when a rule in `always` cannot be read */
function checkDecision(decision: ApprovalDecision): ApprovalDecision {
  if (typeof decision.always === 'string') parseRule(decision.always);
  return decision;
}

/** What the events show of an `always` without a comment. */
function describeAlways({ approved, always }: ApprovalDecision, request: ApprovalRequest): string | null {
  if (approved !== true || always === undefined || always === false) return null;
  return `always: ${always === true ? request.rule : always}`;
}
