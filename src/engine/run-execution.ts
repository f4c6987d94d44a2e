import type { RunInbox } from '../actors/run-actor.ts';
import type { Budget } from '../agent/budget.ts';
import type { RunControl, RunSettings, ToolAnswer } from '../agent/ports.ts';
import type { BusEvent } from '../bus/events.ts';
import type { AgentStop } from '../protocol/agent.ts';
import { isEngineError } from '../protocol/error.ts';
import { addUsage, noUsage, type ToolUseBlock, userText } from '../protocol/message.ts';
import { defaultPermissions, type Tool } from '../protocol/tool.ts';
import type { Approvals } from '../tools/approvals.ts';
import { createToolDispatch } from '../tools/dispatch.ts';
import { executeRun, type RunJob, type RunPorts, type RunResult } from '../workers/execute-run.ts';
import type { ResolvedLimits } from './options.ts';
import type { BudgetPlan } from './run-settings.ts';
import type { ChosenModel, RunRequest, RunsDeps } from './run-request.ts';

/** A run with everything resolved, about to be executed. */
export interface PreparedRun {
  readonly request: RunRequest;
  readonly settings: RunSettings;
  readonly offered: readonly Tool[];
  readonly limits: ResolvedLimits;
  readonly chosen: ChosenModel;
  readonly budget: Budget;
  readonly budgetPlan: BudgetPlan;
  readonly approvals: Approvals;
}

/** Executes a run where it belongs: here, or in a thread that asks this one for tools, hooks and schema checks. */
export async function executePrepared(
  prepared: PreparedRun,
  control: RunControl,
  inbox: RunInbox,
  deps: RunsDeps,
): Promise<RunResult> {
  const { request, settings, chosen } = prepared;
  const { message, mode, options } = request;
  const job: RunJob = { settings, mode, message, history: options.history };
  const ports = toPorts(prepared, control, inbox, deps);
  const place = options.placement ?? deps.defaults.placement ?? 'inline';
  const wantsThread = place === 'thread' || (place === 'auto' && deps.shouldLeaveMainThread());
  if (!wantsThread) return await executeRun(job, control, ports);
  if (chosen.ref === undefined) {
    // why: an object with functions cannot cross to a thread; the run is the same here, only not beside the main thread
    const name = chosen.provider.info().name;
    deps.logger.warn(`provider \`${name}\` was given as an object: the run stays on the main thread`, {
      run: settings.run,
    });
    return await executeRun(job, control, ports);
  }
  return await executeInThread(prepared, { ...chosen, ref: chosen.ref }, job, control, inbox, ports, deps);
}

function toPorts(prepared: PreparedRun, control: RunControl, inbox: RunInbox, deps: RunsDeps): RunPorts {
  const { request, settings, offered, limits, chosen, approvals } = prepared;
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
      approvals,
      signal: control.signal,
    },
    { hooks: deps.hooks, clock: deps.clock, newId: deps.newId, logger: deps.logger, publish: deps.bus.publish },
  );
  return {
    complete: (completion, onDelta) => chosen.provider.completeStreaming(completion, onDelta),
    completeAux: (completion) => chosen.provider.complete(completion),
    callTool,
    augmentPrompt: (role, task) => deps.hooks.runAugmentPrompt(role, task, control.signal),
    publish: deps.bus.publish,
    takeSteering: () => inbox.takeSteering(),
    checkDocument: request.checkDocument ?? (() => Promise.resolve({ ok: true, value: undefined })),
    logger: deps.logger,
    clock: deps.clock,
  };
}

async function executeInThread(
  prepared: PreparedRun,
  chosen: ChosenModel & { readonly ref: NonNullable<ChosenModel['ref']> },
  job: RunJob,
  control: RunControl,
  inbox: RunInbox,
  ports: RunPorts,
  deps: RunsDeps,
): Promise<RunResult> {
  const { budgetPlan, budget } = prepared;
  const calls = new Set<Promise<ToolAnswer>>();
  const seen = { isStarted: false, isFinished: false, calls: 0, steps: 0, usage: noUsage };
  try {
    return await deps.runPool.execute({
      job,
      provider: chosen.ref,
      budget: budgetPlan.limits,
      price: budgetPlan.price,
      counted: {
        ...budget,
        add(usage) {
          budget.add(usage);
          seen.steps += 1;
          seen.usage = addUsage(seen.usage, usage);
        },
      },
      control,
      ports: {
        ...ports,
        callTool(call: ToolUseBlock) {
          seen.calls += 1;
          const running = ports.callTool(call);
          calls.add(running);
          return running.finally(() => void calls.delete(running));
        },
        publish(event: BusEvent) {
          if (event.type === 'agent_started') seen.isFinished = !(seen.isStarted = true);
          if (event.type === 'agent_finished') seen.isFinished = true;
          ports.publish(event);
        },
      },
      onRequest: chosen.provider.onRequest,
      onControl: (send) =>
        inbox.forward((command) =>
          send(
            command.type === 'steer'
              ? { control: 'steer', text: command.text }
              : { control: 'cancel', mode: command.mode },
          ),
        ),
    });
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'worker_exited') throw error;
    await Promise.all(calls); // their events come before the end of the run
    const stop: AgentStop = control.signal.aborted
      ? { reason: 'cancelled' }
      : { reason: 'error', kind: error.kind, message: error.message, code: 'worker_exited' };
    return endLostRun(prepared, stop, seen, ports);
  }
}

/** The outcome of a run whose thread is gone: what the main thread saw of it. */
function endLostRun(
  { request, settings }: PreparedRun,
  stop: AgentStop,
  seen: {
    readonly isStarted: boolean;
    readonly isFinished: boolean;
    readonly calls: number;
    readonly steps: number;
    readonly usage: typeof noUsage;
  },
  ports: RunPorts,
): RunResult {
  const { role } = request.spec;
  const { steps, usage } = seen;
  if (seen.isStarted && !seen.isFinished) {
    ports.publish({ type: 'agent_finished', run: settings.run, role, steps, usage, stop: JSON.stringify(stop) });
  }
  const messages = [...(request.options.history ?? []), userText(request.message)];
  return { outcome: { role, stop, final_text: '', messages, steps, tool_calls: seen.calls, usage } };
}
