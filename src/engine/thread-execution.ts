import type { RunInbox } from '../actors/run-actor.ts';
import type { ToolAnswer } from '../agent/ports.ts';
import { toStopError } from '../agent/structured.ts';
import type { BusEvent } from '../bus/events.ts';
import type { AgentStop } from '../protocol/agent.ts';
import { Cancellation } from '../protocol/cancellation.ts';
import { EngineError, isEngineError, toWireError } from '../protocol/error.ts';
import { addUsage, noUsage, type ToolUseBlock, textOf, type Usage } from '../protocol/message.ts';
import type { ProviderRef } from '../protocol/model.ts';
import type { RunJob, RunPorts, RunResult } from '../workers/execute-run.ts';
import { toSeenTranscript } from './seen-transcript.ts';
import { type OwnedControl, OwnPorts, type PreparedRun } from './run-ports.ts';
import type { RunsDeps } from './run-request.ts';

/** Executes a run in a thread. When the thread ends before the run does, the run ends here with what was seen of it. */
export async function executeInThread(
  prepared: PreparedRun,
  ref: ProviderRef,
  job: RunJob,
  control: OwnedControl,
  inbox: RunInbox,
  deps: RunsDeps,
): Promise<RunResult> {
  const { chosen, request } = prepared;
  const { budget } = control;
  const calls = new Cancellation();
  control.cancellation.listen(calls);
  let offered = prepared.settings.tools;
  let tellTools = (): void => {};
  // why: before the answers of a step, so that the next one is offered what there is then
  const ports = new WatchedPorts(new OwnPorts(prepared, calls, inbox, deps), () => tellTools());
  try {
    return await deps.runPool.execute({
      job,
      tenant: request.options.tenant ?? '',
      isChild: request.parent !== undefined,
      provider: chosen.provider,
      ref,
      price: prepared.price,
      budget,
      onUsage(usage) {
        budget.add(usage);
        ports.count(usage);
      },
      control,
      ports,
      onWaiting: (goOn) => inbox.listen({ cancel: goOn }),
      onControl(send) {
        tellTools = () => {
          const { tools, toolTokens, mutatingTools } = prepared.offer;
          if (tools === offered) return;
          offered = tools;
          send({ control: 'tools', offered: { tools, toolTokens, mutatingTools } });
        };
        tellTools();
        for (const text of inbox.takeSteering()) send({ control: 'steer', text });
        inbox.listen({
          steer: (text) => send({ control: 'steer', text }),
          // a hard cancel reaches the thread through the signal of the run
          cancel: (mode) => void (mode === 'cooperative' && send({ control: 'cancel', mode })),
        });
      },
    });
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'worker_exited') throw error;
    calls.cancel(new EngineError('cancelled', error.message));
    await ports.settled(); // their events come before the end of the run
    const stop: AgentStop = control.cancellation.isCancelled
      ? { reason: 'cancelled' }
      : { reason: 'error', kind: error.kind, message: error.message, code: 'worker_exited' };
    return endLostRun(prepared, stop, ports);
  }
}

/** The ports of a run elsewhere, with an eye on what passes. */
class WatchedPorts implements RunPorts {
  readonly logger: RunPorts['logger'];
  readonly clock: RunPorts['clock'];
  /** Whether a session was begun and not finished. */
  isOpen = false;
  calls = 0;
  steps = 0;
  usage = noUsage;
  readonly #ports: RunPorts;
  readonly #running = new Set<Promise<ToolAnswer>>();
  readonly #onAnswer: () => void;

  constructor(ports: RunPorts, onAnswer: () => void) {
    this.#onAnswer = onAnswer;
    this.logger = ports.logger;
    this.clock = ports.clock;
    this.#ports = ports;
  }

  complete(...args: Parameters<RunPorts['complete']>): ReturnType<RunPorts['complete']> {
    return this.#ports.complete(...args);
  }

  completeAux(...args: Parameters<RunPorts['completeAux']>): ReturnType<RunPorts['completeAux']> {
    return this.#ports.completeAux(...args);
  }

  async callTool(call: ToolUseBlock): Promise<ToolAnswer> {
    this.calls += 1;
    const answer = this.#ports.callTool(call);
    this.#running.add(answer);
    try {
      const given = await answer;
      this.#onAnswer();
      return given;
    } finally {
      this.#running.delete(answer);
    }
  }

  augmentPrompt(...args: Parameters<RunPorts['augmentPrompt']>): ReturnType<RunPorts['augmentPrompt']> {
    return this.#ports.augmentPrompt(...args);
  }

  checkDocument(...args: Parameters<RunPorts['checkDocument']>): ReturnType<RunPorts['checkDocument']> {
    return this.#ports.checkDocument(...args);
  }

  publish(event: BusEvent): void {
    if (event.type === 'agent_started') this.isOpen = true;
    else if (event.type === 'agent_finished') this.isOpen = false;
    this.#ports.publish(event);
  }

  count(usage: Usage): void {
    this.steps += 1;
    this.usage = addUsage(this.usage, usage);
  }

  /** Resolves when no tool call is in flight. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}

/** The outcome of a run whose thread is gone: what was seen of it. */
function endLostRun(prepared: PreparedRun, stop: AgentStop, ports: WatchedPorts): RunResult {
  const { request, settings } = prepared;
  const { role } = request.spec;
  const { steps, calls, usage } = ports;
  const opening = request.earlier?.history ?? request.options.history ?? [];
  const messages = toSeenTranscript(opening, request.message, prepared.seen());
  if (ports.isOpen) {
    ports.publish({ type: 'agent_finished', run: settings.run, role, steps, usage, stop: JSON.stringify(stop) });
  }
  const answer = messages.slice(opening.length).findLast((message) => message.role === 'assistant');
  const finalText = answer === undefined ? '' : textOf(answer);
  const outcome = { role, stop, final_text: finalText, messages, steps, tool_calls: calls, usage };
  const error = request.mode.kind === 'structured' ? toStopError(role, stop) : undefined;
  return error === undefined ? { outcome } : { outcome, error: toWireError(error) };
}
