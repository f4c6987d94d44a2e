import type { BusEvent } from '../bus/events.ts';
import { EngineError, messageOf } from '../protocol/error.ts';
import type { CallId, RunId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import { childSignal, untilAborted } from '../protocol/signal.ts';

export interface ApprovalRequest {
  readonly run: RunId;
  readonly call: CallId;
  readonly role: string;
  readonly tool: string;
  readonly input: JsonObject;
  /** Why the call needs a decision; null when the tool itself asks for one. */
  readonly reason: string | null;
}

export interface ApprovalDecision {
  readonly approved: boolean;
  readonly comment?: string;
}

/** Decides calls: a callback, or `bus` to wait for `run.approve` / `run.deny`. */
export type Approver =
  | 'bus'
  | ((request: ApprovalRequest, signal: AbortSignal) => ApprovalDecision | Promise<ApprovalDecision>);

/** The open questions of one run. A decision counts once, for the call it names, in any order. */
export interface Approvals {
  /** Waits for a decision and publishes both events. Rejects with the signal's reason when the run ends first. */
  ask(request: ApprovalRequest, subtask: string | null, signal: AbortSignal): Promise<ApprovalDecision>;
  /** Answers an open question. @throws EngineError `not_found` when nothing waits for that call */
  decide(call: CallId, decision: ApprovalDecision): void;
}

export function createApprovals(options: {
  readonly approver: Approver | undefined;
  /** Absent: waits without limit. */
  readonly timeoutMs?: number | undefined;
  publish(event: BusEvent): void;
}): Approvals {
  const open = new Map<CallId, (decision: ApprovalDecision) => void>();

  async function decisionFor(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalDecision> {
    const { approver } = options;
    if (approver === undefined) return { approved: false, comment: 'no approver is configured' };
    if (approver !== 'bus') return await untilAborted(Promise.resolve(approver(request, signal)), signal);
    const answer = new Promise<ApprovalDecision>((resolve) => open.set(request.call, resolve));
    return await untilAborted(answer, signal).finally(() => open.delete(request.call));
  }

  return {
    async ask(request, subtask, signal) {
      const { run, role, tool, input, call, reason } = request;
      options.publish({ type: 'tool_approval_requested', run, role, tool, input, call, subtask, reason });
      using limit = childSignal(signal, options.timeoutMs);
      let decision: ApprovalDecision;
      try {
        decision = await decisionFor(request, limit.signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const comment = limit.timedOut
          ? `no decision within ${options.timeoutMs} ms`
          : `the approver failed: ${messageOf(error)}`;
        decision = { approved: false, comment };
      }
      const comment = decision.comment ?? null;
      options.publish({ type: 'tool_approval_resolved', run, call, approved: decision.approved === true, comment });
      return decision;
    },
    decide(call, decision) {
      const answer = open.get(call);
      if (answer === undefined) {
        throw new EngineError('invalid_request', `no call \`${call}\` of this run waits for approval`, {
          code: 'not_found',
        });
      }
      open.delete(call);
      answer(decision);
    },
  };
}
