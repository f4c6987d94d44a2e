import type { RunInbox } from '../actors/run-actor.ts';
import type { RunControl, ToolAnswer } from '../agent/ports.ts';
import type { BusEvent } from '../bus/events.ts';
import type { AgentStop } from '../protocol/agent.ts';
import { EngineError, isEngineError } from '../protocol/error.ts';
import { addUsage, noUsage, type ToolUseBlock, type Usage, userText } from '../protocol/message.ts';
import type { ProviderRef } from '../protocol/model.ts';
import { childSignal } from '../protocol/signal.ts';
import type { RunJob, RunPorts, RunResult } from '../workers/execute-run.ts';
import { type PreparedRun, toPorts } from './run-ports.ts';
import type { RunsDeps } from './run-request.ts';

/** Executes a run in a thread. When the thread ends before the run does, the run ends here with what was seen of it. */
export async function executeInThread(
  prepared: PreparedRun,
  ref: ProviderRef,
  job: RunJob,
  control: RunControl,
  inbox: RunInbox,
  deps: RunsDeps,
): Promise<RunResult> {
  const { chosen, request } = prepared;
  using calls = childSignal(control.signal);
  const ports = toPorts(prepared, calls.signal, inbox, deps);
  const watch = watchRun(ports);
  try {
    return await deps.runPool.execute({
      job,
      tenant: request.options.tenant ?? '',
      provider: chosen.provider,
      ref,
      price: prepared.price,
      budget: { ...control.budget, add: (usage) => watch.count(usage, control) },
      control,
      ports: watch.ports,
      onControl(send) {
        for (const text of inbox.takeSteering()) send({ control: 'steer', text });
        inbox.listen({
          steer: (text) => send({ control: 'steer', text }),
          // a hard cancel reaches the thread through the signal of the run
          cancel: (mode) => mode === 'cooperative' && send({ control: 'cancel', mode }),
        });
      },
    });
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'worker_exited') throw error;
    calls.abort(new EngineError('cancelled', error.message));
    await watch.settled(); // their events come before the end of the run
    const stop: AgentStop = control.signal.aborted
      ? { reason: 'cancelled' }
      : { reason: 'error', kind: error.kind, message: error.message, code: 'worker_exited' };
    return endLostRun(prepared, stop, watch, ports);
  }
}

/** What the main thread sees of a run elsewhere. */
interface RunWatch {
  readonly ports: RunPorts;
  count(usage: Usage, control: RunControl): void;
  /** Resolves when no tool call is in flight. */
  settled(): Promise<unknown>;
  /** Whether a session was begun and not finished. */
  isOpen(): boolean;
  seen(): { readonly steps: number; readonly calls: number; readonly usage: Usage };
}

function watchRun(ports: RunPorts): RunWatch {
  const running = new Set<Promise<ToolAnswer>>();
  let isOpen = false;
  let calls = 0;
  let steps = 0;
  let used = noUsage;
  return {
    ports: {
      ...ports,
      callTool(call: ToolUseBlock) {
        calls += 1;
        const answer = ports.callTool(call);
        running.add(answer);
        return answer.finally(() => void running.delete(answer));
      },
      publish(event: BusEvent) {
        if (event.type === 'agent_started') isOpen = true;
        if (event.type === 'agent_finished') isOpen = false;
        ports.publish(event);
      },
    },
    count(usage, control) {
      control.budget.add(usage);
      steps += 1;
      used = addUsage(used, usage);
    },
    settled: () => Promise.allSettled(running),
    isOpen: () => isOpen,
    seen: () => ({ steps, calls, usage: used }),
  };
}

/** The outcome of a run whose thread is gone. */
function endLostRun({ request, settings }: PreparedRun, stop: AgentStop, watch: RunWatch, ports: RunPorts): RunResult {
  const { role } = request.spec;
  const { steps, calls, usage } = watch.seen();
  if (watch.isOpen()) {
    ports.publish({ type: 'agent_finished', run: settings.run, role, steps, usage, stop: JSON.stringify(stop) });
  }
  const messages = [...(request.earlier?.history ?? request.options.history ?? []), userText(request.message)];
  return { outcome: { role, stop, final_text: '', messages, steps, tool_calls: calls, usage } };
}
