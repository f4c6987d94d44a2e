import type { RunInbox } from '../actors/run-actor.ts';
import type { Budget, ModelPrice } from '../agent/budget.ts';
import type { OfferedTools, RunControl, RunSettings, ToolAnswer } from '../agent/ports.ts';
import type { BusEvent } from '../bus/events.ts';
import type { Handoff, TaskInfo } from '../protocol/agent.ts';
import type { Cancellation } from '../protocol/cancellation.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import type { RunId } from '../protocol/ids.ts';
import type { Json } from '../protocol/json.ts';
import type { ToolUseBlock } from '../protocol/message.ts';
import type { CompletionRequest, CompletionResponse, OnDelta } from '../protocol/model.ts';
import type { Tool } from '../protocol/tool.ts';
import type { Approvals } from '../tools/approvals.ts';
import { createToolDispatch } from '../tools/dispatch.ts';
import type { RunRules } from '../tools/rules.ts';
import type { RunPorts } from '../workers/execute-run.ts';
import type { ChosenModel } from './chosen-model.ts';
import type { Offer } from './offer.ts';
import type { ResolvedLimits } from './options.ts';
import type { Place } from './placement.ts';
import type { RunRequest, RunsDeps } from './run-request.ts';

/** A run with everything resolved, about to be executed. */
export interface PreparedRun {
  readonly id: RunId;
  readonly request: RunRequest;
  readonly settings: RunSettings;
  /** As the registry is at this moment. */
  readonly offer: Offer;
  readonly limits: ResolvedLimits;
  readonly chosen: ChosenModel;
  readonly price: ModelPrice | undefined;
  readonly rules: RunRules;
  readonly approvals: Approvals;
  /** Its numbered events so far, those before a follow-up too. */
  seen(): Iterable<BusEvent>;
  /** Told where it executes; it leaves the place when it ends. */
  onPlaced(place: Place): void;
  /** Whom the agent handed off to, once it did. */
  handoff(): Handoff | undefined;
  /** Told before anyone sees that a session begins or is over: a text that joins a finished one would be lost. */
  onSession(isOpen: boolean): void;
}

/** The control of a run on the main thread, where its whole budget is. */
export interface OwnedControl extends RunControl {
  readonly budget: Budget;
}

/** What a run asks of its surroundings, as this thread answers it. */
export class OwnPorts implements RunPorts {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly #run: PreparedRun;
  readonly #cancellation: Cancellation;
  readonly #inbox: RunInbox;
  readonly #deps: RunsDeps;
  #callTool: RunPorts['callTool'] | undefined;

  /** @param cancellation ends the tool calls */
  constructor(run: PreparedRun, cancellation: Cancellation, inbox: RunInbox, deps: RunsDeps) {
    this.logger = deps.logger;
    this.clock = deps.clock;
    this.#run = run;
    this.#cancellation = cancellation;
    this.#inbox = inbox;
    this.#deps = deps;
  }

  complete(request: CompletionRequest, onDelta: OnDelta): Promise<CompletionResponse> {
    return this.#run.chosen.provider.completeStreaming(request, onDelta);
  }

  completeAux(request: CompletionRequest): Promise<CompletionResponse> {
    return this.#run.chosen.provider.complete(request);
  }

  offeredTools(): OfferedTools | undefined {
    const { offer, settings } = this.#run;
    return offer.tools === settings.tools ? undefined : offer;
  }

  callTool(call: ToolUseBlock): Promise<ToolAnswer> {
    return (this.#callTool ??= createCallTool(this.#run, this.#cancellation, this.#deps))(call);
  }

  async augmentPrompt(role: string, task: TaskInfo): Promise<readonly string[]> {
    const cancellation = this.#cancellation;
    try {
      return cancellation.isCancelled ? [] : await this.#deps.hooks.runAugmentPrompt(role, task, cancellation);
    } catch (error) {
      // the run was cancelled while a hook was asked, which is no failure of the hook
      if (cancellation.isCancelled) return [];
      throw error;
    }
  }

  publish(event: BusEvent): void {
    if (event.type === 'agent_started') this.#run.onSession(true);
    else if (event.type === 'agent_finished') this.#run.onSession(false);
    this.#deps.bus.publish(event);
  }

  takeTurn(): Promise<void> | undefined {
    return this.#deps.turns.take();
  }

  takeSteering(): readonly string[] {
    return this.#inbox.takeSteering();
  }

  checkDocument(document: Json): ReturnType<RunPorts['checkDocument']> {
    const { checkDocument } = this.#run.request;
    return checkDocument === undefined ? Promise.resolve({ ok: true, value: undefined }) : checkDocument(document);
  }
}

function createCallTool(run: PreparedRun, cancellation: Cancellation, deps: RunsDeps): RunPorts['callTool'] {
  const { request, settings, limits } = run;
  const { spec, options } = request;
  const callTool = createToolDispatch(
    {
      run: settings.run,
      role: spec.role,
      subtask: settings.subtask,
      tools: new OfferedNow(run),
      workspaceRoot: settings.workspaceRoot,
      permissions:
        options.permissions === undefined ? deps.permissions : { ...deps.permissions, ...options.permissions },
      taskId: options.task === undefined ? undefined : (options.task.id ?? settings.run),
      maxOutputChars: limits.maxToolOutputChars,
      trace: options.toolTrace,
      toolTimeoutMs: limits.toolTimeoutMs,
      cancelGraceMs: limits.cancelGraceMs,
      rules: run.rules,
      approvals: run.approvals,
      cancellation,
    },
    {
      hooks: deps.hooks,
      watch: deps.watch,
      clock: deps.clock,
      newId: deps.newId,
      logger: deps.logger,
      publish: deps.bus.publish,
    },
  );
  return spec.handoffs === undefined ? callTool : withHandoff(callTool, run);
}

/** A call goes by the tools that its step was offered, or by newer ones. */
class OfferedNow implements Pick<ReadonlyMap<string, Tool>, 'get' | 'keys'> {
  readonly #run: PreparedRun;

  constructor(run: PreparedRun) {
    this.#run = run;
  }

  get(name: string): Tool | undefined {
    return this.#run.offer.byName.get(name);
  }

  keys(): MapIterator<string> {
    return this.#run.offer.byName.keys();
  }
}

/** Tells the loop when a call handed the conversation over. */
function withHandoff(callTool: RunPorts['callTool'], run: PreparedRun): RunPorts['callTool'] {
  return async (call) => {
    const before = run.handoff();
    const answer = await callTool(call);
    const handoff = run.handoff();
    return handoff === undefined || handoff === before ? answer : { ...answer, handoff };
  };
}
