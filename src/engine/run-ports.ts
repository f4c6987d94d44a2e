import type { RunInbox } from '../actors/run-actor.ts';
import type { ModelPrice } from '../agent/budget.ts';
import type { RunSettings } from '../agent/ports.ts';
import type { Handoff } from '../protocol/agent.ts';
import { defaultPermissions, type Tool } from '../protocol/tool.ts';
import type { Approvals } from '../tools/approvals.ts';
import { createToolDispatch } from '../tools/dispatch.ts';
import type { RunRules } from '../tools/rules.ts';
import type { RunPorts } from '../workers/execute-run.ts';
import type { ChosenModel } from './chosen-model.ts';
import type { ResolvedLimits } from './options.ts';
import type { RunRequest, RunsDeps } from './run-request.ts';

/** A run with everything resolved, about to be executed. */
export interface PreparedRun {
  readonly request: RunRequest;
  readonly settings: RunSettings;
  readonly offered: readonly Tool[];
  readonly limits: ResolvedLimits;
  readonly chosen: ChosenModel;
  readonly price: ModelPrice | undefined;
  readonly rules: RunRules;
  readonly approvals: Approvals;
  /** Whom the agent handed off to, once it did. */
  handoff(): Handoff | undefined;
  /** Told before anyone sees that a session begins or is over: a text that joins a finished one would be lost. */
  onSession(isOpen: boolean): void;
}

/**
 * What a run asks of its surroundings, as this thread answers it.
 * @param signal ends the tool calls
 */
export function toPorts(prepared: PreparedRun, signal: AbortSignal, inbox: RunInbox, deps: RunsDeps): RunPorts {
  const { request, settings, offered, limits, chosen } = prepared;
  const { spec, options } = request;
  const callTool = createToolDispatch(
    {
      run: settings.run,
      role: spec.role,
      subtask: settings.subtask,
      tools: new Map(offered.map((tool) => [tool.name, tool])),
      workspaceRoot: settings.workspaceRoot,
      permissions: { ...defaultPermissions, ...deps.permissions, ...options.permissions },
      taskId: options.task === undefined ? undefined : (options.task.id ?? settings.run),
      maxOutputChars: limits.maxToolOutputChars,
      trace: options.toolTrace,
      toolTimeoutMs: limits.toolTimeoutMs,
      cancelGraceMs: limits.cancelGraceMs,
      rules: prepared.rules,
      approvals: prepared.approvals,
      signal,
    },
    { hooks: deps.hooks, clock: deps.clock, newId: deps.newId, logger: deps.logger, publish: deps.bus.publish },
  );
  return {
    complete: (completion, onDelta) => chosen.provider.completeStreaming(completion, onDelta),
    completeAux: (completion) => chosen.provider.complete(completion),
    callTool: spec.handoffs === undefined ? callTool : withHandoff(callTool, prepared),
    augmentPrompt: async (role, task) => {
      try {
        return signal.aborted ? [] : await deps.hooks.runAugmentPrompt(role, task, signal);
      } catch (error) {
        // the run was cancelled while a hook was asked, which is no failure of the hook
        if (signal.aborted) return [];
        throw error;
      }
    },
    publish(event) {
      if (event.type === 'agent_started') prepared.onSession(true);
      else if (event.type === 'agent_finished') prepared.onSession(false);
      deps.bus.publish(event);
    },
    takeSteering: () => inbox.takeSteering(),
    checkDocument: request.checkDocument ?? (() => Promise.resolve({ ok: true, value: undefined })),
    logger: deps.logger,
    clock: deps.clock,
  };
}

/** Tells the loop when a call handed the conversation over. */
function withHandoff(callTool: RunPorts['callTool'], prepared: PreparedRun): RunPorts['callTool'] {
  return async (call) => {
    const before = prepared.handoff();
    const answer = await callTool(call);
    const handoff = prepared.handoff();
    return handoff === undefined || handoff === before ? answer : { ...answer, handoff };
  };
}
