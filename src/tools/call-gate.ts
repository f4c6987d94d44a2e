import type { Hooks } from '../bus/hooks.ts';
import type { Cancellation } from '../protocol/cancellation.ts';
import { messageOf } from '../protocol/error.ts';
import type { BeforeToolCall, HookDecision } from '../protocol/hook.ts';
import type { RunId } from '../protocol/ids.ts';
import { errorOutput, type Tool, type ToolOutput } from '../protocol/tool.ts';
import { type Approvals, hashCall } from './approvals.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { createRunRules, rulesHookName, type RunRules, type RuleVerdict } from './rules.ts';

export interface CallGateSettings {
  readonly run: RunId;
  readonly role: string;
  readonly subtask: string | null;
  /** Default: no rules. */
  readonly rules?: RunRules | undefined;
  readonly approvals: Approvals;
  /** Of the run. */
  readonly cancellation: Cancellation;
}

/**
 * What stands between a call and its tool: rules first, as a hook named `rules`, then the hooks, then the approver
 * (agent-runtime 5 and 18.12).
 */
export class CallGate {
  readonly #settings: CallGateSettings;
  readonly #rules: RunRules;
  readonly #hooks: Hooks;

  constructor(settings: CallGateSettings, hooks: Hooks) {
    this.#settings = settings;
    this.#rules = settings.rules ?? createRunRules([], settings.role);
    this.#hooks = hooks;
  }

  /** The refusal, or nothing when the call may go on. Synchronous when nobody has to be waited for. */
  pass(tool: Tool, asked: BeforeToolCall): MaybePromise<ToolOutput | undefined> {
    const verdict = this.#rules.judge(asked);
    if (verdict.kind === 'deny') return blocked(tool.name, rulesHookName, verdict.reason);
    const decision = this.#hooks.runBeforeTool(asked);
    return decision instanceof Promise
      ? decision.then((decided) => this.#decide(tool, asked, verdict, decided))
      : this.#decide(tool, asked, verdict, decision);
  }

  #decide(
    tool: Tool,
    asked: BeforeToolCall,
    verdict: RuleVerdict,
    decision: HookDecision,
  ): MaybePromise<ToolOutput | undefined> {
    if (this.#settings.cancellation.isCancelled) return cancelledOutput(tool.name);
    if (decision.kind === 'abort') return blocked(tool.name, decision.hook, decision.reason);
    if (verdict.kind === 'ask') return this.#ask(tool.name, asked, verdict.reason);
    if (decision.kind === 'ask') return this.#ask(tool.name, asked, decision.reason);
    const needsApproval = tool.needs_approval === true && verdict.kind !== 'allow';
    return needsApproval ? this.#ask(tool.name, asked, null) : undefined;
  }

  async #ask(tool: string, asked: BeforeToolCall, reason: string | null): Promise<ToolOutput | undefined> {
    const { run, role, subtask, approvals, cancellation } = this.#settings;
    const rules = this.#rules;
    try {
      if (rules.isGranted(asked)) return undefined;
      const { input, context } = asked;
      const rule = rules.exactRule(asked);
      const request = { run, call: context.call, role, tool, input, reason, hash: hashCall(tool, input), rule };
      const { approved, always, comment } = await approvals.ask(request, subtask, cancellation.signal);
      if (!approved) return notApproved(tool, comment ?? 'refused');
      if (always !== undefined && always !== false) rules.grant(always === true ? rule : always);
      return undefined;
    } catch (error) {
      if (cancellation.isCancelled) return cancelledOutput(tool); // the run ended while it waited
      return notApproved(tool, `the question cannot be asked: ${messageOf(error)}`);
    }
  }
}

/** The result of a call that was cancelled (agent-runtime 18.1). */
export function cancelledOutput(tool: string): ToolOutput {
  return errorOutput(`Tool \`${tool}\` was cancelled.`);
}

function blocked(tool: string, hook: string, reason: string): ToolOutput {
  return errorOutput(
    `The call to \`${tool}\` was blocked by a policy hook: ${hook}: ${reason}. Do not repeat this call; choose another approach.`,
  );
}

function notApproved(tool: string, comment: string): ToolOutput {
  return errorOutput(
    `The call to \`${tool}\` was not approved: ${comment}. Do not repeat this call; choose another approach.`,
  );
}
