import type { Hooks } from '../bus/hooks.ts';
import { messageOf } from '../protocol/error.ts';
import type { BeforeToolCall } from '../protocol/hook.ts';
import type { JsonObject } from '../protocol/json.ts';
import { hasRawArguments, type ToolUseBlock } from '../protocol/message.ts';
import type { Placed } from '../protocol/open-list.ts';
import { errorOutput, type InputCheck, type Tool, type ToolOutput } from '../protocol/tool.ts';
import { AdmittedCall, type ContextSettings } from './admitted-call.ts';
import { CallEnd, isAbort, stoppedOutput } from './call-end.ts';
import { CallGate, type CallGateSettings } from './call-gate.ts';
import { CallLimits } from './call-limit.ts';
import {
  type CallReturnDeps,
  type CallReturnSettings,
  concludeCall,
  type OpenCall,
  type ToolAnswer,
} from './call-return.ts';
import { andThen, isThenable, type MaybePromise, soon } from './maybe-promise.ts';
import { copyInput, toFailure, toOutput } from './output.ts';

const invalidArguments =
  'the arguments of this call were not valid JSON (possibly truncated); repeat the call with complete JSON arguments';

export interface WatchedCall extends Placed {
  readonly asked: BeforeToolCall;
}

/** Hears of calls whose code runs on this thread. */
export interface CallWatch {
  /** Its handler is about to run. */
  enter(call: WatchedCall): void;
  /** The handler gave the thread back: it is done, or waits. */
  leave(call: WatchedCall, isWaiting: boolean): void;
  /** A call that waited is over. */
  end(call: WatchedCall): void;
}

export interface DispatchDeps extends CallReturnDeps {
  readonly hooks: Hooks;
  readonly watch?: CallWatch | undefined;
}

/** What the calls of one run have in common. */
export interface DispatchSettings extends CallGateSettings, CallReturnSettings, ContextSettings {
  /** The offered tools by name, in offer order. */
  readonly tools: Pick<ReadonlyMap<string, Tool>, 'get' | 'keys'>;
  /** 0 = none. */
  readonly toolTimeoutMs: number;
}

/** One call from `tool_called` to `tool_returned`; never rejects. */
export type CallTool = (call: Pick<ToolUseBlock, 'name' | 'input'>) => Promise<ToolAnswer>;

/** Tool execution of agent-runtime section 5 with the extensions 18.1, 18.2, 18.6 and 18.12. */
export function createToolDispatch(settings: DispatchSettings, deps: DispatchDeps): CallTool {
  const dispatch = new ToolDispatch(settings, deps);
  return (call) => dispatch.call(call);
}

/**
 * The calls of one run. A class, and no async functions on the way of a usual call: each would keep its frame until the call
 * ends, and with thousands of calls in flight these frames were most of what the collector had to move.
 */
class ToolDispatch {
  readonly #settings: DispatchSettings;
  readonly #deps: DispatchDeps;
  readonly #gate: CallGate;
  readonly #limits: CallLimits;

  constructor(settings: DispatchSettings, deps: DispatchDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#gate = new CallGate(settings, deps.hooks);
    this.#limits = new CallLimits(settings.cancellation);
  }

  call({ name: tool, input }: Pick<ToolUseBlock, 'name' | 'input'>): Promise<ToolAnswer> {
    const { run, role, subtask } = this.#settings;
    const id = this.#deps.newId.call();
    this.#deps.publish({ type: 'tool_called', run, role, tool, input, call: id, subtask });
    return Promise.resolve(this.#produce({ tool, id, startedAt: this.#deps.clock.elapsed() }, input));
  }

  #produce(call: OpenCall, input: JsonObject): MaybePromise<ToolAnswer> {
    const { tool: name } = call;
    if (hasRawArguments(input)) {
      return this.#concludeSoon(call, errorOutput(`Tool \`${name}\` was not executed: ${invalidArguments}.`));
    }
    const tool = this.#settings.tools.get(name);
    if (tool === undefined) {
      const names = [...this.#settings.tools.keys()].join(', ');
      const known = names === '' ? 'none' : names;
      return this.#concludeSoon(call, errorOutput(`Unknown tool \`${name}\`. Available tools: ${known}.`));
    }
    const limit = this.#limits.open(tool.timeout_ms ?? this.#settings.toolTimeoutMs);
    const admitted = new AdmittedCall(call, tool, input, limit, this.#settings);
    const refusal = this.#gate.pass(tool, admitted.asked);
    return andThen(refusal, (refused) => {
      if (refused === undefined) return this.#execute(tool, admitted);
      limit[Symbol.dispose]();
      return this.#concludeSoon(call, refused);
    });
  }

  #execute(tool: Tool, call: AdmittedCall): MaybePromise<ToolAnswer> {
    let checking: ReturnType<NonNullable<Tool['validate']>> | undefined;
    try {
      checking = tool.validate?.(call.asked.input, call.asked.context);
    } catch (error) {
      return this.#returnSoon(call, toThrown(call, error));
    }
    if (!isThenable(checking)) return this.#callChecked(tool, call, checking);
    return checking.then(
      (checked) => this.#callChecked(tool, call, checked),
      (error: unknown) => this.#returnTo(call, toThrown(call, error)),
    );
  }

  #callChecked(tool: Tool, call: AdmittedCall, checked: InputCheck | undefined): MaybePromise<ToolAnswer> {
    if (checked !== undefined && !checked.ok) {
      const refused = `Invalid input for \`${tool.name}\`: ${'detail' in checked ? checked.detail : ''}.`;
      return this.#returnSoon(call, 'output' in checked ? toChecked(tool.name, checked.output) : errorOutput(refused));
    }
    const { input } = call.asked;
    let running: unknown;
    try {
      running = this.#start(tool, (checked === undefined ? copyInput(input) : checked.value) as JsonObject, call);
    } catch (error) {
      return this.#returnSoon(call, toThrown(call, error));
    }
    return isThenable(running)
      ? this.#settle(tool, call, running)
      : this.#returnSoon(call, toChecked(tool.name, running));
  }

  #start(tool: Tool, input: JsonObject, call: AdmittedCall): unknown {
    const { context } = call.asked;
    const watch = this.#watchOf(tool);
    if (watch === undefined) return tool.call(input, context);
    let running: unknown;
    watch.enter(call);
    try {
      running = tool.call(input, context);
    } finally {
      watch.leave(call, isThenable(running));
    }
    return running;
  }

  #watchOf(tool: Tool): CallWatch | undefined {
    return (tool.runs_in ?? 'main') === 'main' ? this.#deps.watch : undefined;
  }

  /** Waits for a call within its time; a call that ignores the end of it is abandoned after the grace. */
  #settle(tool: Tool, call: AdmittedCall, running: PromiseLike<unknown>): Promise<ToolAnswer> {
    // A call for a worker thread may wait for one first; that time is not its own (reliability WK11).
    if (tool.runs_in !== 'thread') call.limit.startClock();
    return new Promise((resolve, reject) => {
      const end = new CallEnd(this.#settings.cancelGraceMs, (output) => {
        try {
          resolve(this.#returnTo(call, output ?? stoppedOutput(tool.name, call.limit)));
        } catch (error) {
          reject(error as Error);
        }
      });
      call.limit.listen(end);
      running.then(
        (value) => {
          this.#watchOf(tool)?.end(call);
          end.settle(toChecked(tool.name, value));
        },
        (error: unknown) => {
          this.#watchOf(tool)?.end(call);
          end.settle(isAbort(error, call.limit) ? undefined : toFailure(tool.name, error));
        },
      );
    });
  }

  #concludeSoon(call: OpenCall, output: ToolOutput): Promise<ToolAnswer> {
    return soon(() => this.#conclude(call, output));
  }

  #returnSoon(call: AdmittedCall, output: ToolOutput): Promise<ToolAnswer> {
    return soon(() => this.#returnTo(call, output));
  }

  #returnTo(call: AdmittedCall, output: ToolOutput): MaybePromise<ToolAnswer> {
    call.limit[Symbol.dispose]();
    const told = this.#deps.hooks.runAfterTool(call.asked, output);
    return told === undefined ? this.#conclude(call, output) : told.then(() => this.#conclude(call, output));
  }

  #conclude(call: OpenCall, output: ToolOutput): MaybePromise<ToolAnswer> {
    return concludeCall(call, output, this.#settings, this.#deps);
  }
}

function toThrown({ tool, limit }: AdmittedCall, error: unknown): ToolOutput {
  return isAbort(error, limit) ? stoppedOutput(tool, limit) : toFailure(tool, error);
}

function toChecked(tool: string, value: unknown): ToolOutput {
  try {
    return toOutput(value);
  } catch (error) {
    return errorOutput(`Tool \`${tool}\` crashed: ${messageOf(error)}`);
  }
}
